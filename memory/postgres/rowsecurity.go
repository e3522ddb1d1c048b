package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tables with a policy. Relays and schedulers read some for all tenants at once, and
// say so.
var (
	tenantTables = []string{"tenants", "entries", "former", "scars", "subjects", "cells", "archives", "files"}
	sharedTables = []string{"outbox", "commitments", "file_events"}
)

// secureRows makes the database hide every row but those of the tenant that a
// transaction has named, from the owner of the tables too. Only superusers and roles
// with BYPASSRLS see more.
func secureRows(ctx context.Context, tx pgx.Tx) error {
	const current = `
		CREATE FUNCTION agentmemory.current_tenant() RETURNS bytea LANGUAGE sql STABLE AS $$
			SELECT CASE WHEN s LIKE 'x%' THEN decode(substr(s, 2), 'hex') END
			FROM current_setting('agentmemory.tenant') AS s
		$$`
	if _, err := tx.Exec(ctx, current); err != nil {
		return err
	}
	secure := func(table, rule string) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(`
			ALTER TABLE agentmemory.%[1]s ENABLE ROW LEVEL SECURITY;
			ALTER TABLE agentmemory.%[1]s FORCE ROW LEVEL SECURITY;
			CREATE POLICY one_tenant ON agentmemory.%[1]s USING (%[2]s)`, table, rule))
		return err
	}
	const own = `tenant = (SELECT agentmemory.current_tenant())`
	for _, table := range tenantTables {
		if err := secure(table, own); err != nil {
			return err
		}
	}
	for _, table := range sharedTables {
		if err := secure(table, own+` OR (SELECT current_setting('agentmemory.tenant') = '*')`); err != nil {
			return err
		}
	}
	return nil
}
