-- The version of a tenant is that of its newest row in versions. A counter in the row of the
-- tenant would be written anew by each mutation, and as long as anybody holds a snapshot, as
-- a dump does, none of the old rows could go and all of them would be read.
ALTER TABLE agentmemory.tenants DROP COLUMN version;

-- Documents of a kind in all refs.
CREATE INDEX documents_kind ON agentmemory.documents (tenant, kind, ref, key);
