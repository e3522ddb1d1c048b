package boltstore

import (
	"crypto/rand"
	"math"
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
	Lives             lives
}

// lives are the versions at which an entry was not retired: several times, if it was restored.
// An erased one keeps them.
type lives []life

// life is from a version to before another, which is forever as long as it goes on.
type life struct{ From, To uint64 }

const forever = math.MaxUint64

// include reports whether the entry was not retired at a version.
func (ls lives) include(version uint64) bool {
	return slices.ContainsFunc(ls, func(l life) bool { return l.From <= version && version < l.To })
}

// last is the life that goes on or, if none does, the one that ended last.
func (ls lives) last() *life { return &ls[len(ls)-1] }

func recordKey(l driver.Located) []byte { return key("record", l.Tenant, l.Ref, l.ID) }

func (r *record) age() []byte {
	return append(with(key("age", r.Tenant, r.Ref), millis(r.Entry.CreatedAt)), r.Entry.ID...)
}

// find returns a record, or nil if the scope has none of that id.
func (t *tx) find(l driver.Located) *record { return t.record(recordKey(l)) }

func (t *tx) record(k []byte) *record {
	r := new(record)
	if !t.load(k, r) {
		return nil
	}
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
		if r := t.find(l); r != nil {
			needs.Entries[l] = r.Record
		}
	}
	plan, err := needs.Plan(m)
	t.note(err)
	return plan
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

// change makes a version of a tenant by a plan, and does to entries what that says. An erased one
// leaves its id, its successor, and a gap for each life, by which a read of the scope as it was
// learns that something is missing.
func (t *tx) change(tenant string, plan *driver.Plan) driver.Version {
	a, mark := t.account(tenant), driver.Mark{}
	rand.Read(mark[:])
	a.Version++
	a.Used.Entries, a.Used.Bytes = a.Used.Entries+plan.Grows.Entries, a.Used.Bytes+plan.Grows.Bytes
	t.put(with(key("version", tenant), a.Version), append(mark[:], plan.Journal()...))
	t.save(key("tenant", tenant), a)
	for _, p := range plan.Insert {
		r := &record{Record: driver.Record{Scope: p.Scope, Entry: p.Entry}, Lives: lives{{a.Version, forever}}}
		r.Entry.CreatedAt, r.Entry.ExpiresAt = p.Entry.CreatedAt.UTC(), p.Entry.ExpiresAt.UTC()
		t.put(r.age(), recordKey(r.Located()))
		t.keep(r)
	}
	for _, x := range plan.Retire {
		r := t.find(x.Located)
		r.State, r.For, r.Lives.last().To = x.State, x.For, a.Version
		t.keep(r)
	}
	for _, l := range plan.Restore {
		r := t.find(l)
		r.State, r.For, r.Lives = driver.Live, "", append(r.Lives, life{a.Version, forever})
		t.keep(r)
	}
	for _, l := range plan.Erase {
		r := t.find(l)
		r.Lives.last().To = min(r.Lives.last().To, a.Version)
		for _, gap := range r.Lives {
			t.put(append(with(with(key("gap", l.Tenant), gap.To), gap.From), l.Ref...), nil)
		}
		t.remove(r.age())
		r.Entry, r.Erased = driver.Entry{ID: l.ID}, true
		t.keep(r)
	}
	return mark.Version(a.Version)
}

// version returns the n-th version of a tenant. It is empty if there is none, or none any more.
func (t *tx) version(tenant string, n uint64) driver.Version {
	mark := driver.FirstMark(t.st.incarnation, tenant)
	if n > 0 && copy(mark[:], t.Get(with(key("version", tenant), n))) == 0 {
		return ""
	}
	return mark.Version(n)
}

// number returns the number of a version that can be read, and the last one for none. The mark
// tells whether it is a version of this tenant, file and history: after a backup was restored,
// say, the same numbers are given to other versions.
func (t *tx) number(tenant string, v driver.Version) uint64 {
	a := t.account(tenant)
	if v == "" {
		return a.Version
	}
	n, _, _ := v.Parse() // what cannot be parsed is no version either
	if n < a.Horizon || v != t.version(tenant, n) {
		t.note(driver.ErrSnapshotUnavailable)
	}
	return n
}
