-- The log of the host's runs, see events.RunLog. A row is added at the end and never
-- changed.

CREATE TABLE run_events (
	tenant   TEXT NOT NULL,
	run      TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	event    TEXT NOT NULL,
	type     TEXT NOT NULL,
	node     TEXT NOT NULL,
	at       INTEGER NOT NULL,
	payload  TEXT NOT NULL,
	UNIQUE (tenant, run, sequence),
	UNIQUE (tenant, run, event)
) STRICT;
