package adaptertest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/openwop/agentmemory/memory/driver"
)

// filtered keeps records out of history.
func filtered(keep func(b *broken, q driver.HistoryQuery, r driver.Record) bool) func(b *broken) {
	return func(b *broken) {
		history := b.history
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			return func(yield func(driver.Record, error) bool) {
				for rec, err := range history(ctx, tenant, q) {
					if err == nil && !keep(b, q, rec) {
						continue
					}
					if !yield(rec, err) {
						return
					}
				}
			}
		}
	}
}

// widened asks history for more than it is asked for.
func widened(f func(q *driver.HistoryQuery), keep func(q driver.HistoryQuery, r driver.Record) bool) func(b *broken) {
	return func(b *broken) {
		b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
			wide := q
			f(&wide)
			return func(yield func(driver.Record, error) bool) {
				for rec, err := range b.in.History(ctx, tenant, wide) {
					if err == nil && !keep(q, rec) {
						continue
					}
					if !yield(rec, err) {
						return
					}
				}
			}
		}
	}
}

func historyDefects() []defect {
	bySubject := func(match func(have, want string) bool) func(b *broken) {
		return widened(func(q *driver.HistoryQuery) { q.Subject = "" }, func(q driver.HistoryQuery, r driver.Record) bool {
			return q.Subject == "" || slices.ContainsFunc(r.Entry.Subjects, func(s string) bool { return match(s, q.Subject) })
		})
	}
	limited := func(n int) func(b *broken) {
		return func(b *broken) {
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					all, err := collect(b.in.History(ctx, tenant, q))
					if err != nil {
						yield(driver.Record{}, err)
						return
					}
					slices.SortFunc(all, func(a, b driver.Record) int { return strings.Compare(a.Entry.ID, b.Entry.ID) })
					for _, rec := range all[:min(n, len(all))] {
						if !yield(rec, nil) {
							return
						}
					}
				}
			}
		}
	}
	all := []defect{
		{"does not narrow history by successor", "BATCH/", widened(func(q *driver.HistoryQuery) { q.For = nil }, func(driver.HistoryQuery, driver.Record) bool { return true })},
		{"looks for what was retired in favour of the first of several only", "BATCH/", widened(func(q *driver.HistoryQuery) {
			q.For = q.For[:min(1, len(q.For))]
		}, func(driver.HistoryQuery, driver.Record) bool { return true })},
		{"does not narrow the history of a subject by ref", "CTI-1/foreign-", widened(func(q *driver.HistoryQuery) {
			if q.Subject != "" {
				q.Ref = ""
			}
		}, func(driver.HistoryQuery, driver.Record) bool { return true })},
		{"does not narrow history by ref", "CTI-1/foreign-", widened(func(q *driver.HistoryQuery) {
			if len(q.For) == 0 {
				q.Ref = ""
			}
		}, func(driver.HistoryQuery, driver.Record) bool { return true })},
		{"finds successors in every ref", "CTI-1/foreign-", widened(func(q *driver.HistoryQuery) { q.Ref, q.For = "", nil },
			func(q driver.HistoryQuery, r driver.Record) bool {
				return (len(q.For) == 0 || slices.Contains(q.For, r.For)) && (len(q.For) > 0 || q.Ref == "" || q.Ref == r.Ref)
			})},
		{"has the history of all tenants", "CTI-1/foreign-", func(b *broken) {
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					seen := map[string]bool{tenant: true}
					for _, s := range b.known(func(driver.Scope) bool { return true }) {
						seen[s.Tenant] = true
					}
					for t := range seen {
						for rec, err := range b.in.History(ctx, t, q) {
							if !yield(rec, err) {
								return
							}
						}
					}
				}
			}
		}},
		{"forgets the deleted in history", "BATCH/", filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool { return r.State != driver.Deleted })},
		{"forgets stubs in history", "BATCH/", filtered(func(_ *broken, _ driver.HistoryQuery, r driver.Record) bool { return !r.Erased })},
		{"forgets live entries in the history of a subject", "BATCH/", filtered(func(_ *broken, q driver.HistoryQuery, r driver.Record) bool {
			return q.Subject == "" || r.State != driver.Live
		})},
		{"has a page of a thousand in history", "SIZES/many", limited(1000)},
		{"loses the refs before the one that fills a page of a history", "MODEL/loop-history", func(b *broken) {
			history := b.history
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				all, err := collect(history(ctx, tenant, q))
				if len(all) > 512 && q.Ref == "" && q.Subject == "" {
					all = slices.DeleteFunc(all, func(r driver.Record) bool { return r.Ref < home.Ref })
				}
				return sequence(all, err)
			}
		}},
		{"has a page of a hundred in history", "RECORD/many-ids-lookup", limited(100)},
		{"walks through history by offset", "RECORD/many-ids-lookup", func(b *broken) {
			// What is put meanwhile moves everything behind it.
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					for offset := 0; ; offset += 100 {
						all, err := collect(b.in.History(ctx, tenant, q))
						if err != nil {
							yield(driver.Record{}, err)
							return
						}
						slices.SortFunc(all, func(a, b driver.Record) int { return strings.Compare(b.Entry.ID, a.Entry.ID) })
						for _, rec := range all[min(offset, len(all)):min(offset+100, len(all))] {
							if !yield(rec, nil) {
								return
							}
						}
						if offset+100 >= len(all) {
							return
						}
					}
				}
			}
		}},
		{"holds a lock once history was left early", "MODEL/loop-history", func(b *broken) {
			var mu sync.Mutex
			stuck := false
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					for rec, err := range b.in.History(ctx, tenant, q) {
						if !yield(rec, err) {
							mu.Lock()
							stuck = true
							mu.Unlock()
							return
						}
					}
				}
			}
			b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
				mu.Lock()
				defer mu.Unlock()
				if stuck {
					return errLocked
				}
				return b.in.Put(ctx, s, e)
			}
		}},
		{"goes on after history was left", "MODEL/loop-history", func(b *broken) {
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					for rec, err := range b.in.History(ctx, tenant, q) {
						yield(rec, err)
					}
				}
			}
		}},
		{"finds an erased entry under its subjects", "FORGET/labels", func(b *broken) {
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					for rec, err := range b.in.History(ctx, tenant, q) {
						if !yield(rec, err) {
							return
						}
					}
					for _, s := range b.known(func(s driver.Scope) bool { return s.Tenant == tenant && q.Subject != "" }) {
						for _, e := range b.others(s, nil, func(r driver.Record) bool { return r.Erased }) {
							if slices.Contains(e.Subjects, q.Subject) && !yield(b.record(s, e.ID), nil) {
								return
							}
						}
					}
				}
			}
		}},
		{"loses what was merged into an erased entry", "FORGET/lineage", filtered(func(b *broken, q driver.HistoryQuery, r driver.Record) bool {
			return len(q.For) == 0 || !b.record(r.Scope, q.For[0]).Erased
		})},
		{"loses the stub of what was merged", "FORGET/lineage", filtered(func(_ *broken, q driver.HistoryQuery, r driver.Record) bool {
			return len(q.For) == 0 || !r.Erased
		})},
		{"finds subjects by prefix", "FORGET/subject-exactly", bySubject(strings.HasPrefix)},
		{"finds subjects without regard to case", "FORGET/subject-exactly", bySubject(strings.EqualFold)},
		{"finds subjects by pattern", "FORGET/subject-exactly", bySubject(func(have, want string) bool {
			return have == want || strings.HasSuffix(want, "%") && strings.HasPrefix(have, want[:len(want)-1])
		})},
		{"finds subjects in a joined list", "FORGET/subject-exactly", bySubject(func(have, want string) bool {
			return slices.Contains(strings.Split(have, ","), want)
		})},
		{"finds the first subject only", "FORGET/subject", filtered(func(_ *broken, q driver.HistoryQuery, r driver.Record) bool {
			return q.Subject == "" || r.Entry.Subjects[0] == q.Subject
		})},
		{"finds at most 600 of a subject, then says that there are no more", "SIZES/many", func(b *broken) {
			b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
				return func(yield func(driver.Record, error) bool) {
					all, _ := collect(b.in.History(ctx, tenant, q))
					slices.SortFunc(all, func(a, b driver.Record) int { return strings.Compare(a.Entry.ID, b.Entry.ID) })
					for i, rec := range all {
						// ids beyond the page are never reached
						if q.Subject != "" && rec.Entry.ID > "e00600" || i < 0 || !yield(rec, nil) {
							return
						}
					}
				}
			}
		}},
		{"takes what was superseded for merged", "BATCH/", recorded(func(_ *broken, r *driver.Record) {
			if r.State == driver.Superseded {
				r.State = driver.Merged
			}
		})},
	}
	return all
}
