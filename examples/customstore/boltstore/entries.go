package boltstore

import (
	"crypto/rand"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 3. An entry never changes, but much becomes of it: it is retired, restored, erased. Each
// mutation makes a version of its tenant, a number with a random mark. To read at one is to compare
// the number with the lives of each entry (VIEW).

// record is what the store keeps of an entry. An entry that has ended is marked, and stays:
// its id is used, and a view may show it. What only steps 2 and 3 read is written from
// the first day on, as no later one could find it out.
type record struct {
	driver.Record
	RunID             string // these three the JSON of an entry, which is the protocol's, leaves out
	Subjects, Sources []string
	// Lives are the versions at which the entry was not retired: several, if it was restored.
	Lives []life
}

// life is from a version to before another, which is 0 as long as it goes on.
type life struct{ From, To uint64 }

// lived reports whether the entry was not retired at a version.
func (r *record) lived(version uint64) bool {
	return slices.ContainsFunc(r.Lives, func(l life) bool { return l.From <= version && (l.To == 0 || version < l.To) })
}

func (r *record) key() []byte { return key("record", r.Tenant, r.Ref, r.Entry.ID) }

func (r *record) age() []byte {
	return append(with(key("age", r.Tenant, r.Ref), millis(r.Entry.CreatedAt)), r.Entry.ID...)
}

// find returns a record, or nil if the scope has none of that id.
func (t *tx) find(s driver.Scope, id string) *record {
	return t.record(t.Get(key("record", s.Tenant, s.Ref, id)))
}

func (t *tx) record(data []byte) *record {
	if data == nil {
		return nil
	}
	r := new(record)
	if t.read(data, r); t.err != nil { // of a damaged file nothing is believed
		return &record{Lives: []life{{}}}
	}
	r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources = r.RunID, r.Subjects, r.Sources
	return r
}

func (t *tx) keep(r *record) {
	r.RunID, r.Subjects, r.Sources = r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources
	t.save(r.key(), r)
}

// insert makes e an entry of a scope, which has none of its id.
func (t *tx) insert(version uint64, p *driver.Placed) {
	e := p.Entry
	e.CreatedAt, e.ExpiresAt = e.CreatedAt.UTC(), e.ExpiresAt.UTC()
	r := &record{Record: driver.Record{Scope: p.Scope, Entry: e}, Lives: []life{{From: version}}}
	t.put(r.age(), r.key())
	t.keep(r)
}

// retire ends the life of an entry, in favour of another one if x names one.
func (t *tx) retire(version uint64, x *driver.Retirement) {
	r := t.find(x.Scope, x.ID)
	r.State, r.For = x.State, x.For
	r.Lives[len(r.Lives)-1].To = version
	t.keep(r)
}

// account is what the store keeps of a tenant as such, even after it was dropped.
type account struct {
	Version uint64 // of the last mutation
	Horizon uint64 // older versions are unavailable
	Used    driver.Limits
}

func (t *tx) account(tenant string) (a account) {
	t.load(key("tenant", tenant), &a)
	return a
}

// change makes a version of a tenant by a plan, which commit carries out.
func (t *tx) change(tenant string, plan *driver.Plan, commit func(version uint64)) driver.Version {
	a, mark := t.account(tenant), driver.Mark{}
	rand.Read(mark[:])
	a.Version++
	a.Used.Entries, a.Used.Bytes = a.Used.Entries+plan.Grows.Entries, a.Used.Bytes+plan.Grows.Bytes
	t.put(with(key("version", tenant), a.Version), append(mark[:], plan.Journal()...))
	t.save(key("tenant", tenant), a)
	commit(a.Version)
	return mark.Version(a.Version)
}

// mark returns the mark of a version: none if there is no such version, or none any more.
func (t *tx) mark(incarnation, tenant string, n uint64) (m driver.Mark, held bool) {
	if n == 0 {
		return driver.FirstMark(incarnation, tenant), true
	}
	return m, copy(m[:], t.Get(with(key("version", tenant), n))) > 0
}

// number returns the number of a version that can be read, and the last one for none. The mark
// tells whether it is a version of this tenant, file and history: after a backup was restored,
// say, the same numbers are given to other versions.
func (st *Store) number(t *tx, tenant string, v driver.Version) (uint64, error) {
	a := t.account(tenant)
	if v == "" {
		return a.Version, nil
	}
	n, mark, err := v.Parse()
	if err != nil {
		return 0, err
	}
	if own, held := t.mark(st.incarnation, tenant, n); !held || own != mark || n < a.Horizon {
		return 0, driver.ErrSnapshotUnavailable
	}
	return n, nil
}
