-- The log of the host's runs, see events.RunLog. A row is added at the end and never
-- changed. The document is a RunEventDoc, whose sequence is that of the row.

CREATE TABLE run_events (
	tenant   TEXT NOT NULL,
	run      TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	event    TEXT NOT NULL,
	document TEXT NOT NULL,
	UNIQUE (tenant, run, sequence),
	UNIQUE (tenant, run, event)
) STRICT;
