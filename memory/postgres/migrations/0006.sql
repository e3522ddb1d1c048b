-- What the entries of a tenant come to is counted by the statements that change them. No
-- trigger is left, so that a cluster can hold the rows of each tenant on one of its nodes.

-- Row security hides rows from the owner of the tables too. Whoever runs this makes the
-- policies anew.
DO $$
DECLARE t regclass;
BEGIN
	FOR t IN SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'agentmemory' AND c.relforcerowsecurity
	LOOP
		EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;

DROP TRIGGER entries_change ON agentmemory.entries;
DROP TRIGGER entries_go ON agentmemory.entries;
DROP FUNCTION agentmemory.count_entries;

-- Whether the tables are distributed over the nodes of a cluster. A process that does not
-- know it of a database writes nothing to it.
ALTER TABLE agentmemory.meta ADD COLUMN distributed boolean NOT NULL DEFAULT false;
