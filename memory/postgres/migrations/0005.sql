-- The log of the host's runs, see events.RunLog. Rows are added and never changed.

CREATE TABLE agentmemory.run_events (
	tenant   bytea NOT NULL,
	run_id   bytea NOT NULL,
	sequence bigint NOT NULL,
	event_id bytea NOT NULL,
	node_id  bytea NOT NULL,
	time     bigint NOT NULL,
	type     text NOT NULL,
	payload  text NOT NULL, -- JSON
	PRIMARY KEY (tenant, run_id, sequence),
	UNIQUE (tenant, run_id, event_id)
);
ALTER TABLE agentmemory.run_events ALTER payload SET STATISTICS 0;
