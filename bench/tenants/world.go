package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const (
	ref    = "agent/support"
	secret = "live-7Qm2vT9x-Zr41" // which no entry may hold

	// A tenant of the first half is filled with few entries, one of the second half with
	// many, so that the size of a tenant and that of an entry can be told apart.
	few, many = 1, 9
	// armedEvery says how many tenants there are to one with a commitment that is due
	// some time in the thirty days to come.
	armedEvery = 10

	shortLife = time.Hour // of entries that expire
)

// world is one database with as many tenants, and what is known to be in it.
type world struct {
	tenants int
	db      database
	close   func() error
	bank    *memory.Bank
	ranker  *recall.Ranker
	engine  *commitment.Engine
	ahead   atomic.Int64 // of the clock, in nanoseconds

	books     []book // by tenant
	delivered delivered
	armed     atomic.Int64 // commitments of the clients, which are due within seconds
	settled   atomic.Int64 // commitments that have fired or lapsed
	runs      atomic.Int64
	recalled  atomic.Int64 // tenants about which something was recalled, each of which has an index

	latencies latencies
	busy      time.Duration // that clients have worked
	watched   []watched
	report    worldReport
}

// book is what a tenant is known to have.
type book struct {
	mu      sync.Mutex
	live    map[string]kept // by id
	put     int             // entries that clients have written
	recalls int             // questions so far
}

type kept struct {
	expires time.Time // zero: never
	subject string
}

func (k kept) liveAt(t time.Time) bool { return k.expires.IsZero() || t.Before(k.expires) }

// delivered is the sink: it keeps the ids of the entries that it was told of.
type delivered struct {
	mu  sync.Mutex
	ids map[string]string // tenant, by id
	err error             // what should not be
}

func (d *delivered) Emit(_ context.Context, recs ...events.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range recs {
		if p, ok := recs[i].Payload.(events.MemoryWritten); ok {
			if t, known := d.ids[p.MemoryID]; known && t != recs[i].Tenant {
				d.err = errors.New("an event came for two tenants")
			}
			d.ids[p.MemoryID] = recs[i].Tenant
		}
	}
	return nil
}

// tenantName is the name of tenant i. Its place among the names has nothing to do with i,
// so that a sample of tenants in their order is one of all.
func tenantName(i int) string {
	z := uint64(i) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	return fmt.Sprintf("%08x-tenant-%d", uint32(z>>32), i)
}

var words = strings.Fields(`customer delivery before noon weekday invoice refund parcel warehouse driver address
	telephone complaint discount contract renewal summer winter order number colour size stock supplier
	meeting monday thursday report manager approval budget travel hotel ticket seat window garden`)

// text is about 250 characters, and names the tenant that it belongs to.
func text(r *rand.Rand, tenant string) string {
	var b strings.Builder
	b.WriteString("For " + tenant + ":")
	for b.Len() < 240 {
		b.WriteString(" " + words[r.IntN(len(words))])
	}
	return b.String() + "."
}

// newWorld fills a database, and tells in the report what that takes on the disk.
func newWorld(ctx context.Context, db database, tenants int, seed uint64) (*world, error) {
	w := &world{tenants: tenants, db: db, books: make([]book, tenants), delivered: delivered{ids: map[string]string{}}}
	start := time.Now()
	w.ahead.Store(int64(-3 * shortLife)) // so that what expires has done so when it is noted
	empty, err := w.sizeAfter(ctx, func() error { return w.fill(ctx, 0, 0, 0, seed) })
	if err != nil {
		return nil, err
	}
	first, err := w.sizeAfter(ctx, func() error { return w.fill(ctx, 0, tenants/2, few, seed) })
	if err != nil {
		return nil, err
	}
	second, err := w.sizeAfter(ctx, func() error { return w.fill(ctx, tenants/2, tenants, many, seed) })
	if err != nil {
		return nil, err
	}
	w.ahead.Store(0)
	full, err := w.sizeAfter(ctx, func() error { return w.arm(ctx, seed) })
	if err != nil {
		return nil, err
	}
	half := float64(tenants / 2)
	entry := (float64(second-first) - float64(first-empty)) / (half * (many - few))
	w.report = worldReport{
		Tenants: tenants, Entries: tenants/2*few + (tenants-tenants/2)*many, FillSeconds: time.Since(start).Seconds(),
		DiskBytes: full, IndexBytes: w.report.IndexBytes, EntryBytes: entry, TenantBytes: float64(first-empty)/half - few*entry,
		ArmedBytes: float64(full-second) / float64((tenants+armedEvery-1)/armedEvery),
	}
	return w, w.open(ctx, false)
}

// sizeAfter is the size of the database after f.
func (w *world) sizeAfter(ctx context.Context, f func() error) (int64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	all, indexes, err := w.db.size(ctx)
	w.report.IndexBytes = indexes
	return all, err
}

// open makes the bank and the engines over the database.
func (w *world) open(ctx context.Context, relaxed bool) error {
	store, done, err := w.db.open(ctx, relaxed)
	if err != nil {
		return err
	}
	w.close = done
	if w.ranker, err = recall.New(recall.Config{}); err != nil {
		return errors.Join(err, done())
	}
	w.bank, err = memory.New(store, memory.Config{
		Now: w.now, Sink: &w.delivered, WriteEvents: true, Ranker: w.ranker,
	})
	if err != nil {
		return errors.Join(err, done())
	}
	// The engine has a bank of its own, so that ticks are timed apart from rounds.
	ticking, err := memory.New(store, memory.Config{Now: w.now, Sink: &w.delivered, WriteEvents: true})
	if err != nil {
		return errors.Join(err, done())
	}
	w.engine, err = commitment.New(ticking, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) { return registry() },
		Enqueuer: w,
	})
	return err
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// Enqueue starts no run, but says that it did.
func (*world) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	return "run-" + f.Key[:min(len(f.Key), 60)], nil
}

// registry is a run's registry, with three secrets.
func registry() (*redact.SecretRegistry, error) {
	secrets := redact.New(redact.Config{})
	for i, value := range []string{secret, "pw-Yt83nB0q-kk21", "tok-1c9a77e0b4d2"} {
		if err := secrets.Register(fmt.Sprint("key-", i), []byte(value)); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

// fillers is how many goroutines fill.
const fillers = 4

// fill gives the tenants from one to before another n entries each, in one mutation of
// the store: the last of them expires soon, if there are several.
func (w *world) fill(ctx context.Context, from, to, n int, seed uint64) error {
	store, done, err := w.db.open(ctx, true)
	if err != nil {
		return err
	}
	st, ok := store.(driver.Transactor)
	if !ok {
		return errors.New("the store takes no mutations")
	}
	var group sync.WaitGroup
	errs := make([]error, fillers)
	for k := range fillers {
		group.Go(func() {
			for i := from + k; i < to && errs[k] == nil; i += fillers {
				errs[k] = w.fillTenant(ctx, st, i, n, rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	group.Wait()
	return errors.Join(errors.Join(errs...), done())
}

func (w *world) fillTenant(ctx context.Context, st driver.Transactor, i, n int, r *rand.Rand) error {
	now := w.now().UTC().Truncate(time.Millisecond)
	tenant := tenantName(i)
	scope := driver.Scope{Tenant: tenant, Ref: ref}
	w.books[i].live = map[string]kept{}
	m := driver.Mutation{At: now}
	for k := range n {
		e := driver.Entry{
			ID: fmt.Sprintf("mem_fill%022d", k), Content: text(r, tenant), Tags: []string{"note", "delivery"},
			CreatedAt: now.Add(-time.Duration(n-k) * time.Hour), RunID: "run-fill",
		}
		if k == n-1 && n > 1 {
			e.ExpiresAt = now.Add(shortLife)
		}
		w.books[i].live[e.ID] = kept{expires: e.ExpiresAt}
		m.Put = append(m.Put, driver.Placed{Scope: scope, Entry: e})
	}
	_, err := st.Apply(ctx, tenant, m)
	return err
}

// arm arms a commitment for one in ten tenants, due in the thirty days to come.
func (w *world) arm(ctx context.Context, seed uint64) error {
	if err := w.open(ctx, true); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 7))
	for i := 0; i < w.tenants; i += armedEvery {
		at := w.now().Add(shortLife + time.Duration(r.Int64N(int64(30*24*time.Hour))))
		if err := w.armFor(ctx, i, fmt.Sprintf("mem_fill%022d", 0), at); err != nil {
			return errors.Join(err, w.close())
		}
	}
	return w.close()
}

func (w *world) armFor(ctx context.Context, i int, id string, at time.Time) error {
	secrets, err := registry()
	if err != nil {
		return err
	}
	return w.bank.Pass(ctx, memory.JobConfig{ID: "pass-arm", Tenant: tenantName(i), Redactor: secrets}, func(j *memory.Job) error {
		_, err := w.engine.Arm(ctx, j, commitment.Source{Ref: ref, MemoryID: id}, commitment.Arm{At: at})
		return err
	})
}
