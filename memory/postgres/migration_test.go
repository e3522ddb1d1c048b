package postgres

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// restored is the kept database, brought up to date. change is done to it before.
func restored(t *testing.T, change string, opts Options, files ...string) *DB {
	ctx := t.Context()
	connection := emptyDatabase(t, ctx)
	admin := connect(t, connection)
	defer admin.Close()
	for _, file := range append([]string{"v1.sql"}, files...) {
		script, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		_, err = admin.Exec(ctx, string(script))
		require.NoError(t, err)
	}
	_, err := admin.Exec(ctx, change)
	require.NoError(t, err)
	pool := connect(t, connection, func(cfg *pgxpool.Config) {
		if opts.RowSecurity {
			as(cfg, hostRole)
		}
	})
	t.Cleanup(pool.Close)
	db, err := opened(ctx, pool, opts)
	require.NoError(t, err, "%v", errors.Unwrap(err))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// What a database of the first schema held, live and ended, is there under this one.
func TestMigration_V1(t *testing.T) { compareFixture(t, restored(t, ``, Options{})) }

// The same under row security, which hides the old rows from the owner of the tables too.
func TestMigration_V1RowSecurity(t *testing.T) {
	secureDatabase(t) // for its role
	const give = `
		ALTER SCHEMA agentmemory OWNER TO ` + hostRole + `;
		ALTER FUNCTION agentmemory.current_tenant OWNER TO ` + hostRole + `;
		DO $$ DECLARE t regclass; BEGIN
			FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'agentmemory'::regnamespace AND relkind = 'r' LOOP
				EXECUTE format('ALTER TABLE %s OWNER TO ` + hostRole + `', t);
			END LOOP;
		END $$`
	db := restored(t, give, Options{RowSecurity: true}, "v1-row-security.sql")
	compareFixture(t, db)
	var n int
	const open = `SELECT count(*) FROM pg_class WHERE relnamespace = 'agentmemory'::regnamespace AND relkind = 'r'
		AND relname <> 'meta' AND NOT (relrowsecurity AND relforcerowsecurity)`
	require.NoError(t, db.pool.QueryRow(t.Context(), open).Scan(&n))
	require.Zero(t, n)
}

// A version that a purge has noted, and at which something was live that was erased since,
// is intact in no ref of its tenant, and in all of another's.
func TestMigration_V1Scars(t *testing.T) {
	const note = `
		UPDATE agentmemory.cells SET value = convert_to(replace(convert_from(value, 'UTF8'), 'x8g3nLbsFaMEcqYl.19"', 'x8g3nLbsFaMEcqYl.50"'), 'UTF8')
		WHERE name = 'purge'`
	db := restored(t, note, Options{})
	st, ctx := db.Memory(), t.Context()
	marks := purgeMarks(t, st, "acme")
	for _, x := range readFixture(t).Scopes {
		if x.Tenant == "acme" {
			s := driver.Scope{Tenant: x.Tenant, Ref: x.Ref}
			intact, err := st.Intact(ctx, s, marks[1])
			require.NoError(t, err)
			require.False(t, intact)
			intact, err = st.Intact(ctx, s, marks[0])
			require.NoError(t, err)
			require.True(t, intact)
		}
	}
}

func purgeMarks(t *testing.T, st *Store, tenant string) (versions []driver.Version) {
	for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: tenant, Kind: "memory/purge", Key: "marks"}) {
		require.NoError(t, err)
		var marks []struct {
			I int64
			V driver.Version
		}
		require.NoError(t, json.Unmarshal(d.Value, &marks))
		for _, m := range marks {
			versions = append(versions, m.V)
		}
	}
	return versions
}

func compareFixture(t *testing.T, db *DB) {
	f := readFixture(t)
	compareUsage(t, db, f)
	compareEntries(t, db.Memory(), &f)
	compareVersions(t, db, &f)
	compareDocuments(t, db.Memory(), &f)
	compareEvents(t, db.Memory(), &f)
}

func compareEntries(t *testing.T, st *Store, f *fixture) {
	for _, x := range f.Scopes {
		s := driver.Scope{Tenant: x.Tenant, Ref: x.Ref}
		live, err := st.List(t.Context(), s, driver.Query{At: instant(f.Now)})
		require.NoError(t, err)
		require.Equal(t, x.Live, idsOf(live))
		held := map[string]driver.Record{}
		for r, err := range st.History(t.Context(), x.Tenant, driver.HistoryQuery{Ref: x.Ref}) {
			require.NoError(t, err)
			held[r.Entry.ID] = r
		}
		require.Len(t, held, len(x.Records))
		for _, want := range x.Records {
			r := driver.Record{Scope: s, Entry: driver.Entry{ID: want.ID}, For: want.Successor, Erased: want.Erased}
			for r.State.String() != want.State {
				r.State++
			}
			if !want.Erased {
				r.Entry.Content, r.Entry.RunID, r.Entry.CreatedAt = want.Content, want.Run, instant(want.CreatedAt)
				r.Entry.Tags, r.Entry.Subjects, r.Entry.Sources = want.Tags, want.Subjects, want.Sources
				if want.ExpiresAt != 0 {
					r.Entry.ExpiresAt = instant(want.ExpiresAt)
				}
			}
			require.Equal(t, r, held[want.ID])
		}
	}
}

// compareVersions looks at the versions that are left, and, with marks that it gives them
// itself, at what the others would show.
func compareVersions(t *testing.T, db *DB, f *fixture) {
	st, ctx := db.Memory(), t.Context()
	var mark driver.Mark
	for _, x := range f.Tenants {
		v, err := st.Version(ctx, x.Tenant)
		require.NoError(t, err)
		n, _, err := v.Parse()
		require.NoError(t, err)
		require.Equal(t, x.Number, n)
		var noted []struct {
			I int64
			V string
		}
		if x.Purge != "" {
			require.NoError(t, json.Unmarshal([]byte(x.Purge), &noted))
		}
		marks := purgeMarks(t, st, x.Tenant)
		require.Len(t, marks, len(noted))
		for i, v := range marks {
			require.True(t, strings.HasPrefix(string(v), noted[i].V[strings.Index(noted[i].V, ".")+1:]+"."))
			_, err := st.Intact(ctx, driver.Scope{Tenant: x.Tenant, Ref: "r"}, v)
			require.NoError(t, err)
			_, err = st.Changes(ctx, driver.Scope{Tenant: x.Tenant, Ref: "r"}, v, must(st.Version(ctx, x.Tenant)))
			require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		}
		err = db.write(ctx, tenantSetting(x.Tenant), unsent, func(b *pgx.Batch) {
			b.Queue(`INSERT INTO agentmemory.versions SELECT $1, n, $2 FROM generate_series(1, $3::bigint) AS n
				ON CONFLICT (tenant, version) DO UPDATE SET mark = excluded.mark`, []byte(x.Tenant), mark[:], int64(x.Number))
		})
		require.NoError(t, err)
	}
	for _, x := range f.Versions {
		_, err := st.Intact(ctx, driver.Scope{Tenant: x.Tenant, Ref: "r"}, driver.Version(x.Version))
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		n, err := strconv.ParseUint(x.Version[strings.Index(x.Version, ".")+1:], 10, 63)
		require.NoError(t, err)
		v := mark.Version(n)
		if n == 0 {
			v = driver.FirstMark(db.incarnation, x.Tenant).Version(0)
		}
		_, err = st.Intact(ctx, driver.Scope{Tenant: x.Tenant, Ref: "r"}, v)
		require.Equal(t, x.Unavailable, errors.Is(err, driver.ErrSnapshotUnavailable))
		for _, l := range x.Lists {
			seen, err := st.ListAt(ctx, driver.Scope{Tenant: x.Tenant, Ref: l.Ref}, v, driver.Query{At: instant(x.At)})
			require.NoError(t, err)
			require.Equal(t, l.IDs, idsOf(seen))
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// compareDocuments expects the documents that the fixture comes to, and no other.
func compareDocuments(t *testing.T, st *Store, f *fixture) {
	want := map[string]map[title]driver.Document{}
	expect := func(d driver.Document) {
		if want[d.Tenant] == nil {
			want[d.Tenant] = map[title]driver.Document{}
		}
		want[d.Tenant][title{d.Ref, d.Kind, d.Key}] = d
	}
	for _, c := range f.Cells {
		d := driver.Document{Scope: driver.Scope{Tenant: c.Tenant, Ref: c.Ref}, Kind: "cell", Key: c.Name, Value: c.Value}
		parts := strings.SplitN(c.Name, "/", 3)
		switch {
		case c.Name == "distill.passes" || c.Name == "purge" && c.Ref == "":
			continue
		case parts[0] == "consolidate":
			d.Kind, d.Key = parts[0]+"/"+parts[1], append(parts, "pass")[2]
		case len(c.Name) > maxKey:
			key := keyOf(c.Name)
			d.Key = string(key[:keyHead]) + hex.EncodeToString(key[keyHead:])
		}
		expect(d)
	}
	for i := range f.Commitments {
		expect(f.Commitments[i].document(t))
	}
	for _, a := range f.Archives {
		output := a.Output
		for _, x := range f.Scopes { // one that has ended is held still
			for _, r := range x.Records {
				if output == "" && x.Tenant == a.Tenant && x.Ref == a.Ref && slices.Contains(r.Tags, "archive:"+a.Address) {
					output = r.ID
				}
			}
		}
		if output != "" {
			expect(driver.Document{Scope: driver.Scope{Tenant: a.Tenant, Ref: a.Ref}, Class: driver.Content, Kind: "distill/archive",
				Key: a.Key, Group: a.Address, Value: a.Data, Of: []string{output}})
		}
	}
	for _, x := range f.Files {
		value, err := json.Marshal(map[string]any{"format": 1, "type": x.Type, "version": x.Version, "etag": x.Etag, "at": x.At, "content": x.Content})
		require.NoError(t, err)
		expect(driver.Document{Scope: driver.Scope{Tenant: x.Tenant}, Class: driver.HostText, Kind: "workspace/file", Key: x.Path, Value: value})
	}
	for _, x := range f.Tenants {
		revs := map[int64]bool{}
		n := 0
		for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: x.Tenant, EveryRef: true}) {
			require.NoError(t, err)
			require.False(t, revs[d.Rev])
			revs[d.Rev] = true
			if d.Kind == "memory/purge" {
				continue
			}
			w, known := want[x.Tenant][title{d.Ref, d.Kind, d.Key}]
			require.True(t, known, "%s %s", d.Kind, d.Key)
			if d.Kind == "commitment" || d.Kind == "workspace/file" {
				require.JSONEq(t, string(w.Value), string(d.Value))
				w.Value = d.Value
			}
			w.Rev = d.Rev
			require.Equal(t, w, d)
			n++
		}
		require.Len(t, want[x.Tenant], n)
	}
	// An archive goes with its entry, as one that was made today.
	a := f.Archives[0]
	s := driver.Scope{Tenant: a.Tenant, Ref: a.Ref}
	_, err := st.Apply(t.Context(), a.Tenant, driver.Mutation{At: instant(f.Now), Erase: []driver.Located{{Scope: s, ID: a.Output}}})
	require.NoError(t, err)
	for range st.Documents(t.Context(), driver.DocumentQuery{Tenant: a.Tenant, Ref: a.Ref, Kind: "distill/archive", Key: a.Key}) {
		require.Fail(t, "the archive of an erased entry")
	}
}

func compareEvents(t *testing.T, st *Store, f *fixture) {
	var got []events.Record
	for r, err := range st.Undelivered(t.Context(), driver.OutboxQuery{}) {
		require.NoError(t, err)
		got = append(got, r)
	}
	require.Len(t, got, len(f.Outbox)+len(f.FileEvents))
	for i, want := range f.Outbox {
		r := got[i]
		require.Equal(t, []any{want.Tenant, want.Run, want.ID, want.Type, want.Node, instant(want.Time)},
			[]any{r.Tenant, r.RunID, r.ID, string(r.Payload.EventType()), r.NodeID, r.Time})
		delete(want.Payload, "tags")
		expected, err := json.Marshal(want.Payload)
		require.NoError(t, err)
		payload, err := json.Marshal(r.Payload)
		require.NoError(t, err)
		require.JSONEq(t, string(expected), string(payload))
	}
	for i, want := range f.FileEvents {
		require.Equal(t, events.Record{ID: want.ID, Tenant: want.Tenant, RunID: want.Run, Time: instant(want.At),
			Payload: events.WorkspaceUpdated{Path: want.Path, Version: want.Version}}, got[len(f.Outbox)+i])
	}
}

// compareUsage expects that what tenants had before there were limits counts.
func compareUsage(t *testing.T, db *DB, f fixture) {
	want := map[string]driver.Limits{}
	for _, x := range f.Scopes {
		u := want[x.Tenant]
		for _, r := range x.Records {
			if r.State == "live" && !r.Erased {
				u.Add(&driver.Entry{Content: r.Content}, 1)
			}
		}
		want[x.Tenant] = u
	}
	for tenant, u := range want {
		var got []driver.Limits
		err := db.query(t.Context(), tenant, rowsInto(&got, func(row pgx.Row, x *driver.Limits) error { return row.Scan(&x.Entries, &x.Bytes) }),
			`SELECT entries, bytes FROM `+newestVersion+` v`, []byte(tenant))
		require.NoError(t, err)
		require.Equal(t, []driver.Limits{u}, got, tenant)
	}
	require.Positive(t, want["acme"].Bytes)
}
