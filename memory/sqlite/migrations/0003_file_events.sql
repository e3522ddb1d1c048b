-- The events of one run that wait, in their order.
CREATE INDEX file_events_run ON file_events (tenant, run, seq);
