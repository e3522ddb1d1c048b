package recall

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

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
	// Embedder is the host's model, by which the ranker also ranks by meaning. It needs a
	// Redactor, and the rounds of memory.Bank.Maintain.
	Embedder Embedder
	// Weight is how much meaning counts against words: 1 for as much, and at most 1. With 0 the
	// ranker sets it in each question, by how far the model agrees with the words.
	Weight float64
	// Expander is the host's model that says what an entry says in other words, by which the ranker finds
	// it too. It needs a Redactor, and the rounds of memory.Bank.Maintain.
	Expander Expander
	// Redactor opens a tenant's secrets, as a [memory.JobConfig] wants them, for each pass and
	// for each question that is embedded, so that the model sees redacted text only. What it
	// returns is closed after that if it is an io.Closer.
	Redactor func(ctx context.Context, tenant string) (memory.Redactor, error)
	// Former are the names of models that are not asked any more. The rounds of
	// memory.Bank.Maintain remove their vectors and words. Those of other models stay otherwise, so that
	// two releases of a host can run side by side. A replay of a run that ranked by a former model ranks otherwise.
	Former []string
}

// Ranker is a memory.Ranker that ranks by words, with an [Expander] by other words too, and with an [Embedder]
// by meaning. It is safe
// for concurrent use. One ranker may serve several banks only if they have the same store.
type Ranker struct {
	cfg    Config
	model  string // "" without an embedder
	makers []maker

	mu    sync.Mutex
	refs  map[memory.Scope]*list.Element // of *cached
	order list.List                      // the ref asked last is in front
	bytes int64
}

// New returns a ranker. It fails with [memory.ErrValidation] for an Embedder or an Expander without a Redactor or
// whose Model is empty, a MaxBytes below zero and a Weight that is not from 0 to 1, and with [memory.ErrInternal] if
// one of them panics when it is asked for its model.
func New(cfg Config) (*Ranker, error) {
	switch {
	case cfg.MaxBytes < 0:
		return nil, invalid("Config.MaxBytes is below zero: 0 means the default")
	case !(cfg.Weight >= 0 && cfg.Weight <= 1):
		return nil, invalid("Config.Weight is not between 0 and 1: 0 lets the ranker set it")
	}
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	r := &Ranker{cfg: cfg, refs: map[memory.Scope]*list.Element{}}
	var err error
	if cfg.Embedder != nil {
		err = r.plug(theEmbedder, "Config.Embedder", cfg.Embedder.Model, r.vectors)
	}
	if cfg.Expander != nil && err == nil {
		err = r.plug(theExpander, "Config.Expander", cfg.Expander.Model, r.words)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Version implements memory.Ranker. It changes with every rule by which texts are taken
// apart or ranked, and with the models.
func (r *Ranker) Version() string {
	version := fmt.Sprintf("bm25/%d", rules)
	for _, m := range r.makers {
		version += " " + m.version
	}
	return version
}

// Model implements memory.Ranker: the name of the embedder's model.
func (r *Ranker) Model() string { return r.model }

// buildTime is how long an index may take to be made or brought up to date for a question. It is not the
// caller's time, nor [memory.PluginTimeout], after which the bank leaves a ranker alone: the work goes on for
// the next question.
const buildTime = 10 * time.Minute

// Rank implements memory.Ranker. A question without a word gives nothing by words.
//
// If the embedder fails, so does a question that is also asked by meaning, with
// [memory.ErrInternal]: an answer by words alone would be another one, and a replay could not
// tell which of them the run had. A host that prefers words to nothing asks again with
// Search.Rank "lexical".
func (r *Ranker) Rank(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	var asked question
	var near *vector
	var s *snapshot
	var err error
	if q.Rank != "semantic" {
		asked = questionOf(q.Text)
	}
	if r.model != "" && q.Rank != "lexical" && strings.TrimSpace(q.Text) != "" {
		near, err = r.embedQuestion(ctx, v.Scope().Tenant, q.Text)
	}
	if err != nil || len(asked.terms) == 0 && near == nil {
		return nil, err
	}
	newest, name, err := v.Newest(ctx)
	if err == nil {
		c := r.indexOf(v.Scope())
		if err := c.lock(ctx); err != nil {
			return nil, err
		}
		defer r.unlock(c)
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTime)
		defer cancel()
		if err = c.bringTo(work, newest, name, r.makers); err == nil {
			s, err = c.snapshotOf(ctx, v)
		}
	}
	if errors.Is(err, memory.ErrNotProvided) || errors.Is(err, memory.ErrSnapshotUnavailable) {
		// The store does not tell what has changed, or not any more: this answer is made without a cache.
		var x *index
		if x, err = buildIndex(ctx, v, r.makers); err == nil {
			s = x.newestSnapshot(v)
		}
	}
	if err != nil {
		return nil, err
	}
	if near != nil && s.dimensions != 0 && len(near.coords) != s.dimensions {
		return nil, internal("the embedder gave vectors of different dimensions under one model", nil)
	}
	return s.answer(asked, near, r.cfg.Weight, q), nil
}

// Attach adds what the ranker needs from time to time to the rounds of memory.Bank.Maintain.
// memory.New calls it; a bank that has another ranker refuses it with
// [memory.ErrConflict]. A round brings every index up to date, so that what was erased leaves it
// even if no question is asked, and asks the models about entries of which they have made nothing yet.
//
// A round also writes the images from which processes that have just begun read their indexes, of the
// next 64 refs, without a call of code of the host.
//
// An index that cannot be brought up to date is dropped; so is one that was made before the
// horizon of the store, since it may have words of entries that were purged.
//
// Models are asked about some thousand entries in a round, of the next 64 refs; a host that has imported
// much may call memory.Bank.Maintain in a loop of its own. What those of Config.Former made is removed.
// The store must be a Transactor and list its tenants. A model sees what the entries say,
// redacted again by Config.Redactor, and is asked outside of any mutation. A vector, and the other words for
// an entry, are a document that is made of its entry, and so goes with it, in the mutation that erases the entry.
// An entry that the redactor refuses gets none. If a model panics, hangs, fails or gives
// what are no vectors or no texts, the round ends with [memory.ErrInternal], and the next one begins with the
// ref behind; what was stored before is whole. Other trouble with one tenant holds up no other:
// the errors come together at the end. Any number of processes may do it at once.
func (r *Ranker) Attach(bank *memory.Bank) error {
	p := &upkeep{Ranker: r, bank: bank, done: map[memory.Scope]progress{}}
	return bank.Engines().Register("recall", r, nil, func(ctx context.Context) error {
		err := r.refreshAll(ctx)
		if bank.Engines().Offers().Writes {
			err = errors.Join(err, p.round(ctx))
		}
		return err
	})
}

// refreshAll brings every index up to date. One for which that fails, or that was made before the horizon of the
// store, is dropped.
func (r *Ranker) refreshAll(ctx context.Context) error {
	r.mu.Lock()
	var all []*cached
	for e := r.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*cached))
	}
	r.mu.Unlock()
	var failed []error
	for _, c := range all {
		failed = append(failed, r.refresh(ctx, c))
	}
	return errors.Join(failed...)
}

// refresh brings an index up to date, or drops it.
func (r *Ranker) refresh(ctx context.Context, c *cached) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer r.unlock(c)
	if c.index == nil {
		return nil
	}
	newest, name, err := c.first.Newest(ctx)
	if err == nil {
		_, err = c.first.Get(ctx, []string{"any"}) // fails behind the horizon: words of purged entries may be in it
	}
	if err == nil {
		err = c.bringTo(ctx, newest, name, r.makers)
	}
	if err != nil {
		c.index = nil
	}
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		return nil
	}
	return err
}

// answer ranks by the words that are asked, by meaning if there is a vector, and by both if
// there are both; and says why. The weight is of meaning against words.
func (s *snapshot) answer(asked question, near *vector, weight float64, q memory.Search) []memory.Hit {
	keep := func(n uint32) bool {
		created := s.docs[n].created
		return (q.Since.IsZero() || created >= q.Since.UnixMilli()) && (q.Until.IsZero() || created < q.Until.UnixMilli()) &&
			(q.Subject == "" || s.has(n, subjectPrefix+q.Subject)) &&
			!slices.ContainsFunc(q.Tags, func(tag string) bool { return !s.has(n, exactPrefix+tag) })
	}
	var top []hit
	switch {
	case near == nil:
		top = s.best(asked, q.Limit, keep)
	case q.Rank == "semantic":
		top, _ = s.nearest(near, q.Limit, keep)
	default:
		nearest, all := s.nearest(near, depth, keep)
		top = s.fuse(q.Limit, weight, near, s.best(asked, depth, keep), nearest, all)
	}
	// What no entry has is not looked for in each of them.
	asked.terms = slices.DeleteFunc(asked.terms, func(t string) bool { return len(s.postings(t)) == 0 })
	hits := make([]memory.Hit, len(top))
	newest := int64(math.MinInt64)
	for i, h := range top {
		hits[i].Entry.ID, hits[i].Score = s.docs[h.doc].id, h.score
		for _, t := range asked.terms {
			if s.has(h.doc, t) {
				hits[i].Terms = append(hits[i].Terms, t)
			}
		}
		if v, ok := s.vectorOf(h.doc); ok && near != nil {
			hits[i].Similarity = max(0, v.similarity(near))
		}
		newest = max(newest, s.docs[h.doc].created)
	}
	for i, h := range top {
		hits[i].Age = time.Duration(newest-s.docs[h.doc].created) * time.Millisecond
	}
	return hits
}

// indexOf returns the cached index of a ref, which becomes the last one asked.
func (r *Ranker) indexOf(s memory.Scope) *cached {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, known := r.refs[s]; known {
		r.order.MoveToFront(e)
		return e.Value.(*cached)
	}
	c := &cached{scope: s, locked: make(chan struct{}, 1)}
	r.refs[s] = r.order.PushFront(c)
	return c
}

// unlock unlocks an index, counts the bytes that it takes now, and evicts the refs that were asked
// longest ago.
func (r *Ranker) unlock(c *cached) {
	now := int64(perRef + len(c.scope.Tenant) + len(c.scope.Ref))
	if c.index != nil {
		now += c.index.bytes + int64(len(c.index.vectors))*int64(c.index.dimensions+perVector) + int64(len(c.index.waiting))*perDoc
	}
	<-c.locked
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, kept := r.refs[c.scope]; !kept || e.Value != c { // it was evicted, and is not counted
		return
	}
	r.bytes += now - c.bytes
	c.bytes = now
	for r.bytes > r.cfg.MaxBytes && r.order.Len() > 1 {
		last := r.order.Remove(r.order.Back()).(*cached)
		delete(r.refs, last.scope)
		r.bytes -= last.bytes
	}
}

// pkg begins the texts of this package's errors.
const pkg = "recall"

func invalid(rule string) error { return memory.ErrValidation.In(pkg, rule, nil) }

func internal(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) }
