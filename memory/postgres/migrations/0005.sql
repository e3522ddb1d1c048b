-- The log of the host's runs, see events.RunLog. Rows are added and never changed. The
-- document is a RunEventDoc, whose sequence is that of the row.

CREATE TABLE agentmemory.run_events (
	tenant   bytea NOT NULL,
	run_id   bytea NOT NULL,
	sequence bigint NOT NULL,
	event_id bytea NOT NULL,
	document text NOT NULL, -- JSON
	PRIMARY KEY (tenant, run_id, sequence),
	UNIQUE (tenant, run_id, event_id)
);
ALTER TABLE agentmemory.run_events ALTER document SET STATISTICS 0;
