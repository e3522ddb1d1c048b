package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tables with a policy.
var securedTables = []string{"tenants", "versions", "entries", "former", "scars", "subjects",
	"documents", "document_of", "document_subjects", "outbox", "run_events"}

// secureRows makes the database hide every row but those of the tenant that a
// transaction has named, from the owner of the tables too. Only superusers and roles with
// BYPASSRLS see more. If they say so, a relay has the outbox of all tenants, and what lists tenants or
// what is due sees the counters and the machinery of all.
func secureRows(ctx context.Context, tx pgx.Tx, distributed bool) error {
	once := func(expression string) string { return "(SELECT " + expression + ")" } // not for each row
	if distributed {
		once = func(expression string) string { return expression } // policies have no sub-selects there
		if err := enterNodes(ctx, tx); err != nil {
			return err
		}
	}
	const current = `
		CREATE OR REPLACE FUNCTION agentmemory.current_tenant() RETURNS bytea LANGUAGE sql STABLE AS $$
			SELECT CASE WHEN s LIKE 'x%' THEN decode(substr(s, 2), 'hex') END
			FROM current_setting('agentmemory.tenant') AS s
		$$`
	if _, err := tx.Exec(ctx, current); err != nil {
		return err
	}
	// Every statement names its tenant itself. The CASE keeps planners from going by the
	// policy, into an index or with an estimate, and from reading all that a tenant has.
	for _, table := range securedTables {
		_, err := tx.Exec(ctx, fmt.Sprintf(`
			ALTER TABLE agentmemory.%[1]s ENABLE ROW LEVEL SECURITY;
			ALTER TABLE agentmemory.%[1]s FORCE ROW LEVEL SECURITY;
			DROP POLICY IF EXISTS one_tenant ON agentmemory.%[1]s;
			CREATE POLICY one_tenant ON agentmemory.%[1]s 
				USING (CASE WHEN tenant = %[2]s THEN 1 END IS NOT NULL)`, table, once("agentmemory.current_tenant()")))
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(`
		DROP POLICY IF EXISTS relay ON agentmemory.outbox;
		CREATE POLICY relay ON agentmemory.outbox USING (%[1]s);
		DROP POLICY IF EXISTS listing ON agentmemory.tenants;
		CREATE POLICY listing ON agentmemory.tenants FOR SELECT USING (%[1]s);
		DROP POLICY IF EXISTS scheduler ON agentmemory.documents;
		CREATE POLICY scheduler ON agentmemory.documents FOR SELECT USING (class = 0 AND %[1]s)`,
		once("current_setting('agentmemory.tenant') = '*'")))
	return err
}
