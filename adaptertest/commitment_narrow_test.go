package adaptertest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// narrowCommitments are such as one case alone is to find.
func narrowCommitments() []commitmentDefect {
	return []commitmentDefect{
		{"an empty store has no lists", "CTI-1/absent", func(b *brokenCommitments) {
			var used memo[string, bool]
			b.edit(func(c *commitment.Commitment) { used.set("", true) })
			b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
				if !used.get("") && b.handle == 0 && predicate == "" && ctx.Err() == nil {
					return func(yield func(commitment.Commitment, error) bool) {
						yield(commitment.Commitment{}, memory.ErrNotFound)
					}
				}
				return b.in.OfTenant(ctx, tenant, predicate)
			}
		}},
		{"the list of a tenant has no heirs", "RECORD/whole", func(b *brokenCommitments) {
			b.list(func(predicate string, list []commitment.Commitment) []commitment.Commitment {
				for i := range list {
					if predicate == "" {
						list[i].Heir = ""
					}
				}
				return list
			})
		}},
		{"shares what is due", "RECORD/own", func(b *brokenCommitments) {
			var lists memo[int64, []int64]
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				for i, c := range list {
					if _, known := lists.find(c.Rev); !known {
						lists.set(c.Rev, c.Waiting)
					}
					list[i].Waiting = lists.get(c.Rev)
				}
				return list
			})
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				c, err := b.in.Get(ctx, tenant, id)
				if shared, known := lists.find(c.Rev); known && len(shared) == len(c.Waiting) {
					c.Waiting = shared
				}
				return c, err
			}
		}},
		{"takes a revision that is yet to come", "CLAIM/revisions", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if old, err := b.in.Get(ctx, c.Tenant, c.ID); err == nil && c.Rev > old.Rev {
					return b.always(ctx, c)
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"reads what was swapped often late", "CLAIM/acknowledged", func(b *brokenCommitments) {
			var kept memo[string, commitment.Commitment]
			b.get = func(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
				c, err := b.in.Get(ctx, tenant, id)
				if old, known := kept.find(tenant + id); known && err == nil && c.Fired == 99 {
					return old, nil
				}
				kept.set(tenant+id, c)
				return c, err
			}
		}},
		{"what is dead is never due", "DUE/any-state", func(b *brokenCommitments) {
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				return slices.DeleteFunc(list, func(c commitment.Commitment) bool { return c.State == commitment.Dead })
			})
		}},
		{"what was acknowledged waits on", "LIST/predicate", func(b *brokenCommitments) {
			var predicates memo[string, string]
			b.edit(func(c *commitment.Commitment) {
				if c.State == commitment.Acknowledged && c.Arm.Predicate != "" && c.Waiting == nil && c.Fired == 0 {
					predicates.set(c.Tenant+c.Arm.Predicate, c.ID)
				}
			})
			b.ofTenant = func(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
				return func(yield func(commitment.Commitment, error) bool) {
					for c, err := range b.in.OfTenant(ctx, tenant, predicate) {
						if !yield(c, err) {
							return
						}
					}
					if id := predicates.get(tenant + predicate); predicate != "" && id != "" {
						yield(b.in.Get(ctx, tenant, id))
					}
				}
			}
		}},
		{"what is never due may be armed twice", "FAULT/lost", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				rev, err := b.in.Swap(ctx, c)
				if errors.Is(err, memory.ErrConflict) && c.Rev == 0 && c.Due.IsZero() && c.State == commitment.Armed {
					return 1, nil
				}
				return rev, err
			}
		}},
		{"opened again, goes tenant by tenant", "DURABLE/reopened", func(b *brokenCommitments) {
			if b.handle > 0 {
				b.found(func(list []commitment.Commitment) []commitment.Commitment {
					slices.SortStableFunc(list, func(x, y commitment.Commitment) int { return strings.Compare(x.Tenant, y.Tenant) })
					return list
				})
			}
		}},
		{"looks, then claims", "ENGINE/at-once", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if c.State == commitment.Claimed && c.Position == 0 && c.Arm.Spec == "" {
					return b.looksFirst(ctx, c)
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"what waits for the end of a lease is not due", "ENGINE/crash", func(b *brokenCommitments) {
			b.found(func(list []commitment.Commitment) []commitment.Commitment {
				return slices.DeleteFunc(list, func(c commitment.Commitment) bool { return !c.Lease.IsZero() && c.Due.Equal(c.Lease) })
			})
		}},
		{"looks, then arms, until another has it open", "CLAIM/race", func(b *brokenCommitments) {
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if c.Rev == 0 && !b.joined.Load() {
					return b.looksFirst(ctx, c)
				}
				return b.in.Swap(ctx, c)
			}
		}},
		{"one id in all tenants, for what has no predicate", "CTI-1/same-id", func(b *brokenCommitments) {
			var owner memo[string, string]
			b.swap = func(ctx context.Context, c commitment.Commitment) (int64, error) {
				if o := owner.get(c.ID); o != "" && o != c.Tenant && c.Arm.Predicate == "" {
					return 0, memory.ErrConflict
				}
				owner.set(c.ID, c.Tenant)
				return b.in.Swap(ctx, c)
			}
		}},
		{"an instant that was taken away comes back", "DUE/model", func(b *brokenCommitments) {
			var was memo[string, time.Time]
			b.edit(func(c *commitment.Commitment) {
				key := c.Tenant + c.ID
				if old := was.get(key); c.Due.IsZero() && c.Canceled && c.State == commitment.Claimed && !old.IsZero() {
					c.Due = old
				}
				was.set(key, c.Due)
			})
		}},
	}
}
