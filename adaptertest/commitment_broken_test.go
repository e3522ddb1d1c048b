package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// brokenCommitments is an in-memory commitment store with one defect, which replaces
// one of the functions.
type brokenCommitments struct {
	in     *commitment.InMemory
	handle int          // how often the data was opened before
	joined *atomic.Bool // somebody has opened the data once more

	get      func(ctx context.Context, tenant, id string) (commitment.Commitment, error)
	swap     func(ctx context.Context, c commitment.Commitment) (int64, error)
	due      func(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error)
	ofTenant func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error]
}

func (b *brokenCommitments) Get(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
	return b.get(ctx, tenant, id)
}
func (b *brokenCommitments) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	return b.swap(ctx, c)
}
func (b *brokenCommitments) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	return b.due(ctx, now, limit)
}
func (b *brokenCommitments) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	return b.ofTenant(ctx, tenant, predicate)
}

func newBrokenCommitments(defect func(b *brokenCommitments), data *brokenCommitments) *brokenCommitments {
	b := &brokenCommitments{in: commitment.NewInMemory(), joined: new(atomic.Bool)}
	if data != nil {
		b.in, b.handle, b.joined = data.in, data.handle+1, data.joined
		b.joined.Store(true)
	}
	b.get, b.swap, b.due, b.ofTenant = b.in.Get, b.in.Swap, b.in.Due, b.in.OfTenant
	defect(b)
	return b
}

func commitmentsWith(defect func(b *brokenCommitments)) CommitmentConfig {
	return CommitmentConfig{
		New: func(context.Context) (commitment.Store, error) { return newBrokenCommitments(defect, nil), nil },
		Reopen: func(_ context.Context, s commitment.Store) (commitment.Store, error) {
			return newBrokenCommitments(defect, s.(*brokenCommitments)), nil
		},
	}
}

// show changes what all reads show.
func (b *brokenCommitments) show(change func(c *commitment.Commitment)) {
	b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
		c, err := b.in.Get(ctx, tenant, id)
		if err == nil {
			change(&c)
		}
		return c, err
	}
}

// edit changes what is swapped in.
func (b *brokenCommitments) edit(change func(c *commitment.Commitment)) {
	b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
		change(&c)
		return b.in.Swap(ctx, c)
	}
}

// found changes what is due.
func (b *brokenCommitments) found(change func(list []commitment.Commitment) []commitment.Commitment) {
	b.due = func(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
		list, err := b.in.Due(ctx, now, limit)
		if err != nil {
			return nil, err
		}
		return change(list), nil
	}
}

// list changes what a list has.
func (b *brokenCommitments) list(change func(predicate string, list []commitment.Commitment) []commitment.Commitment) {
	b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
		return func(yield func(commitment.Commitment, error) bool) {
			var list []commitment.Commitment
			for c, err := range b.in.OfTenant(ctx, tenant, predicate) {
				if err != nil {
					yield(c, err)
					return
				}
				list = append(list, c)
			}
			for _, c := range change(predicate, list) {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

type commitmentDefect struct {
	name  string
	needs string // LAW/case
	do    func(b *brokenCommitments)
}

func commitmentDefects() []commitmentDefect {
	return append(narrowCommitments(), []commitmentDefect{
		{"absent is empty", "CTI-1/absent", func(b *brokenCommitments) {
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				c, err := b.in.Get(ctx, tenant, id)
				if errors.Is(err, memory.ErrNotFound) {
					err = nil
				}
				return c, err
			}
		}},
		{"tenants fold case", "CTI-1/lookalikes", func(b *brokenCommitments) {
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				return b.in.Get(ctx, strings.ToLower(tenant), id)
			}
		}},
		{"tenants are trimmed in lists", "CTI-1/lookalikes", func(b *brokenCommitments) {
			b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
				return b.in.OfTenant(ctx, strings.TrimSpace(tenant), predicate)
			}
		}},
		{"one id in all tenants", "CTI-1/same-id", func(b *brokenCommitments) {
			var owner memo[string, string]
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if o := owner.get(c.ID); o != "" && o != c.Tenant {
					return 0, memory.ErrConflict
				}
				owner.set(c.ID, c.Tenant)
				return b.in.Swap(ctx, c)
			}
		}},
		{"seconds only", "RECORD/whole", func(b *brokenCommitments) {
			b.edit(func(c *commitment.Commitment) { c.Mark = c.Mark.Truncate(time.Second) })
		}},
		{"another zone", "RECORD/whole", func(b *brokenCommitments) {
			b.show(func(c *commitment.Commitment) { c.Lease = c.Lease.In(time.FixedZone("x", 3600)) })
		}},
		{"numbers as floats", "RECORD/whole", func(b *brokenCommitments) {
			b.edit(func(c *commitment.Commitment) { c.Fence = int64(float64(c.Fence)) })
		}},
		{"the list forgets fields", "RECORD/whole", func(b *brokenCommitments) {
			b.list(func(_ string, list []commitment.Commitment) []commitment.Commitment {
				for i := range list {
					list[i].Waiting = nil
				}
				return list
			})
		}},
		{"empty fields stay", "RECORD/emptied", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if old, err := b.in.Get(ctx, c.Tenant, c.ID); err == nil && c.RunID == "" {
					c.RunID = old.RunID
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"shares what it returns", "RECORD/own", func(b *brokenCommitments) {
			var lists memo[string, []int64]
			b.edit(func(c *commitment.Commitment) { lists.set(c.ID, slices.Clone(c.Waiting)) })
			b.show(func(c *commitment.Commitment) { c.Waiting = lists.get(c.ID) })
		}},
		{"the last one wins", "CLAIM/revisions", func(b *brokenCommitments) { b.swap = b.always }},
		{"arming again replaces", "CLAIM/revisions", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if c.Rev == 0 {
					return b.always(ctx, c)
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"what has ended may be armed again", "CLAIM/ended", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if old, err := b.in.Get(ctx, c.Tenant, c.ID); err == nil && old.State.Final() && c.Rev == 0 {
					return b.always(ctx, c)
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"looks, then writes", "CLAIM/race", func(b *brokenCommitments) { b.swap = b.looksFirst }},
		{"reads are late", "CLAIM/acknowledged", func(b *brokenCommitments) {
			var mu sync.Mutex
			var kept memo[string, commitment.Commitment]
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				c, err := b.in.Get(ctx, tenant, id)
				mu.Lock()
				defer mu.Unlock()
				if old, ok := kept.find(tenant + id); ok && err == nil && c.Rev%7 == 0 {
					return old, nil
				}
				kept.set(tenant+id, c)
				return c, err
			}
		}},
		{"due is before now", "DUE/exact", func(b *brokenCommitments) {
			b.due = func(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
				return b.in.Due(ctx, now.Add(-time.Millisecond), limit)
			}
		}},
		{"nothing is an empty list", "DUE/exact", func(b *brokenCommitments) {
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				return append([]commitment.Commitment{}, list...)
			})
		}},
		{"only what is armed is due", "DUE/any-state", func(b *brokenCommitments) {
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				return slices.DeleteFunc(list, func(c commitment.Commitment) bool { return c.State != commitment.Armed })
			})
		}},
		{"an old instant stays", "DUE/model", func(b *brokenCommitments) {
			var first memo[string, commitment.Commitment]
			b.edit(func(c *commitment.Commitment) {
				if _, ok := first.find(c.Tenant + c.ID); !ok && !c.Due.IsZero() {
					first.set(c.Tenant+c.ID, *c)
				}
			})
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				for i, c := range list {
					list[i].Due = first.get(c.Tenant + c.ID).Due
				}
				return list
			})
		}},
		{"due in no order", "DUE/model", func(b *brokenCommitments) {
			b.found(func(list []commitment.Commitment) []commitment.Commitment { slices.Reverse(list); return list })
		}},
		{"lists fold case", "LIST/ids", func(b *brokenCommitments) {
			b.list(func(_ string, list []commitment.Commitment) []commitment.Commitment {
				slices.SortStableFunc(list, func(a, b commitment.Commitment) int {
					return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
				})
				return list
			})
		}},
		{"what has ended waits on", "LIST/predicate", func(b *brokenCommitments) {
			b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
				return func(yield func(commitment.Commitment, error) bool) {
					for c, err := range b.in.OfTenant(ctx, tenant, "") {
						if (predicate == "" || c.Arm.Predicate == predicate) && !yield(c, err) {
							return
						}
					}
				}
			}
		}},
		{"only what is armed waits", "LIST/predicate", func(b *brokenCommitments) {
			b.list(func(predicate string, list []commitment.Commitment) []commitment.Commitment {
				return slices.DeleteFunc(list, func(c commitment.Commitment) bool { return predicate != "" && c.State != commitment.Armed })
			})
		}},
		{"a list skips after a change", "LIST/while-changing", func(b *brokenCommitments) {
			b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
				return func(yield func(commitment.Commitment, error) bool) {
					for offset := 0; ; offset++ { // a page of one at a time, by number
						at := -1
						for c, err := range b.in.OfTenant(ctx, tenant, predicate) {
							if at++; at == offset {
								if !yield(c, err) {
									return
								}
								break
							}
						}
						if at < offset {
							return
						}
					}
				}
			}
		}},
		{"contexts are not looked at", "FAULT/context", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				return b.in.Swap(context.WithoutCancel(ctx), c)
			}
		}},
		{"half a swap", "FAULT/cancelled-midway", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				old, err := b.in.Get(ctx, c.Tenant, c.ID)
				if err != nil || old.Rev != c.Rev || ctx.Err() == nil {
					return b.in.Swap(ctx, c)
				}
				old.Due = c.Due // the index first, then the rest
				b.in.Swap(context.WithoutCancel(ctx), old)
				return 0, ctx.Err()
			}
		}},
		{"the same again succeeds", "FAULT/lost", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				rev, err := b.in.Swap(ctx, c)
				if old, found := b.in.Get(ctx, c.Tenant, c.ID); found == nil && err != nil {
					if given := c.Rev; given+1 == old.Rev {
						if c.Rev = old.Rev; commitmentDifferences(c, old) == "" {
							return old.Rev, nil
						}
					}
				}
				return rev, err
			}
		}},
		{"an error tells the id", "FAULT/no-text", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				rev, err := b.in.Swap(ctx, c)
				if err != nil {
					err = fmt.Errorf("%s: %w", c.ID, err)
				}
				return rev, err
			}
		}},
		{"lists are in memory only", "DURABLE/reopened", func(b *brokenCommitments) {
			b.list(func(predicate string, list []commitment.Commitment) []commitment.Commitment {
				if b.handle > 0 && predicate != "" {
					return nil
				}
				return list
			})
		}},
		{"a handle caches", "DURABLE/two-at-once", func(b *brokenCommitments) {
			var kept memo[string, commitment.Commitment]
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				rev, err := b.in.Swap(ctx, c)
				if c.Rev = rev; err == nil {
					kept.set(c.Tenant+c.ID, c)
				}
				return rev, err
			}
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				if c, ok := kept.find(tenant + id); ok {
					return c, nil
				}
				return b.in.Get(ctx, tenant, id)
			}
		}},
		{"a lock in each process", "DURABLE/race", func(b *brokenCommitments) {
			var mu sync.Mutex
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				return b.looksFirst(ctx, c)
			}
		}},
		{"looks, then writes", "ENGINE/at-once", func(b *brokenCommitments) { b.swap = b.looksFirst }},
		{"the run is not kept", "ENGINE/crash", func(b *brokenCommitments) {
			b.edit(func(c *commitment.Commitment) { c.RunID = "" })
		}},
		{"a lease is not due", "ENGINE/crash", func(b *brokenCommitments) {
			b.edit(func(c *commitment.Commitment) {
				if !c.Lease.IsZero() {
					c.Due = time.Time{}
				}
			})
		}},
	}...)
}

// always swaps whatever the revision is.
func (b *brokenCommitments) always(ctx context.Context, c commitment.Commitment) (int64, error) {
	for {
		old, err := b.in.Get(ctx, c.Tenant, c.ID)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return 0, err
		}
		c.Rev = old.Rev
		rev, err := b.in.Swap(ctx, c)
		if !errors.Is(err, memory.ErrConflict) {
			return rev, err
		}
	}
}

// looksFirst compares, lets others in, and then swaps whatever the revision is by now.
func (b *brokenCommitments) looksFirst(ctx context.Context, c commitment.Commitment) (int64, error) {
	old, err := b.in.Get(ctx, c.Tenant, c.ID)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return 0, err
	}
	if old.Rev != c.Rev {
		return 0, memory.ErrConflict
	}
	for range 50 {
		runtime.Gosched()
	}
	return b.always(ctx, c)
}

// A store with no defect passes everything.
func TestSoundCommitments(t *testing.T) {
	report, err := CheckCommitmentStore(context.Background(), commitmentsWith(func(*brokenCommitments) {}))
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() || len(report.NotOffered) != 0 {
		t.Error(report)
	}
	if _, err := CheckCommitmentStore(context.Background(), CommitmentConfig{}); err == nil {
		t.Error("a config without New is taken")
	}
}
