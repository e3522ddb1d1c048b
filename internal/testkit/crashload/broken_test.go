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

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
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
	remove    func(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error)
	delivered func(ctx context.Context, recs []events.Record) error
	list      func(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error)
	record    func(memory.Record) (memory.Record, bool)
	document  func(*driver.Document) bool // as it is yielded; false hides it
	due       func([]driver.Document) []driver.Document
	blind     bool // finds no document by its subject
	mu        sync.Mutex
	keeps     map[docName]driver.Document // yielded in a walk over all, whether it is there or not
	hides     atomic.Bool                 // what is undelivered, but not from a query for one run
}

func (b *brokenStore) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if b.apply != nil {
		return b.apply(ctx, tenant, m)
	}
	return b.Store.Apply(ctx, tenant, m)
}

func (b *brokenStore) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
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

func (b *brokenStore) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	if b.list != nil && q.Version != "" {
		return b.list(ctx, s, q)
	}
	return b.Store.List(ctx, s, q)
}

func (b *brokenStore) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
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
		if b.blind && q.Subject != "" {
			return
		}
		seen := map[docName]bool{}
		for d, err := range b.Store.Documents(ctx, q) {
			seen[nameOf(&d)] = true
			if (b.document == nil || b.document(&d)) && !yield(d, err) {
				return
			}
		}
		if !q.EveryRef || q.Kind+q.Subject != "" {
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

func (b *brokenStore) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	if b.hides.Load() && runID == "" {
		return func(func(events.Record, error) bool) {}
	}
	return b.Store.Undelivered(ctx, tenant, runID)
}

// isBatch tells the batches of the load from what else puts.
func isBatch(m driver.Mutation) bool { return swapOf(m, countKind) != nil }

// swapOf returns the swap of a document of that kind, or nil.
func swapOf(m driver.Mutation, kind string) *driver.DocumentSwap {
	i := slices.IndexFunc(m.Documents, func(x driver.DocumentSwap) bool { return x.Kind == kind })
	if i < 0 {
		return nil
	}
	return &m.Documents[i]
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

	for _, c := range []struct {
		name  string
		wants string // a regular expression for one of the problems
		broke func(b *brokenStore)
	}{
		{"loses an acknowledged put", "half of it is lost", func(b *brokenStore) {
			loses := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Put) == 1 && loses.now() {
					*m = driver.Mutation{At: m.At}
				}
				return
			})
		}},
		{"loses what it had after a while", "half of it is lost", func(b *brokenStore) {
			b.record = func(rec memory.Record) (memory.Record, bool) {
				return rec, !strings.HasSuffix(rec.Entry.ID, "7")
			}
		}},
		{"changes what an entry says", "says something else now", func(b *brokenStore) {
			b.record = func(rec memory.Record) (memory.Record, bool) {
				rec.Entry.Content = strings.TrimSuffix(rec.Entry.Content, ".")
				return rec, true
			}
		}},
		{"puts half of a batch", "half of it is lost", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if isBatch(*m) && halves.now() {
					m.Put = m.Put[:len(m.Put)/2]
					m.Retire = nil
				}
				return
			})
		}},
		{"puts half of a batch whose outcome is unknown", "half of it is lost", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if isBatch(*m) && halves.now() {
					m.Put, m.Retire = m.Put[:1], nil
					return nil, lost
				}
				return
			})
		}},
		{"puts a batch without its merges", "half of it is lost", func(b *brokenStore) {
			halves := some(2)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if isBatch(*m) && len(m.Retire) > 0 && halves.now() {
					m.Retire = nil
				}
				return
			})
		}},
		{"puts a batch without its documents", "half of it is lost", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isBatch(*m) && halves.now() {
					m.Documents, after = nil, lost
				}
				return
			})
		}},
		{"puts a batch without its content", "half of it is lost", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isBatch(*m) && halves.now() {
					m.Documents, after = m.Documents[:len(m.Documents)-1], lost
				}
				return
			})
		}},
		{"puts the documents of a batch without the rest", "is not what was swapped in", func(b *brokenStore) {
			halves := some(4)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if isBatch(*m) && halves.now() {
					m.Put, m.Live, m.Retire, m.Events = nil, nil, nil, nil
					m.Documents, after = m.Documents[:len(m.Documents)-1], lost
				}
				return
			})
		}},
		{"commits what it refused", "although it was refused", func(b *brokenStore) {
			refuses := some(20)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if len(m.Put) > 0 && refuses.now() {
					after = memory.ErrConflict
				}
				return
			})
		}},
		{"delivers without having put", "half of it is lost", func(b *brokenStore) {
			fails := some(20)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if len(m.Put) == 1 && fails.now() {
					*m = driver.Mutation{At: m.At, Events: m.Events}
					after = lost
				}
				return
			})
		}},
		{"drops an event of a mutation", "an event of it is lost", func(b *brokenStore) {
			drops := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Events) > 0 && drops.now() {
					m.Events = m.Events[1:]
				}
				return
			})
		}},
		{"drops the event of a firing", "an event of it is lost", func(b *brokenStore) {
			drops := some(4)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Put) == 0 && len(m.Events) == 1 && m.Events[0].Payload.EventType() == events.TypeCommitmentFired && drops.now() {
					m.Events = nil
				}
				return
			})
		}},
		{"drops the event of a pass", "an event of it is lost", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Events = slices.DeleteFunc(m.Events, func(r events.Record) bool {
					return strings.HasPrefix(r.ID, "consolidated_")
				})
				return
			})
		}},
		{"emits an event under another id", "tells of what no operation did", func(b *brokenStore) {
			doubles := some(20)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if len(m.Put) == 1 && len(m.Events) == 1 && doubles.now() {
					again := m.Events[0]
					again.ID += "x"
					m.Events = append(m.Events, again)
				}
				return
			})
		}},
		{"takes events for delivered that are not", "an event of it is lost", func(b *brokenStore) {
			b.delivered = func(ctx context.Context, recs []events.Record) error {
				for rec, err := range b.Undelivered(ctx, "", "") {
					if err != nil {
						return err
					}
					recs = append(recs, rec)
				}
				return b.Store.Delivered(ctx, recs)
			}
		}},
		{"loses a deletion", "an entry is live that it ended", func(b *brokenStore) {
			loses := some(1)
			b.remove = func(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
				if loses.now() {
					return true, nil
				}
				return b.Store.Delete(ctx, s, id, at)
			}
		}},
		{"deletes what nobody deleted", "by no operation", func(b *brokenStore) {
			b.record = func(rec memory.Record) (memory.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7") && rec.State == memory.Live {
					rec.State = memory.Deleted
				}
				return rec, true
			}
		}},
		{"erases what nobody forgot", "its entry is erased, and by no operation", func(b *brokenStore) {
			b.record = func(rec memory.Record) (memory.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7") && len(rec.Entry.Subjects) == 0 {
					rec.Entry, rec.Erased = memory.Entry{ID: rec.Entry.ID}, true
				}
				return rec, true
			}
		}},
		{"brings back what was forgotten", "an entry is there that it erased", func(b *brokenStore) {
			var mu sync.Mutex
			kept := map[string]memory.Record{}
			b.record = func(rec memory.Record) (memory.Record, bool) {
				mu.Lock()
				defer mu.Unlock()
				if old, known := kept[rec.Entry.ID]; known && rec.Erased {
					return old, true
				}
				kept[rec.Entry.ID] = rec
				return rec, true
			}
		}},
		{"breaks a lineage", "in favour of one that is not there", func(b *brokenStore) {
			b.record = func(rec memory.Record) (memory.Record, bool) {
				if rec.State == memory.Merged {
					rec.For += "x"
				}
				return rec, true
			}
		}},
		{"moves a view", "its version shows something else", func(b *brokenStore) {
			b.list = func(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
				q.Version = ""
				return b.Store.List(ctx, s, q)
			}
		}},
		{"forgets its versions", "not available any more", func(b *brokenStore) {
			b.list = func(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
				if now, _ := b.Version(ctx, s.Tenant); q.Version != now {
					return nil, memory.ErrSnapshotUnavailable
				}
				return b.Store.List(ctx, s, q)
			}
		}},
		{"forgets a swap", "it won the revision that", func(b *brokenStore) {
			forgets := some(30)
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if x := swapOf(*m, commitmentKind); x != nil && x.Rev > 0 && x.Act == driver.Set && forgets.now() {
					m.Documents = nil
				}
				return
			})
		}},
		{"forgets a claim and fires twice", "claimed twice under one fence", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				x := swapOf(*m, commitmentKind)
				if x != nil && x.Act == driver.Set && strings.Contains(string(x.Value), `"state":"claimed"`) && len(m.Events) == 0 {
					m.Documents = nil
				}
				return
			})
		}},
		{"lets two win a claim", "claimed twice", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				if !errors.Is(err, memory.ErrConflict) || swapOf(m, commitmentKind) == nil {
					return made, err
				}
				x := *swapOf(m, commitmentKind)
				for d := range b.Store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, Kind: x.Kind, Key: x.Key, Bare: true}) {
					x.Rev = d.Rev
				}
				return b.Store.Apply(ctx, tenant, driver.Mutation{At: m.At, Documents: []driver.DocumentSwap{x}})
			}
		}},
		{"forgets what is due", "never falls due", func(b *brokenStore) {
			b.due = func(list []driver.Document) []driver.Document {
				return slices.DeleteFunc(list, func(d driver.Document) bool { return d.Due.UnixMilli()%3 == 0 })
			}
		}},
		{"keeps no instant at which a commitment is due", "waits and never falls due", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				if d.Kind == commitmentKind && d.Rev%3 == 0 {
					d.Due = time.Time{}
				}
				return true
			}
		}},
		{"counts firings that were none", "firings, and", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				d.Value = bytes.Replace(d.Value, []byte(`"fired":1,`), []byte(`"fired":2,`), 1)
				return true
			}
		}},
		{"garbles a commitment", "cannot be read", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				if d.Kind == commitmentKind && d.Rev%7 == 0 {
					d.Value = d.Value[1:]
				}
				return true
			}
		}},
		{"loses a document after a while", "acknowledged document is not there", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { return d.Kind != contentKind || d.Rev%7 != 0 }
		}},
		{"answers with too few revisions", "revisions for", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				if isBatch(m) {
					made.Revs = nil
				}
				return made, err
			}
		}},
		{"loses a version of a file", "swap of a document is lost", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if x := swapOf(*m, fileKind); x != nil && x.Act == driver.Set && x.Rev > 0 {
					m.Documents = nil
				}
				return
			})
		}},
		{"writes into a file what nobody wrote", "is not what was swapped in", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if x := swapOf(*m, fileKind); x != nil && x.Act == driver.Set {
					m.Documents = slices.Clone(m.Documents)
					swapOf(*m, fileKind).Value = []byte(`{"Version":7}`)
				}
				return
			})
		}},
		{"loses the label of a file", "is not what was swapped in", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { d.Subjects = nil; return true }
		}},
		{"makes up a document", "a document is there that no operation wrote", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { d.Key = strings.TrimSuffix(d.Key, "7"); return true }
		}},
		{"loses the events of files", "an event of it is lost", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				if swapOf(*m, fileKind) != nil {
					m.Events = nil
				}
				return
			})
		}},
		// Whoever tries again, as the acknowledgement was lost, tells of that version a second time.
		{"tells of a file without having written it", "a document of it is not there|a version of a file has two events", func(b *brokenStore) {
			fails := some(3)
			apply(b, func(m *driver.Mutation) (_, after error) {
				if x := swapOf(*m, fileKind); x != nil && x.Act == driver.Set && x.Rev > 0 && fails.now() {
					m.Documents, after = nil, lost
				}
				return
			})
		}},
		{"loses the events of the index", "an event of it is lost", func(b *brokenStore) {
			apply(b, func(m *driver.Mutation) (_, _ error) {
				m.Events = slices.DeleteFunc(m.Events, func(r events.Record) bool {
					p, ok := r.Payload.(events.WorkspaceUpdated)
					return ok && p.Path == distill.IndexPath
				})
				return
			})
		}},
		{"garbles an archive", "does not load", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool {
				if d.Class == driver.Content && d.Kind != contentKind && d.Rev%2 == 0 {
					d.Value = bytes.Replace(d.Value, []byte("prefers"), []byte("refuses"), 1)
				}
				return true
			}
		}},
		{"loses an archive", "does not load", func(b *brokenStore) {
			b.document = func(d *driver.Document) bool { return d.Class != driver.Content || d.Kind == contentKind }
		}},
		{"keeps content of an entry that is erased", "the entry is not that it was made of", func(b *brokenStore) {
			b.keeps = map[docName]driver.Document{}
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				b.mu.Lock()
				defer b.mu.Unlock()
				for i, x := range m.Documents {
					if x.Kind == contentKind && err == nil {
						x.Rev = made.Revs[i]
						b.keeps[nameOf(&x.Document)] = x.Document
					}
				}
				return made, err
			}
		}},
		{"keeps a file whose subject was forgotten", "its subject was forgotten", func(b *brokenStore) { b.blind = true }},
		{"uses a revision again", "revision of its document went back", func(b *brokenStore) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				made, err := b.Store.Apply(ctx, tenant, m)
				for i := range made.Revs {
					if m.Documents[i].Kind == countKind && made.Revs[i] > 0 {
						made.Revs[i] = 1
					}
				}
				return made, err
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wanted := regexp.MustCompile(c.wants)
			var log *Log
			var store *brokenStore
			var last error
			for try := range 36 {
				if try%12 == 0 { // what the last store was left with may not meet its fault any more
					log, store = newLog(t, uint64(1+try)), &brokenStore{Store: inmem.New()}
					c.broke(store)
				}
				loadFor(t, log, store, 300)
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
