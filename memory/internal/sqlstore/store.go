package sqlstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Row is a row of an answer.
type Row interface{ Scan(dest ...any) error }

// Query is a statement that changes nothing. Row is called with each row of its answer until it
// wants no more.
type Query struct {
	Text string
	Args []any
	Row  func(Row) (more bool, err error)
}

// One is a query whose answer is one row, or none, which leaves dest as it is.
func One(text string, args []any, dest ...any) Query {
	return Query{text, args, func(row Row) (bool, error) { return false, row.Scan(dest...) }}
}

// Dialect is a database with the tables of a store. Parameters of its statements are numbered, in
// the order that each says.
type Dialect struct {
	// Read answers queries about a tenant, or about all if it is empty, in their order and without
	// a write. It may call queries again, after an error that may pass.
	Read func(ctx context.Context, tenant string, queries func() []Query) error
	// Commit commits a valid mutation. One that only puts what is there makes no version.
	Commit func(ctx context.Context, tenant string, m *driver.Mutation, onlyPut bool) (driver.Applied, error)
	// Name and Names are a name, and a list of them, as parameters.
	Name  func(string) any
	Names func([]string) any
	// Damaged is the error of what this package did not write.
	Damaged     func(cause error) error
	Incarnation string

	Version   string // the number and the mark of the newest: tenant
	Available string // whether a version can be read: tenant, number, mark, whether the mark is that of version 0
	Intact    string // whether nothing is missing: tenant, ref, number
	Changes   string // the journals behind a version, up to another: tenant, number, number
	Lookup    string // records in the order of the ids: tenant, ref, ids

	NextScope string // the first scope behind one, if Scopes is to be used: tenant, ref

	// List reads the entries that l asks for at the n-th version, in their order. It may leave
	// tags and the subject to the caller, and of one id everything but its life.
	List func(l *Listing, n int64) (text string, args []any)
	// Entries returns a function that reads the rows of List one after the other.
	Entries func() func(Row) (driver.Entry, error)
	// Records does the same for those of Lookup and History.
	Records func(tenant string) func(Row) (driver.Record, error)

	History   History
	Documents Documents
	Events    Events
}

// Store reads what a dialect has.
type Store struct{ d *Dialect }

// New returns the store of a dialect, which is not changed any more.
func New(d *Dialect) *Store { return &Store{d} }

// PageSize is how many rows an iterator reads at a time, and PageBytes how many bytes of documents or
// events, so that large ones are not all held at once.
const (
	PageSize  = 256
	PageBytes = 4 << 20
)

// readPage reads rows of a tenant, or of all if it is empty, until there are limit of them or they come
// to PageBytes, which more reports. A limit below 0 is none, and no size counts no bytes.
func readPage[T any](ctx context.Context, d *Dialect, tenant string, q Query, limit int, scan func(Row) (T, error), size func(*T) int) (page []T, more bool, err error) {
	var bytes int
	q.Row = func(row Row) (bool, error) {
		x, err := scan(row)
		if page = append(page, x); size != nil {
			bytes += size(&x)
		}
		more = bytes >= PageBytes || len(page) == limit
		return !more, err
	}
	err = d.Read(ctx, tenant, func() []Query {
		page, more, bytes = nil, false, 0
		return []Query{q}
	})
	if err != nil {
		return nil, false, err
	}
	return page, more, nil
}

// Listing is a query for entries in the terms of a table: those before (Before, BeforeID) in a
// list, and not created before Since. Its ids are sorted.
type Listing struct {
	driver.Scope
	*driver.Query
	Since, Before int64
	BeforeID      string
}

// latest is behind every version.
const latest = Never - 1

// Durable says that the store outlives its process.
func (st *Store) Durable() bool { return true }

// ReadOnly says that the store can be written.
func (st *Store) ReadOnly() bool { return false }

// Put inserts e if the scope has no entry of that id.
func (st *Store) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	err := ctx.Err()
	if err == nil {
		_, err = st.d.Commit(ctx, s.Tenant, &driver.Mutation{Put: []driver.Placed{{Scope: s, Entry: e}}}, true)
	}
	return err
}

// Delete ends the life of an entry and reports whether it was live at the instant at. If it was
// not, nothing changes.
func (st *Store) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	err := ctx.Err()
	if err == nil {
		end := driver.Retirement{Located: driver.Located{Scope: s, ID: id}, State: driver.Deleted}
		_, err = st.d.Commit(ctx, s.Tenant, &driver.Mutation{At: at, Retire: []driver.Retirement{end}}, false)
	}
	if errors.Is(err, driver.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Apply commits m, or returns [driver.ErrConflict], an error of its limits, or
// [driver.ErrValidation] for a mutation that could never be committed; in all these cases nothing
// happened, nor after any other error that is not [driver.ErrOutcomeUnknown].
func (st *Store) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	err := ctx.Err()
	if err == nil {
		err = m.Validate(tenant)
	}
	if err != nil {
		return driver.Applied{}, err
	}
	return st.d.Commit(ctx, tenant, &m, false)
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	found, err := st.List(ctx, s, driver.Query{At: at, IDs: []string{id}, Limit: 1})
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Entry{}, err
	}
	return found[0], nil
}

// List returns the entries of s that q asks for (M5), live or as they were at a version (M6).
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) (entries []driver.Entry, err error) {
	l := listing(s, &q)
	filtered := len(q.IDs) == 1 || len(q.Tags) > 0 || q.Subject != ""
	read := func(n int64) Query {
		entries = nil
		text, args := st.d.List(l, n)
		scan := st.d.Entries()
		return Query{text, args, func(row Row) (bool, error) {
			e, err := scan(row)
			if err == nil && (!filtered || q.Matches(&e)) {
				entries = append(entries, e)
			}
			return len(entries) != q.Limit || q.Limit <= 0, err
		}}
	}
	if q.Version == "" {
		err = st.d.Read(ctx, s.Tenant, func() []Query { return []Query{read(latest)} })
	} else {
		err = st.readAt(ctx, s.Tenant, func(n []int64) Query { return read(n[0]) }, q.Version)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// listing returns what q asks for.
func listing(s driver.Scope, q *driver.Query) *Listing {
	l := &Listing{Scope: s, Query: q, Since: math.MinInt64, Before: math.MaxInt64}
	q.IDs = distinct(q.IDs)
	if !q.Since.IsZero() {
		l.Since = millisUp(q.Since)
	}
	if !q.Until.IsZero() { // no id is before ""
		l.Before = millisUp(q.Until)
	}
	if after := q.After.CreatedAt.UnixMilli(); !q.After.IsZero() && after < l.Before {
		l.Before, l.BeforeID = after, q.After.ID
	}
	return l
}

func distinct(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// CheckVersion returns the query that tells whether a version can be read, and its number.
func (d *Dialect) CheckVersion(ctx context.Context, tenant string, v driver.Version, held *bool) (Query, int64, error) {
	if err := ctx.Err(); err != nil {
		return Query{}, 0, err
	}
	n, mark, err := v.Parse()
	first := n == 0 && mark == driver.FirstMark(d.Incarnation, tenant)
	return One(d.Available, []any{d.Name(tenant), int64(n), mark[:], first}, held), int64(n), err
}

// readAt answers a query about versions. Whether they are available is checked behind it: what
// can be read was whole before.
func (st *Store) readAt(ctx context.Context, tenant string, read func(numbers []int64) Query, versions ...driver.Version) error {
	numbers, held, checks := make([]int64, len(versions)), make([]bool, len(versions)), make([]Query, len(versions))
	for i, v := range versions {
		var err error
		if checks[i], numbers[i], err = st.d.CheckVersion(ctx, tenant, v, &held[i]); err != nil {
			return err
		}
	}
	err := st.d.Read(ctx, tenant, func() []Query { return append([]Query{read(numbers)}, checks...) })
	if err == nil && slices.Contains(held, false) {
		err = driver.ErrSnapshotUnavailable
	}
	return err
}

// Version returns the version that the tenant's memory has now (M7). It reads a row.
func (st *Store) Version(ctx context.Context, tenant string) (driver.Version, error) {
	n, mark := int64(0), driver.FirstMark(st.d.Incarnation, tenant)
	var stored []byte
	err := st.d.Read(ctx, tenant, func() []Query {
		return []Query{One(st.d.Version, []any{st.d.Name(tenant)}, &n, &stored)}
	})
	if err == nil && copy(mark[:], stored) != len(stored) {
		err = st.d.Damaged(nil)
	}
	if err != nil {
		return "", err
	}
	return mark.Version(uint64(n)), nil
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (intact bool, err error) {
	err = st.readAt(ctx, s.Tenant, func(n []int64) Query {
		return One(st.d.Intact, []any{st.d.Name(s.Tenant), st.d.Name(s.Ref), n[0]}, &intact)
	}, v)
	return err == nil && intact, err
}

// Changes returns the ids of a scope that were touched by the mutations after the version from, up
// to and with the version to. It reads the journals of all of them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (changed driver.ChangeSet, err error) {
	var journals [][]byte
	err = st.readAt(ctx, s.Tenant, func(n []int64) Query {
		journals = nil
		return Query{st.d.Changes, []any{st.d.Name(s.Tenant), n[0], n[1]}, func(row Row) (bool, error) {
			var journal []byte
			err := row.Scan(&journal)
			journals = append(journals, journal)
			return true, err
		}}
	}, from, to)
	if err == nil {
		err = changed.Read(journals, s.Ref)
	}
	if err != nil {
		return driver.ChangeSet{}, err
	}
	return changed, nil
}
