package memory

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// JobConfig says whose pass it is.
type JobConfig struct {
	// ID names the pass, as RunConfig.ID names a run. It has an id of its own, never that of
	// a workflow run (E5); events carry it. Give each pass a fresh one. If an id comes
	// again, a pass that has something to do has events of its own, behind those of the
	// earlier in one log, and undoing a consolidation by that id takes back both.
	ID string
	// Tenant owns the memory that the pass works on.
	Tenant string
	// Redactor holds the tenant's secrets, opened for this pass. It is required: a
	// host that has none declares so by an empty registry. If it is an [io.Closer],
	// ending the job closes it.
	Redactor Redactor
}

// Job is the handle of a background pass on a tenant's memory: an import, a
// consolidation, a distillation. It reads live memory, has no view, and is never
// part of a replay. It is safe for concurrent use.
type Job struct {
	writer
	life  sync.RWMutex // held shared by every operation, alone to end the job
	ended bool
}

// Background opens a job, which its caller ends by [Job.End]; [Bank.Pass] does both. It fails
// with [ErrValidation] for a malformed ID or Tenant and without a Redactor, and with
// [ErrSecretLeakage] if the redactor is closed or finds a secret in the ID. It makes no store
// call.
func (b *Bank) Background(c JobConfig) (*Job, error) {
	w, err := newWriter(b, c.Tenant, c.ID, c.Redactor, true)
	if err == nil {
		err = w.identifiers(context.Background(), w.run()) // no write could carry it
	}
	if err != nil {
		return nil, err
	}
	return &Job{writer: w}, nil
}

// Pass opens a job, calls f with it and ends it, also if f fails. The end closes the registry
// and delivers the events to the sink. Pass returns the errors of f and of the end. An end that
// fails leaves the events to [Bank.Maintain]. A panic of f goes on once the job has
// ended.
func (b *Bank) Pass(ctx context.Context, c JobConfig, f func(*Job) error) (err error) {
	j, err := b.Background(c)
	if err != nil {
		return err
	}
	// What the pass has announced is delivered though its context is done.
	defer func() { err = joinErrors(err, j.End(context.WithoutCancel(ctx))) }()
	return f(j)
}

var errJobEnded = fail(ErrEnded, "open another by Bank.Pass")

// ID returns the id of the pass.
func (j *Job) ID() string { return j.runID }

// Tenant returns the tenant whose memory the pass works on.
func (j *Job) Tenant() string { return j.tenant }

// Now returns the bank's time.
func (j *Job) Now() time.Time { return j.bank.Now() }

// enter begins a write to a ref. Unless it fails, the caller gives j.life back.
func (j *Job) enter(ctx context.Context, ref string) (Scope, error) {
	return j.begin(func() (Scope, error) { return j.target(ctx, ref) })
}

func (j *Job) begin(target func() (Scope, error)) (s Scope, err error) {
	j.life.RLock()
	begun := false // nor is it if a part of the host ends the goroutine
	defer func() {
		if !begun {
			j.life.RUnlock()
		}
	}()
	if j.ended {
		return Scope{}, errJobEnded
	}
	s, err = target()
	begun = err == nil
	return s, err
}

// notEnded fails once the job has ended. A read that has begun goes on.
func (j *Job) notEnded() error {
	j.life.RLock()
	defer j.life.RUnlock()
	if j.ended {
		return errJobEnded
	}
	return nil
}

// beginRead resolves a ref for a read, as Bank.visible does.
func (j *Job) beginRead(ctx context.Context, ref string) (s Scope, ok bool, err error) {
	if err := j.notEnded(); err != nil {
		return Scope{}, false, err
	}
	return j.bank.visible(ctx, j.tenant, ref)
}

// Put redacts a draft and writes it, as [Run.Put] does. Only a job may backdate.
func (j *Job) Put(ctx context.Context, ref string, d Draft) (e Entry, err error) {
	if d.conditional() {
		return putOne(ctx, j.PutAll, ref, d)
	}
	ctx, span := j.Begin(ctx, telemetry.Put)
	defer span.Done(&err)
	s, err := j.enter(ctx, ref)
	if err != nil {
		return Entry{}, err
	}
	defer j.life.RUnlock()
	if e, err = j.entry(ctx, d, false, j.bank.Now()); err != nil {
		return Entry{}, err
	}
	if e, err = j.store(ctx, s, e, d); err == nil {
		span.Add(telemetry.Records.Of(1), telemetry.Redactions.Of(redactions(&d, &e)))
	}
	return e, err
}

// Delete ends the life of an entry and reports whether it was live. An id that the ref does
// not hold, or that is malformed, is no error: nothing changes. Errors: [ErrForbidden] for a
// ref that is not the tenant's; [ErrEnded]; what the store said, as [ErrInternal].
func (j *Job) Delete(ctx context.Context, ref, id string) (deleted bool, err error) {
	ctx, span := j.Begin(ctx, telemetry.Delete)
	defer span.Done(&err)
	s, err := j.enter(ctx, ref)
	if err != nil {
		return false, err
	}
	defer j.life.RUnlock()
	if !validID(id) {
		return false, nil
	}
	deleted, err = j.bank.store.Delete(ctx, s, id, j.bank.Now())
	if deleted {
		span.Add(telemetry.Records.Of(1))
	}
	return deleted, shape(err)
}

// Get returns a live entry, or [ErrNotFound].
func (j *Job) Get(ctx context.Context, ref, id string) (Entry, error) {
	if err := j.notEnded(); err != nil {
		return Entry{}, err
	}
	return j.bank.Reader(j.tenant).Get(ctx, ref, id)
}

// Live returns those of the entries that are live, in the order of the ids, in a few calls
// of the store. A ref that is not the tenant's has none. The store must be a Transactor.
func (j *Job) Live(ctx context.Context, ref string, ids []string) (live []Entry, err error) {
	ctx, span := j.Begin(ctx, telemetry.List)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Records.Of(len(live))) }()
	s, ok, err := j.beginRead(ctx, ref)
	if err == nil && j.bank.tx == nil {
		err = fail(ErrNotProvided, "reading many entries needs a store that is a driver.Transactor")
	}
	if !ok || err != nil {
		return nil, err
	}
	recs, err := lookup(ctx, j.bank.tx, s, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !validID(id) }))
	if err != nil {
		return nil, err
	}
	now := j.bank.Now()
	for _, rec := range recs {
		if rec.State == Live && !rec.Erased && rec.Entry.LiveAt(now) {
			live = append(live, ownCopy(rec.Entry))
		}
	}
	return live, nil
}

// Scan yields all live entries of a ref, newest first, and stops after an error. If the
// store is Versioned, it yields the ref as it was when the loop began: what
// is written or retired during the loop does not change it.
func (j *Job) Scan(ctx context.Context, ref string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, ok, err := j.beginRead(ctx, ref)
		if err != nil {
			yield(Entry{}, err)
		}
		if !ok || err != nil {
			return
		}
		q := driver.Query{At: j.bank.Now()}
		if j.bank.versions != nil {
			if q.Version, err = j.bank.versions.Version(ctx, j.tenant); err != nil {
				yield(Entry{}, shape(err))
				return
			}
		}
		walk(ctx, s, q, j.bank.store.List)(yield)
	}
}

// History yields the records of a ref, in every state and in no particular
// order: what was merged into what, superseded, deleted or erased. It needs a store
// that is a Transactor, and stops after an error.
func (j *Job) History(ctx context.Context, ref string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s, ok, err := j.beginRead(ctx, ref)
		if err == nil && j.bank.tx == nil {
			err = fail(ErrNotProvided, "history needs a store that is a driver.Transactor")
		}
		if err != nil {
			yield(Record{}, err)
		}
		if !ok || err != nil {
			return
		}
		for rec, err := range j.bank.tx.History(ctx, s.Tenant, driver.HistoryQuery{Ref: s.Ref}) {
			rec.Entry = ownCopy(rec.Entry)
			if !yield(rec, shape(err)) || err != nil {
				return
			}
		}
	}
}

// View returns a view of the tenant's live memory in a ref and the name of its state, as
// [Engines.View] does.
func (j *Job) View(ctx context.Context, ref string) (v *View, name string, err error) {
	if err := j.notEnded(); err != nil {
		return nil, "", err
	}
	return j.bank.liveView(ctx, j.tenant, ref)
}

// Redact takes the tenant's secrets out of text that was made from entries, as the
// bank will when it is written. Engines that must know the final form, to count
// its bytes or to address it by digest, call it first.
func (j *Job) Redact(ctx context.Context, text string) (string, error) {
	return j.clean(ctx, text, true)
}

// RedactText takes the tenant's secrets out of text that the host or a person wrote, as the
// bank will when it is stored as host text (WSR-1). What must know the final form, such as an
// ETag, calls it first.
func (j *Job) RedactText(ctx context.Context, text string) (string, error) {
	return j.clean(ctx, text, false)
}

// End closes the job: no call after it, its registry closed, its events
// acknowledged by the sink. If it fails, it can be called again.
func (j *Job) End(ctx context.Context) error {
	j.life.Lock()
	first := !j.ended
	j.ended = true
	j.life.Unlock()
	var closing error
	if first {
		closing = j.close(ctx)
	}
	return joinErrors(closing, j.bank.flush(ctx, j.tenant, j.runID))
}
