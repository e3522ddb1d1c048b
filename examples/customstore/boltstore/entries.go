package boltstore

import (
	"crypto/rand"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 2. An entry never changes, but much becomes of it: it is retired, restored, erased. Each
// mutation makes a version of its tenant, a number with a random mark. To read at one is to compare
// the number with the lives of each entry (VIEW).

// record is what the store keeps of an entry. An entry that has ended is marked, and stays:
// its id is used, and a view may show it. What only steps 2 and 3 read is written from
// the first day on, as no later one could find it out.
type record struct {
	driver.Record
	RunID             string // these three the JSON of an entry, which is the protocol's, leaves out
	Subjects, Sources []string
	Lives             lives
}

// lives are the versions at which an entry was put, retired, restored, retired, and so on. Erasing a
// live one retires it too.
type lives []uint64

// include reports whether the entry was live at a version: whether the number of those that are not
// above it is odd.
func (ls lives) include(version uint64) bool {
	n, _ := slices.BinarySearch(ls, version+1)
	return n%2 == 1
}

func recordKey(l driver.Located) []byte { return key("record", l.Tenant, l.Ref, l.ID) }

func (r *record) age() []byte {
	return append(with(key("age", r.Tenant, r.Ref), millis(r.Entry.CreatedAt)), r.Entry.ID...)
}

// find returns a record, which has no id if the scope has none of that id.
func (t *tx) find(l driver.Located) *record { return t.record(recordKey(l)) }

func (t *tx) record(k []byte) *record {
	r := new(record)
	t.load(k, r)
	r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources = r.RunID, r.Subjects, r.Sources
	return r
}

func (t *tx) keep(r *record) {
	r.RunID, r.Subjects, r.Sources = r.Entry.RunID, r.Entry.Subjects, r.Entry.Sources
	t.save(recordKey(r.Located()), r)
}

// plan judges a mutation, whose needs it completes by the entries that are there.
func (t *tx) plan(m *driver.Mutation, needs driver.Stored) driver.Plan {
	for l := range needs.Entries {
		needs.Entries[l] = t.find(l).Record
	}
	plan, err := needs.Plan(m)
	t.note(err)
	return plan
}

// account is what the store keeps of a tenant as such, even after it was dropped.
type account struct {
	Version uint64 // the number of mutations
	Mark    driver.Mark
	Used    driver.Limits
}

func (t *tx) account(tenant string) account {
	a := account{Mark: driver.FirstMark(string(t.Get(meta)), tenant)}
	t.load(key("tenant", tenant), &a)
	return a
}

func (a account) version() driver.Version { return a.Mark.Version(a.Version) }

// change makes a version of a tenant by a plan, and does to entries what that says. An erased one
// leaves its id, its successor, and a gap, by which a read of the scope as it was learns that
// something is missing.
func (t *tx) change(tenant string, plan *driver.Plan) driver.Version {
	a := t.account(tenant)
	t.put(append(with(key("version", tenant), a.Version), a.Mark[:]...), plan.Journal())
	a.Version++
	rand.Read(a.Mark[:])
	a.Used.Entries, a.Used.Bytes = a.Used.Entries+plan.Grows.Entries, a.Used.Bytes+plan.Grows.Bytes
	t.save(key("tenant", tenant), a)
	for _, p := range plan.Insert {
		r := &record{Record: driver.Record{Scope: p.Scope, Entry: p.Entry}, Lives: lives{a.Version}}
		r.Entry.CreatedAt, r.Entry.ExpiresAt = p.Entry.CreatedAt.UTC(), p.Entry.ExpiresAt.UTC()
		t.put(r.age(), recordKey(r.Located()))
		t.keep(r)
	}
	for _, x := range plan.Retire {
		r := t.find(x.Located)
		r.State, r.For, r.Lives = x.State, x.For, append(r.Lives, a.Version)
		t.keep(r)
	}
	for _, l := range plan.Restore {
		r := t.find(l)
		r.State, r.For, r.Lives = driver.Live, "", append(r.Lives, a.Version)
		t.keep(r)
	}
	for _, l := range plan.Erase {
		r := t.find(l)
		t.remove(r.age())
		if r.Entry, r.Erased = (driver.Entry{ID: l.ID}), true; r.State == driver.Live {
			r.Lives = append(r.Lives, a.Version)
		}
		t.keep(r)
		t.save(append(with(key("gap", l.Tenant), slices.Max(r.Lives)), key(l.Ref, l.ID)...), r)
	}
	return a.version()
}

// number returns the number of a version that can be read, and the last one for none. The mark
// tells whether it is a version of this tenant, file and history: after a backup was restored,
// say, the same numbers are given to other versions.
func (t *tx) number(tenant string, v driver.Version) uint64 {
	a := t.account(tenant)
	if v == "" || v == a.version() {
		return a.Version
	}
	n, mark, _ := v.Parse() // what cannot be parsed is no version either
	if t.Get(append(with(key("version", tenant), n), mark[:]...)) == nil {
		t.note(driver.ErrSnapshotUnavailable)
	}
	return n
}
