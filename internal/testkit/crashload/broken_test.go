package crashload

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// every is true once in so many calls.
type every struct {
	of    int64
	calls atomic.Int64
}

func (e *every) now() bool { return e.calls.Add(1)%e.of == 0 }

// brokenStore is a store that does as its functions do where they are set.
type brokenStore struct {
	*inmem.Store
	apply     func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error)
	remove    func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error)
	delivered func(ctx context.Context, recs []events.Record) error
	list      func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error)
	record    func(driver.Record) (driver.Record, bool)
	document  func(*driver.Document) bool // as it is yielded; false hides it
	due       func([]driver.Document) []driver.Document
	read      func([]events.RunEvent) []events.RunEvent
	mu        sync.Mutex
	keeps     map[docName]driver.Document // yielded in a walk over all, whether it is there or not
	hides     bool                        // what is undelivered, but not from a query for one run
}

func (b *brokenStore) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if b.apply != nil {
		return b.apply(ctx, tenant, m)
	}
	return b.Store.Apply(ctx, tenant, m)
}

func (b *brokenStore) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	if b.remove != nil {
		return b.remove(ctx, s, id, at)
	}
	return b.Store.Delete(ctx, s, id, at)
}

func (b *brokenStore) Delivered(ctx context.Context, recs []events.Record) error {
	if b.delivered != nil {
		return b.delivered(ctx, recs)
	}
	return b.Store.Delivered(ctx, recs)
}

func (b *brokenStore) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	if b.list != nil && q.Version != "" {
		return b.list(ctx, s, q)
	}
	return b.Store.List(ctx, s, q)
}

func (b *brokenStore) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		for rec, err := range b.Store.History(ctx, tenant, q) {
			there := true
			if b.record != nil {
				rec, there = b.record(rec)
			}
			if there && !yield(rec, err) {
				return
			}
		}
	}
}

func (b *brokenStore) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		seen := map[docName]bool{}
		for d, err := range b.Store.Documents(ctx, q) {
			seen[nameOf(&d)] = true
			if (b.document == nil || b.document(&d)) && !yield(d, err) {
				return
			}
		}
		if !q.EveryRef {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, d := range b.keeps {
			if name.Tenant == q.Tenant && !seen[name] && !yield(d, nil) {
				return
			}
		}
	}
}

func (b *brokenStore) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	list, err := b.Store.Due(ctx, kind, at, limit)
	if b.due != nil {
		list = b.due(list)
	}
	return list, err
}

func (b *brokenStore) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	evs, err := b.Store.Read(ctx, tenant, run, from, limit)
	if b.read != nil && from == 0 {
		evs = b.read(evs)
	}
	return evs, err
}

func (b *brokenStore) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	if b.hides && runID == "" {
		return func(func(events.Record, error) bool) {}
	}
	return b.Store.Undelivered(ctx, tenant, runID)
}

// ofClass is the swap of a document of a class that has a value, or nil.
func ofClass(m driver.Mutation, class driver.Class) *driver.DocumentSwap {
	for i, x := range m.Documents {
		if x.Class == class && x.Kind != countKind && x.Act == driver.Set {
			return &m.Documents[i]
		}
	}
	return nil
}

// isWhole reports whether a mutation has entries, documents, an event and something that ends.
func isWhole(m driver.Mutation) bool {
	return len(m.Put) > 1 && len(m.Retire) > 0 && len(m.Documents) > 1 && len(m.Events) > 0
}

// Every store here is broken in one way, which Verify finds.
func TestVerify_FindsAStoreThat(t *testing.T) {
	some := func(of int64) *every { return &every{of: of} }
	// apply gives a store another Apply, which may change a mutation. It answers as if it
	// had not.
	apply := func(b *brokenStore, f func(m *driver.Mutation) (before, after error)) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			all := m.Documents
			before, after := f(&m)
			if before != nil {
				return driver.Applied{}, before
			}
			made, err := b.Store.Apply(ctx, tenant, m)
			if err != nil {
				return made, err
			}
			for i := len(made.Revs); i < len(all); i++ { // none, or the last were left out
				made.Revs = append(made.Revs, all[i].Rev+1)
			}
			return made, after
		}
	}
	lost := errors.New("the connection was lost")

	kept := func(f func([]events.RunEvent) []events.RunEvent) func(*brokenStore) {
		return func(b *brokenStore) { b.read = f }
	}

	for _, c := range []struct {
		name  string
		wants string // a regular expression for one of the problems
		broke func(b *brokenStore)
	}{
		{"loses an acknowledged put", "missing: the entry|went back|told wrong", func(b *brokenStore) {
			loses := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Put) > 0 && loses.now() {
					*m = driver.Mutation{At: m.At}
				}
				return
			})
		}},
		{"loses what it had after a while", "missing: the entry", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				return rec, !strings.HasSuffix(rec.Entry.ID, "7_1")
			}
		}},
		{"changes what an entry says", "missing: the entry", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				rec.Entry.Content = strings.TrimSuffix(rec.Entry.Content, ".")
				return rec, true
			}
		}},
		{"loses the label of an entry", "missing: the entry", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				rec.Entry.Subjects = nil
				return rec, true
			}
		}},
		{"puts half of a batch", "missing: the entry", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if isWhole(*m) && halves.now() {
					m.Put, m.Retire = m.Put[:len(m.Put)/2], nil
				}
				return
			})
		}},
		{"puts half of a batch whose outcome is unknown", "missing: the entry", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if isWhole(*m) && halves.now() {
					m.Put, m.Retire = m.Put[:1], nil
					return nil, lost
				}
				return
			})
		}},
		{"puts a batch without what it ends", "missing: the entry .*(merged|superseded|deleted)", func(b *brokenStore) {
			halves := some(2)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Retire) > 0 && halves.now() {
					m.Retire = nil
				}
				return
			})
		}},
		{"restores nothing", "missing: the entry .* live", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Restore = nil
				return
			})
		}},
		{"erases nothing", "missing: the entry .* erased true", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Erase = nil
				return
			})
		}},
		{"puts a batch without its documents", "missing: the document", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isWhole(*m) && halves.now() {
					m.Documents, after = nil, lost
				}
				return
			})
		}},
		{"puts the documents of a batch without the rest", "missing: the entry|is there: the document", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isWhole(*m) && halves.now() {
					m.Put, m.Live, m.Retire, m.Restore, m.Erase, m.Events, after = nil, nil, nil, nil, nil, nil, lost
				}
				return
			})
		}},
		{"commits what it refused", "is there: the entry", func(b *brokenStore) {
			refuses := some(20)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if len(m.Put) > 0 && refuses.now() {
					after = driver.ErrConflict
				}
				return
			})
		}},
		{"acknowledges what it has to refuse", "has to refuse", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				if errors.Is(err, driver.ErrConflict) && slices.ContainsFunc(m.Documents, func(x driver.DocumentSwap) bool { return x.Rev == staleRev }) {
					return driver.Applied{Revs: make([]int64, len(m.Documents))}, nil
				}
				return made, err
			}
		}},
		{"delivers without having put", "missing: the entry|is there: the event", func(b *brokenStore) {
			fails := some(20)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isWhole(*m) && !m.Keep && fails.now() {
					*m, after = driver.Mutation{At: m.At, Events: m.Events}, lost
				}
				return
			})
		}},
		{"drops an event of a mutation", "missing: the event", func(b *brokenStore) {
			drops := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Events) > 0 && !m.Keep && drops.now() {
					m.Events = m.Events[1:]
				}
				return
			})
		}},
		{"emits an event under another id", "is there: the event", func(b *brokenStore) {
			doubles := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Events) > 0 && !m.Keep && doubles.now() {
					another := m.Events[0]
					another.ID += "x"
					m.Events = append(m.Events, another)
				}
				return
			})
		}},
		{"emits an event with another payload", "is there: the event", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Events = slices.Clone(m.Events)
				for i := range m.Events {
					if p, ok := m.Events[i].Payload.(events.MemoryWritten); ok {
						p.MemoryRef += "x"
						m.Events[i].Payload = p
					}
				}
				return
			})
		}},
		{"takes events for delivered that are not", "missing: the event", func(b *brokenStore) {
			b.delivered = func(ctx context.Context, recs []events.Record) error {
				pause(ctx, 2*breath) // in which others come
				for rec, err := range b.Undelivered(ctx, "", "") {
					if err != nil {
						return err
					}
					recs = append(recs, rec)
				}
				return b.Store.Delivered(ctx, recs)
			}
		}},
		{"loses a deletion", "missing: the entry .* deleted", func(b *brokenStore) {
			b.remove = func(context.Context, driver.Scope, string, time.Time) (bool, error) { return true, nil }
		}},
		{"tells wrong of a deletion", "told wrong", func(b *brokenStore) {
			b.remove = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				hit, err := b.Store.Delete(ctx, s, id, at)
				return !hit, err
			}
		}},
		{"deletes what no operation deleted", "is there: the entry .* deleted", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7_1") && rec.State == driver.Live {
					rec.State = driver.Deleted
				}
				return rec, true
			}
		}},
		{"erases what no operation erased", "is there: the entry .* erased true", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7_1") {
					rec.Entry, rec.Erased = driver.Entry{ID: rec.Entry.ID}, true
				}
				return rec, true
			}
		}},
		{"brings back what was erased", "missing: the entry .* erased true", func(b *brokenStore) {
			kept := map[string]driver.Record{}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				b.mu.Lock()
				for _, at := range m.Erase {
					before, _ := b.Store.Lookup(ctx, at.Scope, []string{at.ID})
					for _, rec := range before {
						kept[at.ID] = rec
					}
				}
				b.mu.Unlock()
				return b.Store.Apply(ctx, tenant, m)
			}
			b.record = func(rec driver.Record) (driver.Record, bool) {
				b.mu.Lock()
				defer b.mu.Unlock()
				if before, known := kept[rec.Entry.ID]; known && rec.Erased {
					return before, true
				}
				return rec, true
			}
		}},
		{"breaks a lineage", "missing: the entry .* merged", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				if rec.State == driver.Merged {
					rec.For += "x"
				}
				return rec, true
			}
		}},
		{"makes up an entry", "of no operation", func(b *brokenStore) {
			b.record = func(rec driver.Record) (driver.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7_1") {
					rec.Ref = "notes"
				}
				return rec, true
			}
		}},
		{"moves a view", "shows something else", func(b *brokenStore) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				q.Version = ""
				return b.Store.List(ctx, s, q)
			}
		}},
		{"forgets its versions", "not available any more", func(b *brokenStore) {
			b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
				if now, _ := b.Version(ctx, s.Tenant); q.Version != now {
					return nil, driver.ErrSnapshotUnavailable
				}
				return b.Store.List(ctx, s, q)
			}
		}},
		{"forgets a swap", "missing: the document|has to refuse|went back", func(b *brokenStore) {
			forgets := some(30)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if x := ofClass(*m, driver.Machinery); x != nil && x.Rev > 0 && forgets.now() {
					m.Documents = nil
				}
				return
			})
		}},
		{"lets two win a swap", "operations were counted", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Documents = slices.Clone(m.Documents)
				for i, x := range m.Documents {
					if x.Kind == countKind && x.Rev > 0 {
						now, _, _ := countsOf(t.Context(), b.Store, x.Tenant)
						m.Documents[i].Rev = now.Rev
					}
				}
				return
			})
			b.document = func(d *driver.Document) bool {
				if d.Kind == countKind {
					time.Sleep(time.Millisecond) // in which another one reads it
				}
				return true
			}
		}},
		{"counts what it refused", "operations were counted", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				if i := len(m.Documents) - 1; errors.Is(err, driver.ErrConflict) && m.Documents[i].Kind == countKind {
					_, _ = b.Store.Apply(ctx, tenant, driver.Mutation{Documents: m.Documents[i:]})
				}
				return made, err
			}
		}},
		{"forgets what is due", "missing: .* falls due", func(b *brokenStore) {
			b.due = func(list []driver.Document) []driver.Document {
				return slices.DeleteFunc(list, func(d driver.Document) bool { return d.Due.UnixMilli()%3 == 0 })
			}
		}},
		{"keeps no instant at which a document is due", "missing: the document", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				if d.Rev%3 == 0 {
					d.Due = time.Time{}
				}
				return true
			}
		}},
		{"garbles a document", "missing: the document", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				if d.Class == driver.Content {
					d.Value = bytes.ToUpper(d.Value)
				}
				return true
			}
		}},
		{"loses a document after a while", "missing: the document", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { return d.Class != driver.Content || d.Rev%7 != 0 }
		}},
		{"answers with too few revisions", "revisions for", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				if isWhole(m) {
					made.Revs = nil
				}
				return made, err
			}
		}},
		{"writes into a document what no operation wrote", "missing: the document", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if x := ofClass(*m, driver.HostText); x != nil {
					m.Documents = slices.Clone(m.Documents)
					ofClass(*m, driver.HostText).Value = []byte("x")
				}
				return
			})
		}},
		{"loses the label of a document", "missing: the document", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { d.Subjects = nil; return true }
		}},
		{"makes up a document", "of no operation", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { d.Key = strings.TrimPrefix(d.Key, "lane-1"); return true }
		}},
		{"keeps content of an entry that is erased", "is there: the document load/content", func(b *brokenStore) {
			b.keeps = map[docName]driver.Document{}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				b.mu.Lock()
				defer b.mu.Unlock()
				for i, x := range m.Documents {
					if x.Class == driver.Content && x.Act == driver.Set && err == nil {
						x.Rev = made.Revs[i]
						b.keeps[nameOf(&x.Document)] = x.Document
					}
				}
				return made, err
			}
		}},
		{"uses a revision twice", "revision of a document went back", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				for i := range made.Revs { // of a document that was there
					if x := &m.Documents[i]; x.Act == driver.Set && x.Rev != 0 {
						made.Revs[i] = x.Rev
					}
				}
				return made, err
			}
		}},
		{"gives a document another revision later", "another revision than", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { d.Rev += 1000 * d.Rev; return true }
		}},
		{"loses the first kept event", "missing: the kept event", kept(func(evs []events.RunEvent) []events.RunEvent {
			return evs[min(1, len(evs)):]
		})},
		{"ends its kept events early", "missing: the kept event", kept(func(evs []events.RunEvent) []events.RunEvent { return nil })},
		{"changes the id of a kept event", "missing: the kept event", kept(func(evs []events.RunEvent) []events.RunEvent {
			for i := range evs {
				evs[i].ID += "x"
			}
			return evs
		})},
		{"changes the order of kept events", "missing: the kept event", kept(func(evs []events.RunEvent) []events.RunEvent {
			if len(evs) > 5 {
				evs[0].Record, evs[5].Record = evs[5].Record, evs[0].Record
			}
			return evs
		})},
		{"gives two kept events each other's sequence later", "not what they were", func(b *brokenStore) {
			reads := some(20)
			b.read = func(evs []events.RunEvent) []events.RunEvent {
				if reads.now(); reads.calls.Load() < reads.of {
					return evs
				}
				alone := func(i int) bool { return strings.HasSuffix(evs[i].ID, "_0") }
				for i := range max(0, len(evs)-2) {
					if alone(i) && alone(i+1) && alone(i+2) && laneOf(evs[i].ID) != laneOf(evs[i+1].ID) {
						evs[i].Record, evs[i+1].Record = evs[i+1].Record, evs[i].Record
						break
					}
				}
				return evs
			}
		}},
		{"doubles a kept event", "is there: the kept event", kept(func(evs []events.RunEvent) []events.RunEvent {
			if len(evs) > 1 {
				evs[1].Record = evs[0].Record
			}
			return evs
		})},
		{"leaves a gap between sequences", "is there: the kept event .* off by 1", kept(func(evs []events.RunEvent) []events.RunEvent {
			for i := range evs {
				evs[i].Sequence++
			}
			return evs
		})},
		{"tears the kept events of a mutation", "missing: the kept event", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if m.Keep {
					m.Events = m.Events[:1]
				}
				return
			})
		}},
		{"keeps the events of what it did not put", "missing: the entry", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if m.Keep && len(m.Put) > 0 {
					*m = driver.Mutation{At: m.At, Documents: m.Documents, Events: m.Events, Keep: true}
				}
				return
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wanted := regexp.MustCompile(c.wants)
			var log *Log
			var store *brokenStore
			var last error
			for try := range 36 {
				if try%12 == 0 { // what the last store was left with may not meet its fault any more
					log, store = newLog(t, uint64(1+try)), &brokenStore{Store: inmem.New()}
					c.broke(store)
				}
				loadFor(t, log, store, 150)
				_, err := log.Verify(t.Context(), store)
				if err == nil {
					continue // nothing broke yet
				}
				var broken *Broken
				require.ErrorAs(t, err, &broken)
				if slices.ContainsFunc(broken.Problems, wanted.MatchString) {
					return
				}
				last = err
			}
			t.Fatal("not found; found was:", last)
		})
	}
}
