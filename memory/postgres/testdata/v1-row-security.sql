CREATE FUNCTION agentmemory.current_tenant() RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
			SELECT CASE WHEN s LIKE 'x%' THEN decode(substr(s, 2), 'hex') END
			FROM current_setting('agentmemory.tenant') AS s
		$$;

ALTER TABLE ONLY agentmemory.archives FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.cells FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.commitments FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.entries FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.file_events FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.files FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.former FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.outbox FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.scars FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.subjects FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agentmemory.tenants FORCE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.archives ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.cells ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.commitments ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.file_events ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.files ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.former ENABLE ROW LEVEL SECURITY;

CREATE POLICY one_tenant ON agentmemory.archives USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.cells USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.commitments USING (((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)) OR ( SELECT (current_setting('agentmemory.tenant'::text) = '*'::text))));

CREATE POLICY one_tenant ON agentmemory.entries USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.file_events USING (((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)) OR ( SELECT (current_setting('agentmemory.tenant'::text) = '*'::text))));

CREATE POLICY one_tenant ON agentmemory.files USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.former USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.outbox USING (((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)) OR ( SELECT (current_setting('agentmemory.tenant'::text) = '*'::text))));

CREATE POLICY one_tenant ON agentmemory.scars USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.subjects USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

CREATE POLICY one_tenant ON agentmemory.tenants USING ((tenant = ( SELECT agentmemory.current_tenant() AS current_tenant)));

ALTER TABLE agentmemory.outbox ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.scars ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.subjects ENABLE ROW LEVEL SECURITY;

ALTER TABLE agentmemory.tenants ENABLE ROW LEVEL SECURITY;

UPDATE agentmemory.meta SET row_security = true;
