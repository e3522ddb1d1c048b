package memory

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
)

// Ranker finds the entries of a view that answer a question. Package recall has one. It is
// safe for concurrent use. If it has a method Attach(*Bank) error too, [New] calls that, so that it
// can add to the rounds of [Bank.Maintain] by [Engines.Register].
type Ranker interface {
	// Rank returns the entries of the view that answer q, best first and at most q.Limit.
	// Of Hit.Entry only the ID is set: the bank reads each entry through the view, and
	// leaves out what the view does not show or the filters of q exclude; it then asks again with a
	// larger limit, so a ranker may ignore filters. A smaller limit gives the beginning of what a larger one gives.
	Rank(ctx context.Context, v *View, q Search) ([]Hit, error)
	// Version names how the ranker works. The same view, question and version give the
	// same answer.
	Version() string
	// Model names the model by which the ranker ranks by meaning, and is empty if it ranks by
	// words only. It is asked once, in place, when a bank is made.
	Model() string
}

// Hit is an entry that answers a question, and why it does.
type Hit struct {
	Entry Entry `json:"entry"`
	// Score orders the hits of one answer. It means nothing outside of it.
	Score float64 `json:"score"`
	// Terms are the words of the question that the entry matched, as the ranker compares
	// them.
	Terms []string `json:"terms,omitempty"`
	// Similarity is how near the entry is to the question in meaning: 1 for the same, 0 for
	// nothing in common or if the ranker does not know.
	Similarity float64 `json:"similarity"`
	// Age is by how much the entry is older than the newest one that answers.
	Age time.Duration `json:"age"` // in nanoseconds as JSON
}

// newest is a view of memory as it is now; nil if the store has no views.
func (b *Bank) newest(ctx context.Context, tenant string) (*view, error) {
	if b.versions == nil {
		return nil, nil
	}
	version, err := b.versions.Version(ctx, tenant)
	if err != nil {
		return nil, shape(err)
	}
	return newView(b.versions, version), nil
}

// askRanker returns as many answers to a question as a limit says.
func (v *View) askRanker(ctx context.Context, q Search, limit int) ([]Hit, error) {
	q.Limit, q.Since, q.Until = limit, millisUp(q.Since), millisUp(q.Until)
	q.Tags = slices.Clone(q.Tags) // the ranker may do with them what it wants, even too late
	const part = "the ranker"
	found, err := hostcall.Call(ctx, part, PluginTimeout, func(ctx context.Context) ([]Hit, error) {
		return v.bank.cfg.Ranker.Rank(ctx, v, q)
	})
	if err != nil {
		return nil, rankerFailed(ctx, part, err)
	}
	return slices.Clone(found), nil
}

// rankerFailed is the error of a ranker. One that carries a class, as those of package recall
// do, keeps it; a failure of the store is the cause, and the ranker is named.
func rankerFailed(ctx context.Context, part string, err error) error {
	if err == ctx.Err() || hostcall.Misbehaved(err) {
		return hostFailed(ctx, part, err)
	}
	shaped := shapeOf(part, err)
	if code := CodeOf(shaped); code == CodeCanceled || code == CodeInternal && errors.Is(err, shaped) {
		return hostFailed(ctx, part, err) // a context has ended, but not the caller's; or the store failed the ranker
	}
	return shaped
}

// resolve reads what a ranker has found, and leaves out what it should not have.
func (v *View) resolve(ctx context.Context, ranked []Hit, filter driver.Query) ([]Hit, error) {
	ids := make([]string, len(ranked))
	for i := range ranked {
		ids[i] = ranked[i].Entry.ID
	}
	entries, err := v.Get(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Entry, len(entries))
	for _, e := range entries {
		byID[e.ID] = e
	}
	hits := make([]Hit, 0, len(ranked))
	for _, h := range ranked {
		e, ok := byID[h.Entry.ID]
		if !ok || !filter.Matches(&e) || len(hits) == filter.Limit {
			continue
		}
		h.Entry = e
		hits = append(hits, h)
	}
	return hits, nil
}

// View is what a [Ranker] reads: the entries of one ref as a run or a reader sees them at one
// instant. It is safe for concurrent use, and may be kept.
type View struct {
	bank  *Bank
	scope Scope
	at    time.Time
	view  *view // nil if the store has no views: then it is read as it is now
}

// Scope returns the tenant and ref that the view is of.
func (v *View) Scope() Scope { return v.scope }

// At returns the instant at which expiry is judged.
func (v *View) At() time.Time { return v.at }

// Opened returns the instant at which a run's view was fixed, which its tokens have too; zero
// if this view shows live memory. What a ranker learns of entries later, such as their vectors,
// must not count in the view, or a replay would rank otherwise than the run did.
func (v *View) Opened() time.Time {
	if v.view == nil {
		return time.Time{}
	}
	return v.view.opened
}

func (b *Bank) liveView(ctx context.Context, tenant, ref string) (v *View, name string, err error) {
	if err := checkTenant(tenant); err != nil {
		return nil, "", err
	}
	s, err := b.resolve(ctx, tenant, ref)
	if err != nil {
		return nil, "", err
	}
	seen, err := b.newest(ctx, tenant)
	if err != nil {
		return nil, "", err
	}
	if seen != nil && b.changes != nil {
		name = string(seen.base)
	}
	return &View{bank: b, scope: s, at: b.Now(), view: seen}, name, nil
}

// Documents yields the documents of the ref that q asks for, whose tenant and ref are filled
// in, in the byte order of kind and key, and stops after an error. Documents are as they are
// now, also if the view shows an earlier version. The store must be a Transactor.
func (v *View) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	q.Tenant, q.Ref, q.EveryRef = v.scope.Tenant, v.scope.Ref, false
	return func(yield func(driver.Document, error) bool) { v.bank.eachDocument(ctx, q, yield) }
}

// Entries yields everything that the view shows, newest first, and stops after an error.
func (v *View) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	list := v.bank.store.List
	if v.view != nil {
		list = v.view.list
	}
	return walk(ctx, v.scope, driver.Query{At: v.at}, list)
}

// Get returns those of the entries that the view shows, in no particular order.
func (v *View) Get(ctx context.Context, ids []string) (found []Entry, err error) {
	if v.view == nil {
		found, err = listed(ctx, v.bank.store, v.scope, driver.Query{At: v.at}, ids)
	} else {
		found, err = v.view.byIDs(ctx, v.scope, ids, v.at)
	}
	return handOut(found), err
}

// Newest returns a view of the same ref as it is now, in which nothing has expired, and a
// name of that state: two newest views of a ref with the same name show the same entries,
// but for what was erased. It fails with [ErrNotProvided] if the store cannot tell what changes, so
// that a ranker must read the ref each time.
func (v *View) Newest(ctx context.Context) (*View, string, error) {
	if v.view == nil || v.bank.changes == nil {
		return nil, "", fail(ErrNotProvided, "the store is no driver.Changes, so that it does not tell what has changed")
	}
	seen, err := v.bank.newest(ctx, v.scope.Tenant)
	if err != nil {
		return nil, "", err
	}
	return &View{bank: v.bank, scope: v.scope, view: seen}, string(seen.base), nil
}

// Differs returns how the view differs from the newest view of that name. own are the entries that
// the run wrote itself and the view shows, unless they have expired or were erased. later are the
// changes that only the view has; what the run itself has replaced is among the retired. earlier are
// the changes that only the named view has. It fails with [ErrSnapshotUnavailable] if the name or the
// view is too old.
func (v *View) Differs(ctx context.Context, name string) (own []string, later, earlier driver.ChangeSet, err error) {
	if v.view == nil || v.bank.changes == nil {
		return nil, later, earlier, fail(ErrNotProvided, "the store is no driver.Changes, so that it does not tell what has changed")
	}
	for _, e := range v.view.own[v.scope.Ref] {
		own = append(own, e.id)
	}
	if base, then := v.view.base, driver.Version(name); base != then {
		if later, err = v.bank.changes.Changes(ctx, v.scope, then, base); err == nil {
			earlier, err = v.bank.changes.Changes(ctx, v.scope, base, then)
		}
	}
	later.Retired = slices.AppendSeq(slices.Clip(later.Retired), maps.Keys(v.view.hidden[v.scope.Ref]))
	return own, later, earlier, shape(err)
}
