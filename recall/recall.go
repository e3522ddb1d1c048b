package recall

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/openwop/agentmemory/memory"
)

// DefaultMaxBytes bounds what a ranker keeps, unless a [Config] says otherwise.
const DefaultMaxBytes = 256 << 20

// Config sets up a [Ranker].
type Config struct {
	// MaxBytes bounds the memory that all indexes take together, as the ranker estimates it.
	// The ref that was asked last is kept even if it alone takes more. 0 means
	// [DefaultMaxBytes].
	MaxBytes int64
}

// Ranker is a memory.Ranker that ranks by words. It is safe for concurrent use. One ranker
// may serve several banks only if they have the same store.
type Ranker struct {
	maxBytes int64

	mu    sync.Mutex
	refs  map[memory.Scope]*list.Element // of *cached
	order list.List                      // the ref asked last is in front
	bytes int64
}

// cached is the index of a ref.
type cached struct {
	scope memory.Scope
	bytes int64 // as the ranker has counted them, under its own lock

	mu    sync.Mutex
	index *index
	built int          // entries of the index when it was made
	first *memory.View // the newest view when it was made
	name  string       // of the newest view that the index knows
	view  *memory.View // that view
}

// New returns a ranker.
func New(cfg Config) *Ranker {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	return &Ranker{maxBytes: cfg.MaxBytes, refs: map[memory.Scope]*list.Element{}}
}

// Version implements memory.Ranker. It changes with every rule by which texts are taken
// apart or ranked.
func (r *Ranker) Version() string { return "bm25/1" }

// Rank implements memory.Ranker. A question without a word gives nothing.
func (r *Ranker) Rank(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	asked := questionOf(q.Text)
	if len(asked.terms) == 0 {
		return nil, nil
	}
	newest, name, err := v.Newest(ctx)
	if errors.Is(err, memory.ErrNotProvided) {
		s, err := read(ctx, v)
		if err != nil {
			return nil, err
		}
		return s.answer(asked, q), nil
	}
	if err != nil {
		return nil, err
	}
	c := r.of(v.Scope())
	c.mu.Lock()
	defer r.leave(c)
	if err := c.update(ctx, newest, name); err != nil {
		return nil, err
	}
	s, err := c.sight(ctx, v)
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		s, err = read(ctx, v) // what has changed since then is not known any more
	}
	if err != nil {
		return nil, err
	}
	return s.answer(asked, q), nil
}

// Sweep brings every index up to date, so that what was erased leaves it also where nobody
// asks. A host gives it to memory.Bank.Keep. An index that cannot be brought up to date is
// let go of, and the errors come together at the end. So is one that was made before the
// horizon of the store, since it may have words of entries that were purged.
func (r *Ranker) Sweep(ctx context.Context) error {
	r.mu.Lock()
	var all []*cached
	for e := r.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*cached))
	}
	r.mu.Unlock()
	var failed []error
	for _, c := range all {
		failed = append(failed, r.sweep(ctx, c))
	}
	return errors.Join(failed...)
}

func (r *Ranker) sweep(ctx context.Context, c *cached) error {
	c.mu.Lock()
	defer r.leave(c)
	if c.index == nil {
		return nil
	}
	_, err := c.first.Get(ctx, []string{"any"}) // fails behind the horizon
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		c.index = nil
		return nil
	}
	newest, name, err := c.view.Newest(ctx)
	if err == nil {
		err = c.update(ctx, newest, name)
	}
	if err != nil {
		c.index = nil
	}
	return err
}

// read indexes a view for one question.
func read(ctx context.Context, v *memory.View) (*sight, error) {
	x := newIndex()
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		x.docs[x.add(&e)].live = true
	}
	return x.newest(v.At().UnixMilli()), nil
}

// update makes the index that of the newest view. An index most of which the view does not
// show any more is made anew.
func (c *cached) update(ctx context.Context, newest *memory.View, name string) error {
	if c.index != nil && len(c.index.docs) < 2*c.built+1000 {
		err := error(nil)
		if c.name != name {
			err = c.follow(ctx, newest)
		}
		if !errors.Is(err, memory.ErrSnapshotUnavailable) {
			if err == nil {
				c.name, c.view = name, newest
			}
			return err
		}
	}
	s, err := read(ctx, newest)
	if err != nil {
		return err
	}
	c.index, c.built, c.name, c.view, c.first = s.index, len(s.docs), name, newest, newest
	return nil
}

// follow takes in what has changed up to the newest view.
func (c *cached) follow(ctx context.Context, newest *memory.View) error {
	touched, erased, err := newest.Differs(ctx, c.name)
	if err != nil {
		return err
	}
	entries, err := newest.Get(ctx, touched)
	if err != nil {
		return err
	}
	c.index.last = nil
	c.index.erase(erased)
	for _, id := range touched {
		if n, known := c.index.number[id]; known {
			c.index.docs[n].live = false
		}
	}
	for i := range entries {
		c.index.docs[c.index.add(&entries[i])].live = true
	}
	return nil
}

// sight is what a view shows of the index, which is that of the newest view.
func (c *cached) sight(ctx context.Context, v *memory.View) (*sight, error) {
	at := v.At().UnixMilli()
	touched, _, err := v.Differs(ctx, c.name)
	if err != nil {
		return nil, err
	}
	if len(touched) == 0 {
		return c.index.newest(at), nil
	}
	entries, err := v.Get(ctx, touched)
	if err != nil {
		return nil, err
	}
	shown := map[uint32]bool{}
	for _, id := range touched {
		if n, known := c.index.number[id]; known {
			shown[n] = false
		}
	}
	for i := range entries {
		shown[c.index.add(&entries[i])] = true
	}
	return c.index.newest(at).differing(shown), nil
}

// answer ranks, and says why.
func (s *sight) answer(asked question, q memory.Search) []memory.Hit {
	keep := func(n uint32) bool {
		created := s.docs[n].created
		return (q.Since.IsZero() || created >= q.Since.UnixMilli()) && (q.Until.IsZero() || created < q.Until.UnixMilli()) &&
			!slices.ContainsFunc(q.Tags, func(tag string) bool { return !s.has(n, exactly+tag) })
	}
	// What no entry has is not looked for in each of them.
	asked.terms = slices.DeleteFunc(asked.terms, func(t string) bool { return len(s.terms[t]) == 0 })
	top := s.best(asked, q.Limit, keep)
	hits := make([]memory.Hit, len(top))
	for i, h := range top {
		hits[i].Entry.ID, hits[i].Score = s.docs[h.doc].id, h.score
		for _, t := range asked.terms {
			if s.has(h.doc, t) {
				hits[i].Terms = append(hits[i].Terms, t)
			}
		}
	}
	return hits
}

// of is the cached index of a ref, which becomes the last one asked.
func (r *Ranker) of(s memory.Scope) *cached {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, known := r.refs[s]; known {
		r.order.MoveToFront(e)
		return e.Value.(*cached)
	}
	c := &cached{scope: s}
	r.refs[s] = r.order.PushFront(c)
	return c
}

// leave unlocks an index, counts what it takes now, and lets go of the refs that were asked
// longest ago.
func (r *Ranker) leave(c *cached) {
	now := int64(perRef + len(c.scope.Tenant) + len(c.scope.Ref))
	if c.index != nil {
		now += c.index.bytes
	}
	c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, kept := r.refs[c.scope]; !kept || e.Value != c { // it was let go of, and is not counted
		return
	}
	r.bytes += now - c.bytes
	c.bytes = now
	for r.bytes > r.maxBytes && r.order.Len() > 1 {
		r.drop(r.order.Back())
	}
}

func (r *Ranker) drop(e *list.Element) {
	c := r.order.Remove(e).(*cached)
	delete(r.refs, c.scope)
	r.bytes -= c.bytes
}
