package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// fixture is testdata/v1.json, which says what the database beside it holds.
type fixture struct {
	Now     int64
	Tenants []struct {
		Tenant, Version, Purge string
		Number, Horizon        int64
	}
	Scopes []struct {
		Tenant, Ref string
		Live        []string
		Records     []struct {
			ID, Content, Run, State, Successor string
			Tags, Subjects, Sources            []string
			CreatedAt, ExpiresAt               *int64
			Erased                             bool
		}
	}
	Versions []struct{ Tenant, Version string }
	Cells    []struct {
		Tenant, Ref, Name string
		Value             []byte
	}
	Outbox []struct {
		Tenant, Run, ID, Node string
		Type                  events.Type
		Time                  int64
		Payload               map[string]any
	}
	FileEvents []struct {
		Tenant, Run, ID, Path string
		Version, At           int64
	}
	Commitments []commitmentOfOld
	Archives    []struct {
		Tenant, Ref, Address, Key string
		Data                      []byte
	}
	Files []struct {
		Tenant, Path, Content, ETag, Type string
		Version, At                       int64
	}
}

type commitmentOfOld struct {
	Tenant, ID, Ref, MemoryID string
	Arm                       struct {
		At                    time.Time
		Every                 time.Duration
		Spec, Predicate, Zone string
		Once                  bool
	}
	ArmedAt, Due, Mark  time.Time
	State, Reason, Heir string
	Canceled, Complete  bool
	Position            int64
	Digest              string
	Claim               struct {
		Instant         time.Time
		Position, Tries int64
	}
	Waiting []int64
	Fence   int64
	Lease   time.Time
	Fired   int64
	RunID   string
}

// document is the value that package commitment documents.
func (c *commitmentOfOld) document(t *testing.T) map[string]any {
	arm, claim := map[string]any{}, map[string]any{}
	doc := map[string]any{"format": 1, "arm": arm, "claim": claim}
	set := func(in map[string]any, key string, value any) {
		switch v := value.(type) {
		case time.Time:
			if !v.IsZero() {
				in[key] = v.UnixMilli()
			}
		case []int64:
			if len(v) > 0 {
				in[key] = v
			}
		default:
			if v != "" && v != int64(0) && v != false {
				in[key] = v
			}
		}
	}
	set(arm, "at", c.Arm.At)
	set(arm, "every", c.Arm.Every.Milliseconds())
	set(arm, "spec", c.Arm.Spec)
	set(arm, "predicate", c.Arm.Predicate)
	set(arm, "zone", c.Arm.Zone)
	set(arm, "once", c.Arm.Once)
	set(claim, "instant", c.Claim.Instant)
	set(claim, "position", c.Claim.Position)
	set(claim, "tries", c.Claim.Tries)
	for key, value := range map[string]any{
		"ref": c.Ref, "memoryId": c.MemoryID, "armedAt": c.ArmedAt, "state": c.State, "reason": c.Reason, "heir": c.Heir,
		"canceled": c.Canceled, "complete": c.Complete, "mark": c.Mark, "position": c.Position, "digest": c.Digest,
		"waiting": c.Waiting, "fence": c.Fence, "lease": c.Lease, "fired": c.Fired, "runId": c.RunID,
	} {
		set(doc, key, value)
	}
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	return object(t, text)
}

func object(t *testing.T, text []byte) (o map[string]any) {
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// unpacked is the database of before documents, in a file of its own.
func unpacked(t *testing.T) (fixture, string) {
	var f fixture
	data, err := os.ReadFile("testdata/v1.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &f))
	packed, err := os.Open("testdata/v1.db.gz")
	require.NoError(t, err)
	defer packed.Close()
	file, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err = io.ReadAll(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "v1.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return f, path
}

func allDocuments(t *testing.T, st *sqlite.Store, q driver.DocumentQuery) (docs []driver.Document) {
	for d, err := range st.Documents(t.Context(), q) {
		require.NoError(t, err)
		docs = append(docs, d)
	}
	return docs
}

// What was in a database before documents is there after it: entries with their history,
// and everything else as the engines look for it.
func TestMigrations_Fixture(t *testing.T) {
	f, path := unpacked(t)
	for _, x := range f.Tenants { // notes of versions that cannot be read any more
		head, _, _ := strings.Cut(x.Version, ".")
		if x.Purge != "" {
			notes := `[{"i":5,"v":"` + head + `.3"},{"i":6,"v":"another.17"},` + x.Purge[1:]
			_, err := raw(t, path).Exec(`UPDATE cells SET value = ? WHERE tenant = ? AND name = 'purge'`, []byte(notes), x.Tenant)
			require.NoError(t, err)
		}
	}
	db := open(t, path)
	st := db.Memory()
	now := time.UnixMilli(f.Now).UTC()

	subjects := 0
	named := map[[3]string][]string{} // the entries that name an archive
	for _, x := range f.Scopes {
		scope := driver.Scope{Tenant: x.Tenant, Ref: x.Ref}
		live, err := st.List(t.Context(), scope, driver.Query{At: now})
		require.NoError(t, err)
		require.Equal(t, x.Live, idsOf(live))
		var names []string
		var want []driver.Record
		for _, r := range x.Records {
			rec := driver.Record{Scope: scope, Entry: driver.Entry{ID: r.ID}, For: r.Successor, Erased: r.Erased}
			rec.State = map[string]driver.State{"live": driver.Live, "merged": driver.Merged, "superseded": driver.Superseded, "deleted": driver.Deleted}[r.State]
			if !r.Erased {
				rec.Entry = driver.Entry{ID: r.ID, Content: r.Content, RunID: r.Run, Tags: r.Tags, Subjects: r.Subjects, Sources: r.Sources}
				rec.Entry.CreatedAt = time.UnixMilli(*r.CreatedAt).UTC()
				if r.ExpiresAt != nil {
					rec.Entry.ExpiresAt = time.UnixMilli(*r.ExpiresAt).UTC()
				}
				for _, tag := range r.Tags {
					if address, ok := strings.CutPrefix(tag, "archive:"); ok {
						named[[3]string{x.Tenant, x.Ref, address}] = append(named[[3]string{x.Tenant, x.Ref, address}], r.ID)
					}
				}
			}
			names, want = append(names, r.ID), append(want, rec)
			for _, subject := range r.Subjects {
				var found []string
				for rec, err := range st.History(t.Context(), x.Tenant, driver.HistoryQuery{Ref: x.Ref, Subject: subject}) {
					require.NoError(t, err)
					found = append(found, rec.Entry.ID)
				}
				require.Contains(t, found, r.ID)
				subjects++
			}
		}
		got, err := st.Lookup(t.Context(), scope, names)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Positive(t, subjects)

	for _, x := range f.Versions {
		_, err := st.Intact(t.Context(), driver.Scope{Tenant: x.Tenant}, driver.Version(x.Version))
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	}
	for _, x := range f.Tenants {
		v, err := st.Version(t.Context(), x.Tenant)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(v), strconv.FormatInt(x.Number, 10)+"."))
	}

	docs := 0
	one := func(tenant, ref, kind, key string) driver.Document {
		found := allDocuments(t, st, driver.DocumentQuery{Tenant: tenant, Ref: ref, Kind: kind, Key: key})
		require.Len(t, found, 1, "%s %s", kind, key)
		docs++
		return found[0]
	}
	machinery := func(tenant, ref, kind, key string, value []byte) {
		d := one(tenant, ref, kind, key)
		require.Equal(t, driver.Machinery, d.Class)
		require.True(t, bytes.Equal(value, d.Value), kind)
		require.Empty(t, d.Group)
		require.True(t, d.Due.IsZero())
	}
	for _, x := range f.Cells {
		parts := strings.SplitN(x.Name, "/", 3)
		switch {
		case x.Name == "distill.passes", x.Name == "purge" && x.Ref == "":
		case x.Name == "consolidate/pass":
			machinery(x.Tenant, x.Ref, x.Name, "pass", x.Value)
		case parts[0] == "consolidate":
			machinery(x.Tenant, x.Ref, parts[0]+"/"+parts[1], parts[2], x.Value)
		default:
			machinery(x.Tenant, x.Ref, "cell", x.Name, x.Value)
		}
	}
	for _, c := range f.Commitments {
		d := one(c.Tenant, "", "commitment", c.ID)
		require.Equal(t, c.document(t), object(t, d.Value))
		require.Equal(t, c.Due, d.Due)
		want := c.Arm.Predicate
		if slices.Contains([]string{"acknowledged", "lapsed", "dead"}, c.State) {
			want = ""
		}
		require.Equal(t, want, d.Group)
	}
	archives := 0
	for _, x := range f.Archives {
		of := named[[3]string{x.Tenant, x.Ref, x.Address}]
		if len(of) == 0 {
			require.Empty(t, allDocuments(t, st, driver.DocumentQuery{Tenant: x.Tenant, Ref: x.Ref, Kind: "distill/archive", Key: x.Key}))
			continue
		}
		archives++
		d := one(x.Tenant, x.Ref, "distill/archive", x.Key)
		require.Equal(t, driver.Content, d.Class)
		require.Equal(t, x.Data, d.Value)
		require.Equal(t, x.Address, d.Group)
		require.Equal(t, of[len(of)-1:], d.Of, "the newest output")
	}
	require.Positive(t, archives)
	require.Less(t, archives, len(f.Archives))
	for _, x := range f.Files {
		d := one(x.Tenant, "", "workspace/file", x.Path)
		require.Equal(t, driver.HostText, d.Class)
		require.Equal(t, map[string]any{"format": 1.0, "type": x.Type, "version": float64(x.Version), "etag": x.ETag,
			"at": float64(x.At), "content": x.Content}, object(t, d.Value))
	}

	var waiting []events.Record
	for r, err := range st.Undelivered(t.Context(), driver.OutboxQuery{}) {
		require.NoError(t, err)
		waiting = append(waiting, r)
	}
	require.Len(t, waiting, len(f.Outbox)+len(f.FileEvents))
	tags := 0
	for i, x := range f.Outbox {
		r := waiting[i]
		require.Equal(t, []string{x.Tenant, x.Run, x.ID, x.Node}, []string{r.Tenant, r.RunID, r.ID, r.NodeID})
		require.Equal(t, time.UnixMilli(x.Time).UTC(), r.Time)
		require.Equal(t, x.Type, r.Payload.EventType())
		payload, err := json.Marshal(r.Payload)
		require.NoError(t, err)
		if x.Payload["tags"] != nil {
			tags++
			delete(x.Payload, "tags")
		}
		require.Equal(t, x.Payload, object(t, payload))
	}
	require.Positive(t, tags)
	for i, x := range f.FileEvents {
		require.Equal(t, events.Record{ID: x.ID, Tenant: x.Tenant, RunID: x.Run, Time: time.UnixMilli(x.At).UTC(),
			Payload: events.WorkspaceUpdated{Path: x.Path, Version: x.Version}}, waiting[len(f.Outbox)+i])
	}

	marks := 0
	for _, x := range f.Tenants {
		if x.Purge == "" {
			continue
		}
		type note struct {
			I int64
			V string
		}
		var before, after []note
		require.NoError(t, json.Unmarshal([]byte(x.Purge), &before))
		require.NoError(t, json.Unmarshal(one(x.Tenant, "", "memory/purge", "marks").Value, &after))
		require.Len(t, after, len(before))
		for i := range after {
			require.Equal(t, before[i].I, after[i].I)
			number, _, _ := strings.Cut(after[i].V, ".")
			require.True(t, strings.HasSuffix(before[i].V, "."+number))
			_, err := st.Intact(t.Context(), driver.Scope{Tenant: x.Tenant}, driver.Version(after[i].V))
			require.NoError(t, err)
			marks++
		}
		v, err := st.Version(t.Context(), x.Tenant)
		require.NoError(t, err)
		scope := driver.Scope{Tenant: x.Tenant, Ref: "support"}
		_, err = st.Changes(t.Context(), scope, driver.Version(after[0].V), v)
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable, "no journal was kept then")
		var missed int
		require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM scars WHERE tenant = ?`, x.Tenant).Scan(&missed))
		require.Zero(t, missed, "nothing was erased at a version that can be read still")
		n, err := st.Purge(t.Context(), x.Tenant, driver.Version(after[len(after)-1].V), time.UnixMilli(after[len(after)-1].I))
		require.NoError(t, err)
		require.Positive(t, n)
		_, err = st.Intact(t.Context(), scope, driver.Version(after[0].V))
		require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
	}
	require.Positive(t, marks)

	total := 0
	require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM documents`).Scan(&total))
	require.Equal(t, docs, total, "nothing else")
	var tables string
	require.NoError(t, raw(t, path).QueryRow(`SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name)`).Scan(&tables))
	require.Equal(t, "bodies,document_labels,document_of,documents,entries,former,labels,meta,outbox,run_events,scars,tenants,texts,versions", tables)
}

// A cell whose name is longer than any key can be is a document that can be asked for, under
// a digest of the name. The schema's version is where a transaction looks for it.
func TestMigrations_LongNames(t *testing.T) {
	_, path := unpacked(t)
	names := []string{strings.Repeat("n", driver.MaxKeyBytes), strings.Repeat("n", driver.MaxKeyBytes+1), strings.Repeat("n", 5000)}
	old := raw(t, path)
	for _, name := range names {
		_, err := old.Exec(`INSERT INTO cells VALUES ('acme', 'support', ?, CAST(? AS BLOB))`, name, name)
		require.NoError(t, err)
	}
	require.NoError(t, old.Close())
	st := open(t, path).Memory()
	for _, name := range names {
		key := name
		if len(key) > driver.MaxKeyBytes {
			key = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name)))
		}
		found := allDocuments(t, st, driver.DocumentQuery{Tenant: "acme", Ref: "support", Kind: "cell", Key: key})
		require.Len(t, found, 1)
		require.Equal(t, name, string(found[0].Value))
		_, err := st.Apply(t.Context(), "acme", driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: found[0], Act: driver.Remove}}})
		require.NoError(t, err)
	}
	var inTable, ofFile int
	require.NoError(t, raw(t, path).QueryRow(`SELECT value, user_version FROM meta, pragma_user_version WHERE key = 'schema'`).Scan(&inTable, &ofFile))
	require.Equal(t, ofFile, inTable)
}

func idsOf(entries []driver.Entry) []string {
	ids := []string{}
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// What the old tables had is nowhere in the file but in the new ones: what is erased
// after the migration is gone.
func TestM10_ErasureAfterMigration(t *testing.T) {
	f, path := unpacked(t)
	st := open(t, path).Memory()
	erased := 0
	for _, x := range f.Scopes {
		m := driver.Mutation{At: now}
		for _, r := range x.Records {
			m.Erase = append(m.Erase, driver.Located{Scope: driver.Scope{Tenant: x.Tenant, Ref: x.Ref}, ID: r.ID})
			erased++
		}
		_, err := st.Apply(t.Context(), x.Tenant, m)
		require.NoError(t, err)
	}
	for _, x := range f.Files {
		d := allDocuments(t, st, driver.DocumentQuery{Tenant: x.Tenant, Kind: "workspace/file", Key: x.Path, Bare: true})[0]
		_, err := st.Apply(t.Context(), x.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d, Act: driver.Remove}}})
		require.NoError(t, err)
	}
	require.Positive(t, erased)
	for _, text := range []string{"Customer ", "ordered", "plan: ", "compacted-from:", "branch:1"} {
		require.Zero(t, onDisk(t, path, text), text)
	}
}

// A version that a purge has noted, and at which something was live that was erased since,
// is intact in no ref of its tenant. What was erased at versions that nobody can read is
// left behind: it would be a row for each ref and each erasure.
func TestM7_ErasuresAfterMigration(t *testing.T) {
	_, path := unpacked(t)
	for _, change := range []string{
		`UPDATE cells SET value = CAST(replace(CAST(value AS TEXT), '.19"', '.50"') AS BLOB) WHERE name = 'purge' AND tenant = 'acme'`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
			INSERT INTO scars SELECT 'bulk', i * 10, i * 10 + 5 FROM n`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
			INSERT INTO entries (tenant, ref, id, created, expires, born, run, content) SELECT 'bulk', 'ref' || i, 'id', 1, 9223372036854775807, 1, 'r', '' FROM n`,
		`UPDATE tenants SET version = 10000 WHERE tenant = 'bulk'`,
	} {
		_, err := raw(t, path).Exec(change)
		require.NoError(t, err)
	}
	st := open(t, path).Memory()
	var marks []struct{ V driver.Version }
	for _, d := range allDocuments(t, st, driver.DocumentQuery{Tenant: "acme", Kind: "memory/purge", Key: "marks"}) {
		require.NoError(t, json.Unmarshal(d.Value, &marks))
	}
	require.Len(t, marks, 2)
	for i, want := range []bool{true, false} {
		intact, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "support"}, marks[i].V)
		require.NoError(t, err)
		require.Equal(t, want, intact)
	}
	var n int
	require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM scars WHERE tenant = 'bulk'`).Scan(&n))
	require.Zero(t, n)
}

// Of the entries that name an archive it goes with the one that was not retired, or else with
// the newest and of those with the last by id, and with none of another tenant. A cell that
// is called as the notes of purges are is one like others. An erasure is noted from its first
// version to before its last.
func TestMigrations_Choices(t *testing.T) {
	_, path := unpacked(t)
	old := raw(t, path)
	exec := func(text string, args ...any) {
		t.Helper()
		_, err := old.Exec(text, args...)
		require.NoError(t, err)
	}
	address := func(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }
	put := func(tenant, id, archive string, created, died int64) {
		tag := fmt.Sprintf("archive:sha256:%x", address(archive))
		exec(`INSERT INTO entries (tenant, ref, id, created, expires, born, died, run, tags, content)
			VALUES (?, 'ties', ?, ?, 9223372036854775807, 1, ?, 'r', CAST(? AS BLOB), 'text')`, tenant, id, created, died, string(rune(len(tag)))+tag)
	}
	const live = 9223372036854775807
	put("acme", "older-live", "retired", 1, live)
	put("acme", "newer-retired", "retired", 2, 5)
	put("acme", "tie-2", "tie", 1, live)
	put("acme", "tie-1", "tie", 1, live)
	put("bulk", "theirs", "tie", 1, live)
	for tenant, archives := range map[string][]string{"acme": {"retired", "tie"}, "bulk": {"tie"}} {
		for _, name := range archives {
			exec(`INSERT INTO archives VALUES (?, 'ties', ?, 1, CAST(? AS BLOB))`, tenant, address(name), tenant+"'s "+name)
			exec(`INSERT INTO archive_keys VALUES (?, 'ties', ?, ?)`, tenant, address(name), address(name))
		}
	}
	exec(`INSERT INTO cells VALUES ('acme', 'support', 'purge', CAST('[]' AS BLOB))`)
	exec(`INSERT INTO scars VALUES ('acme', 10, 16), ('acme', 19, 20)`) // purges have noted 16 and 19
	require.NoError(t, old.Close())

	st := open(t, path).Memory()
	of := map[string]string{}
	for _, tenant := range []string{"acme", "bulk"} {
		for _, d := range allDocuments(t, st, driver.DocumentQuery{Tenant: tenant, Ref: "ties"}) {
			require.Len(t, d.Of, 1)
			of[string(d.Value)] = d.Of[0]
		}
	}
	require.Equal(t, map[string]string{"acme's retired": "older-live", "acme's tie": "tie-2", "bulk's tie": "theirs"}, of)
	var marks []struct{ V driver.Version }
	for _, d := range allDocuments(t, st, driver.DocumentQuery{Tenant: "acme", Kind: "memory/purge", Key: "marks"}) {
		require.NoError(t, json.Unmarshal(d.Value, &marks))
	}
	require.Len(t, marks, 2)
	require.Len(t, allDocuments(t, st, driver.DocumentQuery{Tenant: "acme", Ref: "support", Kind: "cell", Key: "purge"}), 1)
	for i, want := range []bool{true, false} {
		intact, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "support"}, marks[i].V)
		require.NoError(t, err)
		require.Equal(t, want, intact)
	}
	var spans int
	require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM scars WHERE tenant = 'acme' AND ref = 'support'`).Scan(&spans))
	require.Equal(t, 1, spans)
}

// What tenants had before there were limits counts towards them.
func TestM9_UsageAfterMigration(t *testing.T) {
	f, path := unpacked(t)
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
	open(t, path)
	db := raw(t, path)
	for tenant, u := range want {
		var got driver.Limits
		require.NoError(t, db.QueryRow(`SELECT entries, bytes FROM tenants WHERE tenant = ?`, tenant).Scan(&got.Entries, &got.Bytes))
		require.Equal(t, u, got, tenant)
	}
	require.Positive(t, want["acme"].Bytes)
}
