package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// planNode is a node of a plan that was carried out, as auto_explain writes it.
type planNode struct {
	NodeType  string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Joined    float64 `json:"Rows Removed by Join Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Hit       int     `json:"Shared Hit Blocks"`
	Read      int     `json:"Shared Read Blocks"`
	Plans     []planNode
}

// rows is how many rows of tables the node and those below it looked at.
func (n *planNode) rows() (sum int) {
	if n.Relation != "" || n.Joined > 0 {
		sum = int((n.Rows + n.Filtered + n.Joined + n.Rechecked) * n.Loops)
	}
	for i := range n.Plans {
		sum += n.Plans[i].rows()
	}
	return sum
}

// text is the plan in brief.
func (n *planNode) text() string {
	s := fmt.Sprint("\n(", n.NodeType, " ", n.Relation, " ", n.Index, " rows ", n.Rows, "*", n.Loops, " removed ", n.Filtered+n.Joined+n.Rechecked,
		" blocks ", n.Hit+n.Read)
	for i := range n.Plans {
		s += n.Plans[i].text()
	}
	return s + ")"
}

// planned collects the plans of the statements of a pool.
type planned struct {
	mu    sync.Mutex
	plans []string
}

func (p *planned) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	plans := p.plans
	p.plans = nil
	return plans
}

// explained connects as a role so that every statement's plan, as it was carried out, is
// collected.
func explained(t *testing.T, connection, mode, role string) (*pgxpool.Pool, *planned) {
	if pooled() || !server.cluster.Owned() {
		t.Skip("plans are told of by a server of our own only, and not through a pooler")
	}
	seen := new(planned)
	pool := connect(t, connection, func(cfg *pgxpool.Config) {
		for name, value := range map[string]string{
			"session_preload_libraries": "auto_explain", "plan_cache_mode": mode, "client_min_messages": "log",
			"auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_buffers": "on",
			"auto_explain.log_timing": "off", "auto_explain.log_format": "json",
		} {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET ROLE "+role)
			return err
		}
		cfg.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if _, plan, found := strings.Cut(n.Message, "plan:\n"); found {
				seen.mu.Lock()
				defer seen.mu.Unlock()
				seen.plans = append(seen.plans, plan)
			}
		}
	})
	t.Cleanup(pool.Close)
	return pool, seen
}

// explainedStatement is a statement with its plan.
type explainedStatement struct {
	Query string `json:"Query Text"`
	Plan  planNode
}

func readPlan(t *testing.T, text string) (x explainedStatement) {
	require.NoError(t, json.Unmarshal([]byte(text), &x))
	return x
}

// blocks is how many blocks the statement looked at.
func (x *explainedStatement) blocks() int { return x.Plan.Hit + x.Plan.Read }

// fillSmall makes $1 tenants of five entries each, fillBig one scope of $1.
const (
	fillSmall = `
		INSERT INTO agentmemory.tenants (tenant) SELECT convert_to('t' || i, 'UTF8') FROM generate_series(1, $1::int) i;
		INSERT INTO agentmemory.versions SELECT convert_to('t' || i, 'UTF8'), v, '0123456789', '' FROM generate_series(1, $1::int) i, generate_series(1, 2) v;
		INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, born, died, state, run_id, content, successor)
			SELECT convert_to('t' || i, 'UTF8'), 'r', convert_to('e' || j, 'UTF8'), i * 10 + j, CASE j WHEN 1 THEN 4000000000000 ELSE 9223372036854775807 END, 1,
				CASE j WHEN 2 THEN 2 ELSE 9223372036854775807 END, CASE j WHEN 2 THEN 2 ELSE 0 END, 'run', repeat('x', 100), CASE j WHEN 2 THEN 'e3'::bytea END
			FROM generate_series(1, $1::int) i, generate_series(1, 5) j;
		INSERT INTO agentmemory.subjects SELECT tenant, substr(sha256(tenant || '\x00' || 's' || id), 1, 16), ref, created_at, id FROM agentmemory.entries WHERE tenant <> 'acme';
		INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, grp, value)
			SELECT convert_to('t' || i, 'UTF8'), 'r', 'kind', 'e3', 1, i, 'group', 'x' FROM generate_series(1, $1::int) i;
		INSERT INTO agentmemory.document_of SELECT tenant, ref, kind, key, key FROM agentmemory.documents WHERE tenant <> 'acme';
		INSERT INTO agentmemory.events (tenant, run_id, event_id, node_id, causation_id, engine_version, schema_version, time, type, payload)
			SELECT convert_to('t' || i, 'UTF8'), 'run', 'e', '', '', '', 1, 0, 'workspace.updated', '{"path":"a","version":1}' FROM generate_series(1, $1::int) i`
	fillBig = `
		INSERT INTO agentmemory.tenants (tenant) VALUES ('acme');
		INSERT INTO agentmemory.versions SELECT 'acme', i, '0123456789', '' FROM generate_series(1, $1::int / 10) i;
		INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, born, died, state, run_id, content, successor)
			SELECT 'acme', 'support', convert_to('e' || i, 'UTF8'), i, CASE i % 10 WHEN 1 THEN 4000000000000 ELSE 9223372036854775807 END, 1 + i / 10,
				CASE i % 10 WHEN 2 THEN 2 + i / 10 ELSE 9223372036854775807 END, CASE i % 10 WHEN 2 THEN 2 ELSE 0 END, 'run', repeat('x', 100),
				CASE i % 10 WHEN 2 THEN convert_to('e' || i + 1, 'UTF8') END
			FROM generate_series(1, $1::int) i;
		INSERT INTO agentmemory.subjects SELECT tenant, substr(sha256(tenant || '\x00' || 's' || id), 1, 16), ref, created_at, id FROM agentmemory.entries WHERE tenant = 'acme';
		INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, grp, due, value)
			SELECT 'acme', 'support', convert_to('kind' || i % 100, 'UTF8'), convert_to('e' || i, 'UTF8'), i % 2, i, convert_to('g' || i, 'UTF8'),
				CASE WHEN i % 2 = 0 THEN i END, 'x' FROM generate_series(1, $1::int / 2) i;
		INSERT INTO agentmemory.document_of SELECT tenant, ref, kind, key, key FROM agentmemory.documents WHERE tenant = 'acme' AND class = 1;
		INSERT INTO agentmemory.events (tenant, run_id, event_id, node_id, causation_id, engine_version, schema_version, time, type, payload)
			SELECT 'acme', convert_to('run' || i / 10, 'UTF8'), convert_to('e' || i, 'UTF8'), '', '', '', 1, 0, 'workspace.updated', '{"path":"a","version":1}'
			FROM generate_series(1, $1::int / 2) i`
)

// Every statement is some steps into indexes, on every shape of data, whether it was analysed
// or not, and whether its plan was made for the arguments or for any: none looks at more rows
// and blocks than its answer, or a table of 40 blocks, has.
func TestPlans(t *testing.T) {
	small, big, modes := 2000, 10_000, []string{"force_generic_plan"}
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		small, big, modes = 20_000, 100_000, append(modes, "force_custom_plan")
	}
	for _, shape := range []struct {
		name       string
		small, big int
		analysed   bool
		secured    bool
	}{
		{"one tenant", 0, big, true, false}, {"one tenant, not analysed", 0, big, false, false},
		{"many", small, 0, true, false}, {"many, not analysed", small, 0, false, false},
		{"skewed", small, big, true, false}, {"skewed, not analysed", small, big, false, false},
		{"skewed, row security", small, big, true, true}, {"skewed, row security, not analysed", small, big, false, true},
	} {
		for _, mode := range modes {
			t.Run(shape.name+"/"+mode, func(t *testing.T) {
				ctx := t.Context()
				connection, role := emptyDatabase(t, ctx), "NONE"
				if shape.secured {
					connection, role = secureDatabase(t), hostRole
				}
				pool, seen := explained(t, connection, mode, role)
				db, err := opened(ctx, pool, Options{RowSecurity: shape.secured})
				require.NoError(t, err)
				fill := connect(t, connection, func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol })
				defer fill.Close()
				for _, table := range securedTables {
					_, err := fill.Exec(ctx, `ALTER TABLE agentmemory.`+table+` SET (autovacuum_enabled = off)`)
					require.NoError(t, err)
				}
				s := driver.Scope{Tenant: "t7", Ref: "r"}
				if shape.big > 0 {
					s = driver.Scope{Tenant: "acme", Ref: "support"}
					_, err = fill.Exec(ctx, fillBig, shape.big)
					require.NoError(t, err)
				}
				if shape.small > 0 {
					_, err = fill.Exec(ctx, fillSmall, shape.small)
					require.NoError(t, err)
				}
				if shape.analysed {
					_, err = fill.Exec(ctx, `ANALYZE`)
					require.NoError(t, err)
				}
				seen.take()
				for _, c := range everyStatement(db.Memory(), s) {
					require.NoError(t, c.do(), c.name)
					statements := 0
					for _, text := range seen.take() {
						told := readPlan(t, text)
						if !strings.Contains(told.Query, "agentmemory.") {
							continue
						}
						statements++
						if c.walk && !shape.analysed {
							continue
						}
						require.LessOrEqual(t, told.Plan.rows(), 2500+8*c.rows, "%s: rows of %s", c.name, told.Plan.text())
						require.LessOrEqual(t, told.blocks(), 70+8*c.rows, "%s: blocks of %s", c.name, told.Plan.text())
					}
					require.NotZero(t, statements, c.name)
				}
			})
		}
	}
}

// No statement is planned anew at each call, which takes longer than most of them: none has a plan
// for its arguments that seems cheaper than one for any. Walks may, which read a page of 256 rows.
func TestPlansAreKept(t *testing.T) {
	if pooled() {
		t.Skip("a pooler gives each transaction another session")
	}
	ctx := t.Context()
	connection := emptyDatabase(t, ctx)
	pool := connect(t, connection, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	_, err = pool.Exec(ctx, fillBig, pgx.QueryExecModeSimpleProtocol, 5000)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, `ANALYZE`)
	require.NoError(t, err)
	s, st := driver.Scope{Tenant: "acme", Ref: "support"}, db.Memory()
	statements := everyStatement(st, s)
	const calls = 12 // the server has plans for the arguments of five before it compares
	for i := range calls {
		id := func(kind string) driver.Located { return driver.Located{Scope: s, ID: fmt.Sprint(kind, i)} }
		put := driver.Mutation{At: now, Limits: driver.Limits{Entries: 1 << 40, Bytes: 1 << 50, Waiting: 1 << 20}}
		for _, kind := range []string{"merged", "successor", "erased"} {
			put.Put = append(put.Put, driver.Placed{Scope: s, Entry: entry(id(kind).ID)})
		}
		retire := driver.Mutation{At: now, Retire: []driver.Retirement{{Located: id("merged"), State: driver.Merged, For: id("successor").ID}}}
		restore := driver.Mutation{At: now, Restore: []driver.Located{id("merged")}}
		erase := driver.Mutation{At: now, Erase: []driver.Located{id("erased")}}
		for _, m := range []driver.Mutation{put, retire, restore, erase} {
			_, err := st.Apply(ctx, s.Tenant, m)
			require.NoError(t, err)
		}
		for _, c := range statements {
			if c.name == "Put" {
				break // those behind it write, once each
			}
			require.NoError(t, c.do(), c.name)
		}
	}
	var anew []string
	const find = `SELECT statement FROM pg_prepared_statements WHERE custom_plans > 5 AND strpos(statement, 'agentmemory.') > 0 AND strpos(statement, 'LIMIT 256') = 0`
	require.NoError(t, db.query(ctx, everyTenant, rowsInto(&anew, func(row pgx.Row, text *string) error { return row.Scan(text) }), find))
	require.Empty(t, anew)
	var kept int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM pg_prepared_statements WHERE generic_plans >= 5`).Scan(&kept))
	require.Greater(t, kept, 20)
}

// A mutation looks up what it names also in tables that had next to nothing when they were analysed.
func TestPlansOfTablesThatWereSmall(t *testing.T) {
	ctx := t.Context()
	connection := emptyDatabase(t, ctx)
	pool, seen := explained(t, connection, "force_generic_plan", "NONE")
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	for _, table := range securedTables {
		_, err := pool.Exec(ctx, `ALTER TABLE agentmemory.`+table+` SET (autovacuum_enabled = off)`)
		require.NoError(t, err)
	}
	s, st := driver.Scope{Tenant: "acme", Ref: "support"}, db.Memory()
	put, erase := driver.Mutation{At: now}, driver.Mutation{At: now}
	for i := range 200 {
		e := entry(fmt.Sprint("e", i))
		e.Subjects = []string{"lena"}
		put.Put = append(put.Put, driver.Placed{Scope: s, Entry: e})
		erase.Erase = append(erase.Erase, driver.Located{Scope: s, ID: e.ID})
	}
	require.NoError(t, st.Put(ctx, s, entry("first")))
	_, err = pool.Exec(ctx, `ANALYZE`)
	require.NoError(t, err)
	for _, m := range []driver.Mutation{put, erase} {
		seen.take()
		_, err := st.Apply(ctx, s.Tenant, m)
		require.NoError(t, err)
		plans := seen.take()
		require.NotEmpty(t, plans)
		for _, text := range plans {
			told := readPlan(t, text)
			require.LessOrEqual(t, told.Plan.rows(), 5*200, "rows of %s%s", told.Query, told.Plan.text())
		}
	}
}

type statement struct {
	name string
	rows int  // of its answer, or that it writes
	walk bool // a page of a walk, which may read the whole scope until the table was analysed
	do   func() error
}

// everyStatement has the store send each of its statements, about a few entries of a scope.
func everyStatement(st *Store, s driver.Scope) []statement {
	ctx := context.Background()
	latest, _ := st.Version(ctx, s.Tenant)
	n, mark, _ := latest.Parse()
	v := mark.Version(n - n/300)
	ids := []string{"e1", "e3", "e4", "e5", "none"}
	at := func(id string) driver.Located { return driver.Located{Scope: s, ID: id} }
	apply := func(m driver.Mutation) func() error {
		return func() error {
			m.At = now
			_, err := st.Apply(ctx, s.Tenant, m)
			return err
		}
	}
	documents := func(q driver.DocumentQuery) func() error {
		return func() error {
			for _, err := range st.Documents(ctx, q) {
				return err
			}
			return nil
		}
	}
	history := func(q driver.HistoryQuery) func() error {
		return func() error {
			for _, err := range st.History(ctx, s.Tenant, q) {
				return err
			}
			return nil
		}
	}
	scopes := func(after driver.Scope) func() error {
		return func() error {
			for _, err := range st.Scopes(ctx, after) {
				return err
			}
			return nil
		}
	}
	waiting := func(tenant, run string) func() error {
		return func() error {
			for _, err := range st.Undelivered(ctx, tenant, run) {
				return err
			}
			return nil
		}
	}
	content := func(key string, rev int64, act driver.Act) driver.DocumentSwap {
		return driver.DocumentSwap{Document: driver.Document{Scope: s, Class: driver.Content, Kind: "k", Key: key, Of: []string{"e4"}, Rev: rev}, Act: act}
	}
	machinery := func(key string) driver.DocumentSwap {
		return driver.DocumentSwap{Document: driver.Document{Scope: s, Kind: "lease", Key: key}}
	}
	event := events.Record{ID: "new", Tenant: s.Tenant, RunID: "run1", Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
	many := driver.Mutation{}
	for i := range 20 {
		many.Put = append(many.Put, driver.Placed{Scope: s, Entry: entry(fmt.Sprint("m", i))})
	}
	one := func() error { _, err := st.Get(ctx, s, "e5", now); return err }
	return []statement{
		{"Get", 1, false, one},
		{"Version", 1, false, func() error { _, err := st.Version(ctx, s.Tenant); return err }},
		{"Scopes", 256, false, scopes(driver.Scope{})},
		{"Scopes behind a large one", 256, false, scopes(s)},
		{"GetAt", 5, false, func() error { _, err := st.List(ctx, s, driver.Query{Version: v, IDs: ids, At: now}); return err }},
		{"Lookup", 5, false, func() error { _, err := st.Lookup(ctx, s, ids); return err }},
		{"List", 20, false, func() error { _, err := st.List(ctx, s, driver.Query{Limit: 20, At: now}); return err }},
		{"ListAt", 40, false, func() error { _, err := st.List(ctx, s, driver.Query{Version: v, Limit: 20, At: now}); return err }},
		{"List of a subject", 1, false, func() error { _, err := st.List(ctx, s, driver.Query{Subject: "se3", Limit: 20, At: now}); return err }},
		{"ListAt of a subject", 1, false, func() error {
			_, err := st.List(ctx, s, driver.Query{Version: v, Subject: "se3", Limit: 20, At: now})
			return err
		}},
		{"Intact", 1, false, func() error { _, err := st.Intact(ctx, s, v); return err }},
		{"Changes", 5, false, func() error { _, err := st.Changes(ctx, s, v, v); return err }},
		{"History", 256, true, history(driver.HistoryQuery{})},
		{"History of a ref", 256, true, history(driver.HistoryQuery{Ref: s.Ref})},
		{"History of a subject", 1, false, history(driver.HistoryQuery{Subject: "se3"})},
		{"History of a successor", 1, false, history(driver.HistoryQuery{Ref: s.Ref, For: []string{"e3"}})},
		{"Documents by name", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: "kind", Key: "e3"})},
		{"Documents by kind", 256, true, documents(driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: "kind7"})},
		{"Documents by group", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Group: "g7"})},
		{"Documents of every ref", 256, true, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true})},
		{"Documents of every ref by an absent kind", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true, Kind: "none"})},
		{"Documents of every ref by kind", 256, true, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true, Kind: "kind7"})},
		{"Documents of every ref by group", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true, Group: "g7"})},
		{"Documents of every ref by kind and group", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true, Kind: "kind7", Group: "g7"})},
		{"Documents by subject", 1, false, documents(driver.DocumentQuery{Tenant: s.Tenant, EveryRef: true, Subject: "s"})},
		{"Due", 10, false, func() error { _, err := st.Due(ctx, "kind6", now, 10); return err }},
		{"Waiting", 10, false, func() error { _, err := st.Waiting(ctx, s.Tenant, 10); return err }},
		{"Undelivered", 4 * 256, true, waiting("", "")},
		{"Undelivered of a run", 10, false, waiting(s.Tenant, "run1")},
		{"Delivered", 1, false, func() error { return st.Delivered(ctx, []events.Record{event}) }},
		{"Put", 1, false, func() error { return st.Put(ctx, s, entry("p1")) }},
		{"Put again", 1, false, func() error { return st.Put(ctx, s, entry("p1")) }},
		{"Delete", 1, false, func() error { _, err := st.Delete(ctx, s, "p1", now); return err }},
		{"Delete of an absent id", 1, false, func() error { _, err := st.Delete(ctx, s, "none", now); return err }},
		{"Apply that adds many", 20, false, apply(many)},
		{"Apply with content", 5, false, apply(driver.Mutation{Live: []driver.Located{at("m0")}, Documents: []driver.DocumentSwap{content("new", 0, driver.Set)}})},
		{"Apply that retires", 5, false, apply(driver.Mutation{Retire: []driver.Retirement{{Located: at("m1"), State: driver.Merged, For: "m2"}, {Located: at("m3"), State: driver.Deleted}}})},
		{"Apply that restores", 5, false, apply(driver.Mutation{Restore: []driver.Located{at("m1")}})},
		{"ListAt with what was restored", 40, false, func() error { _, err := st.List(ctx, s, driver.Query{Version: v, Limit: 20, At: now}); return err }},
		{"Apply that erases", 5, false, apply(driver.Mutation{Erase: []driver.Located{at("m1"), at("m4"), at("e4")}})},
		{"Apply that swaps machinery", 2, false, apply(driver.Mutation{Documents: []driver.DocumentSwap{machinery("a"), machinery("b")}})},
	}
}
