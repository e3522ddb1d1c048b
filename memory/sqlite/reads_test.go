package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

var (
	here = driver.Scope{Tenant: "acme", Ref: "support"}
	then = time.UnixMilli(1_760_000_000_000).UTC()
)

func openFresh(t *testing.T) *DB {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), Options{Relaxed: true})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// Every statement that finds something is a range of an index, mostly in the order wanted: its
// cost is that of what it returns.
func TestPlans(t *testing.T) {
	db := openFresh(t)
	documents := func(q driver.DocumentQuery) string {
		q.Tenant = "t"
		text, _, _ := db.dialect.DocumentsBehind(&q, &driver.Document{Scope: driver.Scope{Ref: q.Ref}, Kind: q.Kind})
		return text
	}
	const (
		byName    = "SEARCH e USING PRIMARY KEY (tenant=? AND ref=? AND id=?)"
		byRowid   = " USING INTEGER PRIMARY KEY (rowid=?)"
		ofDocs    = "SEARCH d USING INDEX sqlite_autoindex_documents_1 "
		ofEvents  = " USING INDEX sqlite_autoindex_events_1 (tenant=? AND run=? AND event=?)"
		ofSubject = "SEARCH l USING PRIMARY KEY (label=? AND ref=? AND created>? AND (created,id)<(?,?))"
		liveRange = "SEARCH e USING COVERING INDEX entries_live (tenant=? AND ref=? AND created>? AND (created,id)<(?,?))"
	)
	for name, c := range map[string]struct {
		text  string
		sorts bool // what it finds, or keeps it aside
		want  []string
	}{
		"list live": {listLive, false, []string{liveRange, "SEARCH x" + byRowid}},
		"list at": {listAt, true, []string{liveRange,
			"SEARCH e USING COVERING INDEX entries_past (tenant=? AND ref=? AND died>? AND died<?)"}},
		"id live":      {idLive, false, []string{byName}},
		"ids live":     {idsLive, true, []string{byName}},
		"ids at":       {idsAt, true, []string{byName}},
		"subject live": {subjectLive, false, []string{ofSubject, byName, "SEARCH x" + byRowid}},
		"subject at":   {subjectAt, false, []string{ofSubject, byName, "SEARCH x" + byRowid}},

		"rows":               {getRows, false, []string{byName}},
		"history":            {historyOfTenant, false, []string{"SEARCH e USING PRIMARY KEY (tenant=? AND (ref,id)>(?,?))"}},
		"history of ref":     {historyOfRef, false, []string{"SEARCH e USING PRIMARY KEY (tenant=? AND ref=? AND id>?)"}},
		"history of merged":  {historyOfSuccessors, false, []string{"SEARCH e USING INDEX entries_successor (tenant=? AND ref=? AND successor=? AND id>?)"}},
		"history of subject": {historyOfSubject, false, []string{"SEARCH l USING PRIMARY KEY (label=? AND (ref,created,id)>(?,?,?))"}},
		"merged into":        {getMergedInto, false, []string{"SEARCH e USING COVERING INDEX entries_successor (tenant=? AND ref=? AND successor=?)"}},
		"beginning":          {beginning, false, []string{"SEARCH s USING PRIMARY KEY (key=?)", "SEARCH u USING PRIMARY KEY (key=?) LEFT-JOIN", "SEARCH v USING PRIMARY KEY (tenant=?) LEFT-JOIN"}},
		"set entry":          {setEntry, false, []string{"SEARCH entries USING PRIMARY KEY (tenant=? AND ref=? AND id=?)"}},
		"erase entries":      {eraseEntries, true, []string{"SEARCH entries USING PRIMARY KEY (tenant=? AND ref=? AND id=?)"}},
		"labels":             {removeLabels, false, []string{"SEARCH labels USING PRIMARY KEY (label=? AND ref=? AND created=? AND id=?)"}},
		"purgeable":          {findPurgeable, false, []string{"SEARCH entries USING INDEX entries_past (tenant=? AND ref=? AND died<?)"}},
		"heads":              {getHeads, false, []string{byName, "SEARCH x" + byRowid}},
		"remove entries":     {removeEntries, true, []string{"SEARCH entries USING PRIMARY KEY (tenant=? AND ref=? AND id=?)"}},
		"remove texts":       {removeTexts, true, []string{"SEARCH texts" + byRowid}},
		"scopes": {nextScope, true, []string{"SEARCH entries USING PRIMARY KEY (tenant=? AND ref>?)",
			"SEARCH documents USING COVERING INDEX sqlite_autoindex_documents_1 (tenant=? AND ref>?)",
			"SEARCH entries USING PRIMARY KEY (tenant>?)",
			"SEARCH documents USING COVERING INDEX sqlite_autoindex_documents_1 (tenant>?)"}},

		"due":                   {dueDocuments, false, []string{"SEARCH d USING INDEX documents_due (kind=? AND due<?)"}},
		"set document":          {setDocument, true, []string{"SEARCH documents" + byRowid}},
		"documents of mutation": {getDocuments, false, []string{ofDocs + "(tenant=? AND ref=? AND kind=? AND key=?)"}},
		"documents made of": {removeMade, true, []string{"SEARCH documents" + byRowid, "SEARCH document_of USING COVERING INDEX document_of_entry (entry=?)",
			"SEARCH d USING COVERING INDEX documents_whole (tenant=? AND ref=?)"}},
		"documents by key":   {documents(driver.DocumentQuery{Ref: "r", Kind: "k", Key: "y"}), false, []string{ofDocs + "(tenant=? AND ref=? AND kind=? AND key=?)"}},
		"documents by kind":  {documents(driver.DocumentQuery{Ref: "r", Kind: "k"}), false, []string{ofDocs + "(tenant=? AND ref=? AND kind=? AND key>?)"}},
		"documents by ref":   {documents(driver.DocumentQuery{Ref: "r"}), false, []string{ofDocs + "(tenant=? AND ref=? AND (kind,key)>(?,?))"}},
		"documents":          {documents(driver.DocumentQuery{EveryRef: true}), false, []string{ofDocs + "(tenant=? AND (ref,kind,key)>(?,?,?))"}},
		"documents by group": {documents(driver.DocumentQuery{Ref: "r", Kind: "k", Group: "g"}), false, []string{"SEARCH d USING INDEX documents_group (tenant=? AND kind=? AND grp=? AND ref=? AND key>?)"}},
		"group of every ref": {documents(driver.DocumentQuery{EveryRef: true, Kind: "k", Group: "g"}), false, []string{"SEARCH d USING INDEX documents_group (tenant=? AND kind=? AND grp=? AND (ref,key)>(?,?))"}},

		"waiting events": {waitingEvents, false, []string{"SEARCH events USING INTEGER PRIMARY KEY (rowid>?)"}},
		"waiting of run": {waitingOfRun, true, []string{"SEARCH events USING INDEX sqlite_autoindex_events_1 (tenant=? AND run=?)"}},
		"waiting count":  {countAll, false, []string{"SEARCH events USING INTEGER PRIMARY KEY (rowid>?)"}},
		"waiting tenant": {countWaiting, false, []string{"SEARCH events USING COVERING INDEX sqlite_autoindex_events_1 (tenant=?)"}},
		"delivered": {removeDelivered, false, []string{
			"SEARCH e" + strings.NewReplacer("INDEX", "COVERING INDEX", "event=?", "event=? AND rowid>?").Replace(ofEvents)}},
		"kept events":     {keptEvents, false, []string{"SEARCH events USING INDEX events_kept (tenant=? AND run=? AND sequence>?)"}},
		"next of kept":    {keepEvent, false, []string{"SEARCH events USING COVERING INDEX events_kept (tenant=? AND run=? AND sequence>?)", "SEARCH events USING INTEGER PRIMARY KEY (rowid<?)"}},
		"next of waiting": {queueEvent, false, []string{"SEARCH events"}},
		"runs to purge": {purgeRuns, false, []string{"SEARCH f USING INDEX events_first (at<?)", "SEARCH l USING INDEX events_kept (tenant=? AND run=? AND sequence>?)",
			"SEARCH e USING COVERING INDEX events_kept (tenant=? AND run=? AND sequence>?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := db.readers.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+c.text, make([]any, 30)...)
			require.NoError(t, err)
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
				plan = append(plan, detail)
			}
			require.NoError(t, rows.Close())
			require.Subset(t, plan, c.want)
			whole := strings.Join(plan, "\n")
			if !c.sorts {
				require.NotContains(t, whole, "TEMP B-TREE")
			}
			for _, step := range plan { // only lists of the caller, and of a step before, are read as a whole
				require.False(t, strings.HasPrefix(step, "SCAN ") && !scanned.MatchString(step), "%s", step)
			}
			// SQLite reads all rows that equal the bound of a row value: there may be one only.
			for _, bound := range rowValues.FindAllStringSubmatch(whole, -1) {
				require.Contains(t, []string{"id", "key"}, bound[1], "a row value that others may share")
			}
		})
	}
}

// scanned are the steps that are no table.
var scanned = regexp.MustCompile(`VIRTUAL TABLE|CONSTANT ROW|^SCAN (r|v|f|\(.*\))$`)

// rowValues finds the last column in each bound of a row value.
var rowValues = regexp.MustCompile(`,(\w+)\)[<>]\(`)

// pages is how many pages a connection has looked at.
func pagesRead(t *testing.T, conn *sql.Conn) (n int) {
	require.NoError(t, conn.Raw(func(c any) error {
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			found, _, err := c.(sqlite.DBStatus).Status(op, false)
			if err != nil {
				return err
			}
			n += found
		}
		return nil
	}))
	return n
}

// Listing scopes looks at as many pages for each as the indexes are deep, however much a scope
// holds.
func TestScopes_StepsIntoIndexes(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	large := 10_000
	if testing.Short() {
		large = 2_000
	}
	for _, s := range []driver.Scope{{Tenant: "a", Ref: "large"}, {Tenant: "a", Ref: "small"}, {Tenant: "b", Ref: "large"}, {Tenant: "c", Ref: "small"}} {
		var m driver.Mutation
		n := 1
		if s.Ref == "large" {
			n = large
		}
		for i := range n {
			id := fmt.Sprintf("e%06d", i)
			m.Put = append(m.Put, driver.Placed{Scope: s, Entry: driver.Entry{ID: id, Content: "x", CreatedAt: then}})
			m.Documents = append(m.Documents, driver.DocumentSwap{Document: driver.Document{Scope: s, Kind: "k", Key: id}})
		}
		_, err := st.Apply(t.Context(), s.Tenant, m)
		require.NoError(t, err)
	}
	conn, err := db.readers.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	step, err := conn.PrepareContext(t.Context(), nextScope)
	require.NoError(t, err)
	defer step.Close()
	var found []driver.Scope
	for s := (driver.Scope{}); ; {
		before := pagesRead(t, conn)
		err := step.QueryRowContext(t.Context(), s.Tenant, s.Ref).Scan(&s.Tenant, &s.Ref)
		require.LessOrEqual(t, pagesRead(t, conn)-before, 4*4, "behind %v", s)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		require.NoError(t, err)
		found = append(found, s)
	}
	require.Equal(t, []driver.Scope{{Tenant: "a", Ref: "large"}, {Tenant: "a", Ref: "small"}, {Tenant: "b", Ref: "large"}, {Tenant: "c", Ref: "small"}}, found)
}

// A list by a tag or a subject reads the entries that have it, and hardly another.
func TestList_ByTagReadsWhatMatches(t *testing.T) {
	db := openFresh(t)
	m := driver.Mutation{At: then}
	for i := range 500 {
		e := driver.Entry{ID: fmt.Sprintf("m%026d", i), Content: "rare", CreatedAt: then, Tags: []string{"note", "rarely"}, Subjects: []string{"ann"}}
		if i == 100 {
			e.Tags, e.Subjects = append(e.Tags, "rare"), append(e.Subjects, "bob")
		}
		m.Put = append(m.Put, driver.Placed{Scope: here, Entry: e})
	}
	done, err := db.Memory().Apply(t.Context(), here.Tenant, m)
	require.NoError(t, err)
	ids := []string{m.Put[100].Entry.ID, m.Put[101].Entry.ID}
	for _, c := range []struct {
		q    driver.Query
		rows int
	}{
		{driver.Query{Tags: []string{"nothing"}}, 0},
		{driver.Query{Tags: []string{"rare", "note"}}, 1},
		{driver.Query{Tags: []string{"rare"}, Version: done.Version}, 1},
		{driver.Query{Tags: []string{"rare"}, IDs: ids}, 1},
		{driver.Query{Tags: []string{"rare"}, IDs: ids, Version: done.Version}, 1},
		{driver.Query{Subject: "bob"}, 1},
		{driver.Query{Subject: "eve"}, 0},
		{driver.Query{}, 500},
	} {
		c.q.At = then
		text, args := listOf(&sqlstore.Listing{Scope: here, Query: &c.q, Before: never}, 1)
		rows := 0
		require.NoError(t, db.reads(t.Context())(func(sqlstore.Row) (bool, error) { rows++; return true, nil }, text, args...))
		require.Equal(t, c.rows, rows, "%+v", c.q)
		found, err := db.Memory().List(t.Context(), here, c.q)
		require.NoError(t, err)
		require.Len(t, found, c.rows, "%+v", c.q)
	}
}

func TestRecord_AnyBytes(t *testing.T) {
	st := openFresh(t).Memory()
	odd := []string{"\x00", "a\x00b", "\xff\xfe", "é", "", strings.Repeat("x", 200), "'; --"}
	for i, s := range odd {
		scope := driver.Scope{Tenant: "t" + s, Ref: s}
		e := driver.Entry{ID: "id" + s, Content: s, RunID: s, CreatedAt: then, Tags: odd, Subjects: odd, Sources: odd}
		require.NoError(t, st.Put(t.Context(), scope, e))
		got, err := st.Get(t.Context(), scope, e.ID, then)
		require.NoError(t, err, i)
		require.Equal(t, e, got)
		found, err := st.Lookup(t.Context(), scope, []string{e.ID, "other", e.ID})
		require.NoError(t, err)
		require.Equal(t, []driver.Record{{Scope: scope, Entry: e}, {Scope: scope, Entry: e}}, found)
		doc := driver.Document{Scope: scope, Kind: "k", Key: "é", Value: []byte(s)}
		_, err = st.Apply(t.Context(), scope.Tenant, driver.Mutation{At: then, Documents: []driver.DocumentSwap{{Document: doc}}})
		require.NoError(t, err)
		for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: scope.Tenant, Ref: scope.Ref}) {
			require.NoError(t, err)
			require.Equal(t, s, string(d.Value))
		}
		n := 0
		for r, err := range st.History(t.Context(), scope.Tenant, driver.HistoryQuery{Subject: "\xff\xfe"}) {
			require.NoError(t, err)
			require.Equal(t, e, r.Entry)
			n++
		}
		require.Equal(t, 1, n)
	}
}

func TestPack(t *testing.T) {
	for _, list := range [][]string{nil, {""}, {"a", "", "b"}, {strings.Repeat("x", 1000)}} {
		got, ok := sqlstore.Unpack(sqlstore.Pack(list))
		require.True(t, ok)
		require.Equal(t, list, got)
	}
	for _, bad := range []string{"\x02a", "\xff", "\x01a\x05b", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		_, ok := sqlstore.Unpack([]byte(bad))
		require.False(t, ok, "%q", bad)
	}
}

// Long lists, histories and documents are read in pages that fit together.
func TestPages(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	const n = 2*sqlstore.PageSize + 7
	var m driver.Mutation
	for i := range n {
		e := driver.Entry{ID: fmt.Sprintf("e%05d", i), Content: "x", CreatedAt: then.Add(time.Duration(i/3) * time.Millisecond), Subjects: []string{"s"}}
		m.Put = append(m.Put, driver.Placed{Scope: here, Entry: e})
	}
	m.Put = append(m.Put, driver.Placed{Scope: here, Entry: driver.Entry{ID: "head", CreatedAt: then}})
	_, err := st.Apply(t.Context(), here.Tenant, m)
	require.NoError(t, err)
	want, err := st.List(t.Context(), here, driver.Query{At: then})
	require.NoError(t, err)
	require.Len(t, want, n+1)
	for _, limit := range []int{1, 100, sqlstore.PageSize, n, n + 1} {
		var got []driver.Entry
		for q := (driver.Query{At: then, Limit: limit}); ; q.After = got[len(got)-1].Cursor() {
			page, err := st.List(t.Context(), here, q)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			if got = append(got, page...); len(page) < limit {
				break
			}
		}
		require.Equal(t, want, got)
	}
	_, err = st.Apply(t.Context(), here.Tenant, retireAll(n))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		q    driver.HistoryQuery
		want int
	}{
		"all": {driver.HistoryQuery{}, n + 1}, "ref": {driver.HistoryQuery{Ref: here.Ref}, n + 1},
		"subject": {driver.HistoryQuery{Subject: "s"}, n}, "for": {driver.HistoryQuery{Ref: here.Ref, For: []string{"head", "none", "head"}}, n},
		"both": {driver.HistoryQuery{Ref: here.Ref, For: []string{"head"}, Subject: "t"}, 0},
	} {
		seen := map[string]bool{}
		for r, err := range st.History(t.Context(), here.Tenant, c.q) {
			require.NoError(t, err)
			require.False(t, seen[r.Entry.ID])
			seen[r.Entry.ID] = true
		}
		require.Len(t, seen, c.want, name)
	}
	var swaps driver.Mutation
	for i := range n {
		d := driver.Document{Scope: here, Kind: "k", Key: fmt.Sprintf("d%05d", i), Group: "g"}
		if i%3 == 0 {
			d.Kind, d.Group = "j", ""
		}
		if i < 5 {
			d.Value = make([]byte, sqlstore.PageBytes/2) // a page has less of them
		}
		swaps.Documents = append(swaps.Documents, driver.DocumentSwap{Document: d})
	}
	_, err = st.Apply(t.Context(), here.Tenant, swaps)
	require.NoError(t, err)
	for _, q := range []driver.DocumentQuery{{EveryRef: true}, {Ref: here.Ref}, {Ref: here.Ref, Kind: "k"}, {Ref: here.Ref, Kind: "k", Group: "g"}, {EveryRef: true, Kind: "k", Group: "g"}} {
		q.Tenant = here.Tenant
		var got, want []string
		for d, err := range st.Documents(t.Context(), q) {
			require.NoError(t, err)
			got = append(got, d.Kind+d.Key)
		}
		for _, x := range swaps.Documents {
			if q.Kind == "" || q.Kind == x.Kind {
				want = append(want, x.Kind+x.Key)
			}
		}
		slices.Sort(want)
		require.Equal(t, want, got)
		got = nil
		for q.Limit = 300; ; {
			read := 0
			for d, err := range st.Documents(t.Context(), q) {
				require.NoError(t, err)
				got, q.After, read = append(got, d.Kind+d.Key), &d, read+1
			}
			if read < q.Limit {
				break
			}
		}
		require.Equal(t, want, got)
	}
}

func retireAll(n int) driver.Mutation {
	m := driver.Mutation{At: then}
	for i := range n {
		m.Retire = append(m.Retire, driver.Retirement{
			Located: driver.Located{Scope: here, ID: fmt.Sprintf("e%05d", i)}, State: driver.Merged, For: "head"})
	}
	return m
}

// A long read ends with its context.
func TestList_EndsWithItsContext(t *testing.T) {
	st := openFresh(t).Memory()
	var m driver.Mutation
	for i := range lookEvery {
		m.Put = append(m.Put, driver.Placed{Scope: here, Entry: driver.Entry{ID: fmt.Sprintf("e%05d", i), CreatedAt: then}})
	}
	_, err := st.Apply(t.Context(), here.Tenant, m)
	require.NoError(t, err)
	_, err = st.List(&ending{t.Context(), 0, nil}, here, driver.Query{At: then, Limit: lookEvery - 1})
	require.NoError(t, err)
	_, err = st.List(&ending{t.Context(), 0, nil}, here, driver.Query{At: then})
	require.ErrorIs(t, err, context.Canceled)
}

// A read that waits for the others of the process gives up with its context.
func TestRead_Waits(t *testing.T) {
	db := openFresh(t)
	over := make(chan struct{})
	close(over)
	var within func(n int) error
	within = func(n int) error {
		if n == maxReaders {
			_, err := db.Memory().List(&ending{t.Context(), 0, over}, here, driver.Query{At: then})
			return err
		}
		return db.reads(t.Context())(func(sqlstore.Row) (bool, error) { return false, within(n + 1) }, `SELECT 1`)
	}
	require.ErrorIs(t, within(0), context.Canceled)
}

// A read that another process is in the way of gives up at last, and says what it did.
func TestRead_TimesOut(t *testing.T) {
	db := openFresh(t)
	second, err := db.readers.Conn(t.Context())
	require.NoError(t, err)
	defer second.Close()
	require.NoError(t, db.tx(t.Context(), func(*tx) error {
		_, inTheWay := second.ExecContext(t.Context(), `PRAGMA query_only = 0; BEGIN IMMEDIATE`)
		require.True(t, busy(inTheWay))
		defer func(n int) { patience = n }(patience)
		patience = 2
		err := retry(t.Context(), func() error { return inTheWay }, readFailed, readTimeout)
		require.ErrorIs(t, err, driver.ErrInternal)
		require.EqualError(t, err, "sqlite: "+readTimeout)
		return nil
	}))
}

// ending is a context that is done from the second look on.
type ending struct {
	context.Context
	looks int
	done  chan struct{}
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	if e.looks++; e.looks > 1 {
		return context.Canceled
	}
	return nil
}

// A write that waits for another gives up with its context, and at last by itself.
func TestWrite_Waits(t *testing.T) {
	db := openFresh(t)
	second, err := Open(t.Context(), strings.TrimPrefix(strings.Split(db.writer.dsn, "?")[0], "file:"), Options{})
	require.NoError(t, err)
	defer second.Close()
	e := driver.Entry{ID: "a", CreatedAt: then}
	over := make(chan struct{})
	close(over)
	require.NoError(t, db.tx(t.Context(), func(*tx) error {
		err := db.Memory().Put(&ending{t.Context(), 0, over}, here, e)
		require.ErrorIs(t, err, context.Canceled, "behind another write of the process")
		err = second.Memory().Put(&ending{t.Context(), 0, nil}, here, e)
		require.ErrorIs(t, err, context.Canceled, "behind one of another process")
		defer func(n int) { patience = n }(patience)
		patience = 2
		err = second.Memory().Put(t.Context(), here, e)
		require.ErrorIs(t, err, driver.ErrInternal)
		require.EqualError(t, err, "sqlite: "+lockTimeout)
		_, err = second.Memory().Get(t.Context(), here, "a", then) // readers do not wait
		require.ErrorIs(t, err, driver.ErrNotFound)
		return nil
	}))
	require.NoError(t, second.Memory().Put(t.Context(), here, e))
}

// A commit that fails is reported as unknown, and the next write has a new connection.
func TestWrite_LostCommit(t *testing.T) {
	db := openFresh(t)
	err := db.tx(t.Context(), func(t *tx) error {
		t.exec("ROLLBACK")
		return nil
	})
	require.ErrorIs(t, err, driver.ErrInternal)
	require.NotErrorIs(t, err, driver.ErrConflict)
	require.EqualError(t, err, "sqlite: "+commitLost)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.NoError(t, db.Memory().Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then}))
	err = db.tx(t.Context(), func(t *tx) error { // and so it is if nothing is left to roll back
		t.exec("ROLLBACK")
		return driver.ErrConflict
	})
	require.ErrorIs(t, err, driver.ErrConflict)
	require.NoError(t, db.Memory().Put(t.Context(), here, driver.Entry{ID: "b", CreatedAt: then}))
}

// What is damaged is an error that tells nothing of it.
func TestM2_Damage(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	payload := events.WorkspaceUpdated{Path: "p", Version: 1}
	made, err := st.Apply(t.Context(), here.Tenant, driver.Mutation{
		Put:       []driver.Placed{{Scope: here, Entry: driver.Entry{ID: "a", CreatedAt: then, Tags: []string{"secret"}}}},
		Documents: []driver.DocumentSwap{{Document: driver.Document{Scope: here, Kind: "k", Key: "k", Due: then}}},
		Events:    []events.Record{{ID: "e", Tenant: here.Tenant, RunID: "r", Time: then, Payload: payload}},
	})
	require.NoError(t, err)
	require.NoError(t, db.tx(t.Context(), func(t *tx) error {
		for _, text := range []string{`UPDATE texts SET head = x'ff7365637265'`, `UPDATE events SET payload = '{"secret":1}'`,
			`UPDATE documents SET origin = x'ff7365637265'`, `UPDATE versions SET journal = x'ff7365637265'`} {
			t.exec(text)
		}
		return nil
	}))
	_, one := st.Get(t.Context(), here, "a", then)
	_, all := st.List(t.Context(), here, driver.Query{At: then})
	_, looked := st.Lookup(t.Context(), here, []string{"a"})
	_, again := st.Apply(t.Context(), here.Tenant, driver.Mutation{Erase: []driver.Located{{Scope: here, ID: "a"}}})
	_, live := st.Apply(t.Context(), here.Tenant, driver.Mutation{Live: []driver.Located{{Scope: here, ID: "a"}}})
	_, due := st.Due(t.Context(), "k", then, 1)
	first := driver.FirstMark(db.dialect.Incarnation, here.Tenant).Version(0)
	_, changes := st.Changes(t.Context(), here, first, made.Version)
	for i, err := range []error{one, all, looked, again, live, due, changes} {
		require.ErrorIs(t, err, driver.ErrInternal, i)
		require.NotContains(t, err.Error(), "secret")
	}
	for _, err := range st.History(t.Context(), here.Tenant, driver.HistoryQuery{}) {
		require.ErrorIs(t, err, driver.ErrInternal)
	}
	for _, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: here.Tenant, EveryRef: true}) {
		require.ErrorIs(t, err, driver.ErrInternal)
	}
	for _, err := range st.Undelivered(t.Context(), "", "") {
		require.ErrorIs(t, err, driver.ErrInternal)
	}
}
