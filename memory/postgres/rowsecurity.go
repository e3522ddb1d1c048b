package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tables with a policy.
var securedTables = []string{"tenants", "versions", "entries", "former", "erased_spans", "subjects",
	"documents", "document_of", "document_subjects", "events"}

// secureRows makes the database hide every row but those of the tenant that a
// transaction has named, from the owner of the tables too. Only superusers and roles with
// BYPASSRLS see more. If they say so, a relay has the events of all tenants, and what lists tenants or
// what is due sees the counters and the machinery of all.
func secureRows(ctx context.Context, tx pgx.Tx, distributed bool) error {
	// Every statement names its tenant itself. The CASE keeps planners from going by the
	// policy, into an index or with an estimate, and from reading all that a tenant has.
	own, all := `CASE WHEN tenant = (SELECT agentmemory.current_tenant()) THEN 1 END IS NOT NULL`, `(SELECT current_setting('agentmemory.tenant') = '*')`
	if distributed { // no policy has a sub-select there, nor a CASE
		own, all = `tenant = agentmemory.current_tenant()`, `current_setting('agentmemory.tenant') = '*'`
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
	var commands []string // one by one: a cluster sends each to its nodes as it stands
	policy := func(name, table, of, using string) {
		commands = append(commands, fmt.Sprintf(`DROP POLICY IF EXISTS %s ON agentmemory.%s`, name, table),
			fmt.Sprintf(`CREATE POLICY %s ON agentmemory.%s %s USING (%s)`, name, table, of, using))
	}
	for _, table := range securedTables {
		commands = append(commands, `ALTER TABLE agentmemory.`+table+` ENABLE ROW LEVEL SECURITY`,
			`ALTER TABLE agentmemory.`+table+` FORCE ROW LEVEL SECURITY`)
		policy("one_tenant", table, "", own)
	}
	policy("relay", "events", "", all)
	policy("listing", "tenants", "FOR SELECT", all)
	policy("scheduler", "documents", "FOR SELECT", "class = 0 AND "+all)
	for _, command := range commands {
		if _, err := tx.Exec(ctx, command); err != nil {
			return err
		}
	}
	return nil
}
