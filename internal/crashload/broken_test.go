package crashload

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// every is true once in so many calls.
type every struct {
	of    int64
	calls atomic.Int64
}

func (e *every) now() bool { return e.calls.Add(1)%e.of == 0 }

// brokenMemory is a store that does as its functions do where they are set.
type brokenMemory struct {
	*inmem.Store
	apply     func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error)
	remove    func(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error)
	delivered func(ctx context.Context, recs []events.Record) error
	listAt    func(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error)
	record    func(memory.Record) (memory.Record, bool)
	hides     atomic.Bool // what is undelivered, but not from a query for one run
}

func (b *brokenMemory) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	if b.apply != nil {
		return b.apply(ctx, tenant, m)
	}
	return b.Store.Apply(ctx, tenant, m)
}

func (b *brokenMemory) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	if b.remove != nil {
		return b.remove(ctx, s, id, at)
	}
	return b.Store.Delete(ctx, s, id, at)
}

func (b *brokenMemory) Delivered(ctx context.Context, recs []events.Record) error {
	if b.delivered != nil {
		return b.delivered(ctx, recs)
	}
	return b.Store.Delivered(ctx, recs)
}

func (b *brokenMemory) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	if b.listAt != nil {
		return b.listAt(ctx, s, v, q)
	}
	return b.Store.ListAt(ctx, s, v, q)
}

func (b *brokenMemory) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	if b.record == nil {
		return b.Store.History(ctx, tenant, q)
	}
	return func(yield func(memory.Record, error) bool) {
		for rec, err := range b.Store.History(ctx, tenant, q) {
			if rec, there := b.record(rec); there && !yield(rec, err) {
				return
			}
		}
	}
}

func (b *brokenMemory) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	if b.hides.Load() && q.RunID == "" {
		return nil, nil
	}
	return b.Store.Undelivered(ctx, q)
}

// isBatch tells the batches of the load from what else puts.
func isBatch(m memory.Mutation) bool {
	return len(m.Cells) == 1 && m.Cells[0].Name == countCell
}

type brokenCommitments struct {
	*commitment.InMemory
	swap func(ctx context.Context, c commitment.Commitment) (int64, error)
	due  func([]commitment.Commitment) []commitment.Commitment
	get  func(commitment.Commitment) commitment.Commitment
}

func (b *brokenCommitments) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	if b.swap != nil {
		return b.swap(ctx, c)
	}
	return b.InMemory.Swap(ctx, c)
}

func (b *brokenCommitments) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	list, err := b.InMemory.Due(ctx, now, limit)
	if b.due != nil {
		list = b.due(list)
	}
	return list, err
}

func (b *brokenCommitments) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	return func(yield func(commitment.Commitment, error) bool) {
		for c, err := range b.InMemory.OfTenant(ctx, tenant, predicate) {
			if b.get != nil && predicate == "" {
				c = b.get(c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

type brokenArchives struct {
	*distill.MemoryStore
	loses every
}

func (b *brokenArchives) Keep(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
	if b.loses.now() {
		return distill.DigestOf(data), nil
	}
	return b.MemoryStore.Keep(ctx, s, key, data, at)
}

type brokenWorkspace struct {
	*distill.MemoryWorkspace
	write func(ctx context.Context, w distill.Write) (distill.File, error)
}

func (b *brokenWorkspace) WriteFile(ctx context.Context, w distill.Write) (distill.File, error) {
	return b.write(ctx, w)
}

// Every store here is broken in one way, which Verify finds.
func TestVerify_FindsAStoreThat(t *testing.T) {
	type parts struct {
		log         *Log
		memory      *brokenMemory
		commitments *brokenCommitments
		stores      *Stores
	}
	some := func(of int64) *every { return &every{of: of} }
	// apply gives a store another Apply, which may change a mutation.
	apply := func(p parts, f func(m *memory.Mutation) (before, after error)) {
		p.memory.apply = func(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
			before, after := f(&m)
			if before != nil {
				return "", before
			}
			v, err := p.memory.Store.Apply(ctx, tenant, m)
			if err == nil {
				err = after
			}
			return v, err
		}
	}
	lost := errors.New("the connection was lost")

	for _, c := range []struct {
		name  string
		wants string
		broke func(p parts)
	}{
		{"loses an acknowledged put", "acknowledged entries are not there", func(p parts) {
			loses := some(20)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if len(m.Put) == 1 && loses.now() {
					*m = memory.Mutation{At: m.At}
				}
				return
			})
		}},
		{"loses what it had after a while", "acknowledged entries are not there", func(p parts) {
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				return rec, !strings.HasSuffix(rec.Entry.ID, "7")
			}
		}},
		{"changes what an entry says", "say something else now", func(p parts) {
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				rec.Entry.Content = strings.TrimSuffix(rec.Entry.Content, "7")
				return rec, true
			}
		}},
		{"puts half of a batch", "half a batch", func(p parts) {
			halves := some(4)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if isBatch(*m) && halves.now() {
					m.Put = m.Put[:len(m.Put)/2]
					m.Retire = nil
				}
				return
			})
		}},
		{"puts half of a batch whose outcome is unknown", "half a batch", func(p parts) {
			halves := some(4)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if len(m.Put) > 1 && len(m.Cells) == 0 && halves.now() {
					m.Put = m.Put[:1]
					return nil, lost
				}
				return
			})
		}},
		{"puts a batch without its merges", "half a batch", func(p parts) {
			halves := some(2)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if isBatch(*m) && len(m.Retire) > 0 && halves.now() {
					m.Retire = nil
				}
				return
			})
		}},
		{"puts a batch without its cell", "half a batch", func(p parts) {
			halves := some(4)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if isBatch(*m) && halves.now() {
					m.Cells = nil
				}
				return
			})
		}},
		{"commits what it refused", "although it was refused", func(p parts) {
			refuses := some(20)
			apply(p, func(m *memory.Mutation) (_, after error) {
				if len(m.Put) > 0 && refuses.now() {
					after = memory.ErrConflict
				}
				return
			})
		}},
		{"delivers without having put", "tells of an entry that is not there", func(p parts) {
			fails := some(20)
			apply(p, func(m *memory.Mutation) (_, after error) {
				if len(m.Put) == 1 && fails.now() {
					*m = memory.Mutation{At: m.At, Events: m.Events}
					after = lost
				}
				return
			})
		}},
		{"drops an event of a mutation", "an event of it is lost", func(p parts) {
			drops := some(20)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if len(m.Events) > 0 && drops.now() {
					m.Events = m.Events[1:]
				}
				return
			})
		}},
		{"drops the event of a firing", "an event of it is lost", func(p parts) {
			drops := some(4)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if len(m.Put) == 0 && len(m.Events) == 1 && m.Events[0].Payload.EventType() == events.TypeCommitmentFired && drops.now() {
					m.Events = nil
				}
				return
			})
		}},
		{"drops the event of a pass", "an event of it is lost", func(p parts) {
			apply(p, func(m *memory.Mutation) (_, _ error) {
				m.Events = slices.DeleteFunc(m.Events, func(r events.Record) bool {
					return strings.HasPrefix(r.ID, "consolidated_")
				})
				return
			})
		}},
		{"emits an event under two ids", "came under 2 ids", func(p parts) {
			doubles := some(20)
			apply(p, func(m *memory.Mutation) (_, _ error) {
				if len(m.Put) == 1 && len(m.Events) == 1 && doubles.now() {
					again := m.Events[0]
					again.ID += "x"
					m.Events = append(m.Events, again)
				}
				return
			})
		}},
		{"takes events for delivered that are not", "an event of it is lost", func(p parts) {
			p.memory.delivered = func(ctx context.Context, recs []events.Record) error {
				for tenant := range slices.Values(tenants) {
					more, err := p.memory.Undelivered(ctx, memory.OutboxQuery{Tenant: tenant})
					if err != nil {
						return err
					}
					recs = append(recs, more...)
				}
				return p.memory.Store.Delivered(ctx, recs)
			}
		}},
		{"loses a deletion", "whose deletion was acknowledged", func(p parts) {
			loses := some(1)
			p.memory.remove = func(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
				if loses.now() {
					return true, nil
				}
				return p.memory.Store.Delete(ctx, s, id, at)
			}
		}},
		{"deletes what nobody deleted", "by no operation", func(p parts) {
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7") && rec.State == memory.Live {
					rec.State = memory.Deleted
				}
				return rec, true
			}
		}},
		{"erases what nobody forgot", "no operation forgot it", func(p parts) {
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				if strings.HasSuffix(rec.Entry.ID, "7") && len(rec.Entry.Subjects) == 0 {
					rec.Entry, rec.Erased = memory.Entry{ID: rec.Entry.ID}, true
				}
				return rec, true
			}
		}},
		{"brings back what was forgotten", "whose subject was forgotten", func(p parts) {
			kept := map[string]memory.Record{}
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				if old, known := kept[rec.Entry.ID]; known && rec.Erased {
					return old, true
				}
				kept[rec.Entry.ID] = rec
				return rec, true
			}
		}},
		{"breaks a lineage", "in favour of one that is not there", func(p parts) {
			p.memory.record = func(rec memory.Record) (memory.Record, bool) {
				if rec.State == memory.Merged {
					rec.For += "x"
				}
				return rec, true
			}
		}},
		{"moves a view", "its version shows something else", func(p parts) {
			p.memory.listAt = func(ctx context.Context, s memory.Scope, _ memory.Version, q memory.Query) ([]memory.Entry, error) {
				return p.memory.List(ctx, s, q)
			}
		}},
		{"forgets its versions", "not available any more", func(p parts) {
			p.memory.listAt = func(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
				if now, _ := p.memory.Version(ctx, s.Tenant); v != now {
					return nil, memory.ErrSnapshotUnavailable
				}
				return p.memory.Store.ListAt(ctx, s, v, q)
			}
		}},
		{"forgets a swap", "an acknowledged swap of its commitment is lost", func(p parts) {
			forgets := some(30)
			p.commitments.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if c.Rev > 0 && forgets.now() {
					return c.Rev + 1, nil
				}
				return p.commitments.InMemory.Swap(ctx, c)
			}
		}},
		{"forgets a claim and fires twice", "claimed twice under one fence", func(p parts) {
			p.commitments.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if c.State == commitment.Claimed && c.Rev == 1 {
					return c.Rev + 1, nil
				}
				return p.commitments.InMemory.Swap(ctx, c)
			}
		}},
		{"lets two win a claim", "claimed twice", func(p parts) {
			p.commitments.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				rev, err := p.commitments.InMemory.Swap(ctx, c)
				if !errors.Is(err, memory.ErrConflict) {
					return rev, err
				}
				now, err := p.commitments.Get(ctx, c.Tenant, c.ID)
				if err != nil {
					return 0, err
				}
				c.Rev = now.Rev
				return p.commitments.InMemory.Swap(ctx, c)
			}
		}},
		{"forgets when commitments are due", "never falls due", func(p parts) {
			p.commitments.due = func(list []commitment.Commitment) []commitment.Commitment {
				return slices.DeleteFunc(list, func(c commitment.Commitment) bool { return c.ArmedAt.UnixMilli()%3 == 0 })
			}
		}},
		{"counts firings that were none", "firings, and", func(p parts) {
			p.commitments.get = func(c commitment.Commitment) commitment.Commitment {
				c.Fired *= 2
				return c
			}
		}},
		{"loses an archive", "does not load", func(p parts) {
			p.stores.Archives = &brokenArchives{MemoryStore: distill.NewMemoryStore(), loses: every{of: 2}}
		}},
		{"loses a version of a file", "write of a file is not there", func(p parts) {
			files := distill.NewMemoryWorkspace(p.log)
			p.stores.Workspace = &brokenWorkspace{files, func(ctx context.Context, w distill.Write) (distill.File, error) {
				if old, _ := files.ReadFile(ctx, w.Tenant, w.Path); w.Path != distill.IndexPath && old.Version > 0 {
					return distill.File{Version: old.Version + 1}, nil
				}
				return files.WriteFile(ctx, w)
			}}
		}},
		{"writes into a file what nobody wrote", "something that nobody wrote", func(p parts) {
			files := distill.NewMemoryWorkspace(p.log)
			p.stores.Workspace = &brokenWorkspace{files, func(ctx context.Context, w distill.Write) (distill.File, error) {
				if w.Path != distill.IndexPath {
					w.Content += "."
				}
				return files.WriteFile(ctx, w)
			}}
		}},
		{"loses the events of files", "events instead of one", func(p parts) {
			p.stores.Workspace = distill.NewMemoryWorkspace(nil)
		}},
		{"loses the index", "the index has 0 lines", func(p parts) {
			files := distill.NewMemoryWorkspace(p.log)
			p.stores.Workspace = &brokenWorkspace{files, func(ctx context.Context, w distill.Write) (distill.File, error) {
				if w.Path == distill.IndexPath {
					return distill.File{}, nil
				}
				return files.WriteFile(ctx, w)
			}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := newLog(t, 1)
			stores := sound(log)
			p := parts{log, &brokenMemory{Store: inmem.New()}, &brokenCommitments{InMemory: commitment.NewInMemory()}, &stores}
			stores.Memory, stores.Commitments = p.memory, p.commitments
			c.broke(p)
			var last error
			for range 25 {
				loadFor(t, log, stores, 300)
				_, err := log.Verify(t.Context(), stores)
				if err == nil {
					continue // nothing broke yet
				}
				var broken *Broken
				require.ErrorAs(t, err, &broken)
				if slices.ContainsFunc(broken.Problems, func(text string) bool { return strings.Contains(text, c.wants) }) {
					return
				}
				last = err
			}
			t.Fatal("not found; found was:", last)
		})
	}
}
