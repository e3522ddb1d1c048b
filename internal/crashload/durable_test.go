package crashload

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// durable are stores in memory that write down every change before they acknowledge it,
// and make all of them again when they are opened: the least that outlives its process.
type durable struct {
	mu       sync.Mutex
	changes  *lines
	memory   *inmem.Store //
	versions map[place]memory.Version
	counts   map[string]int // mutations of a tenant
	swaps    *commitment.InMemory
	archives *distill.MemoryStore
	files    *distill.MemoryWorkspace
	told     *gate
	// acks is the number of changes after which one is acknowledged and not written
	// down; 0 for none.
	acks, made int
}

// change is a line of the file.
type change struct {
	Tenant    string
	Scope     memory.Scope
	ID        string
	At        time.Time
	Mutation  *memory.Mutation
	Events    []delivery // of the mutation, or those that were delivered
	EventTime []time.Time
	Put       *whole
	Puts      []placed // of the mutation
	Delete    bool
	Delivered bool
	Swap      *commitment.Commitment
	Key       *distill.Digest
	Archive   []byte
	Write     *distill.Write
}

// whole is an entry with what its own JSON form leaves out.
type whole struct {
	ID, Content          string
	Tags                 []string
	CreatedAt, ExpiresAt time.Time
	RunID                string
	Subjects, Sources    []string
}

type placed struct {
	Scope memory.Scope
	Entry whole
}

func (c *change) setEvents(recs []events.Record) {
	for _, r := range recs {
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			panic(err)
		}
		c.Events = append(c.Events, delivery{r.Tenant, r.RunID, r.ID, r.Payload.EventType(), payload})
		c.EventTime = append(c.EventTime, r.Time)
	}
}

func (c *change) events() []events.Record {
	var recs []events.Record
	for i, d := range c.Events {
		payload, err := events.Decode(d.Type, d.Payload)
		if err != nil {
			panic(err)
		}
		recs = append(recs, events.Record{ID: d.ID, Tenant: d.Tenant, RunID: d.Run, Time: c.EventTime[i], Payload: payload})
	}
	return recs
}

const (
	envChanges = "AGENTMEMORY_CRASHLOAD_CHANGES" // the file
	envLoses   = "AGENTMEMORY_CRASHLOAD_LOSES"   // set: one change in so many is lost
)

// gate keeps the events of files back until their change is written down.
type gate struct {
	events.Sink
	open bool
}

func (g *gate) Emit(ctx context.Context, recs ...events.Record) error {
	if !g.open {
		return errors.New("not yet")
	}
	return g.Sink.Emit(ctx, recs...)
}

func openDurable(_ context.Context, log *Log) (Stores, error) {
	told := &gate{Sink: log}
	d := &durable{
		told:   told,
		memory: inmem.New(), versions: map[place]memory.Version{}, counts: map[string]int{}, swaps: commitment.NewInMemory(),
		archives: distill.NewMemoryStore(), files: distill.NewMemoryWorkspace(told),
	}
	if os.Getenv(envLoses) != "" {
		d.acks = 40
	}
	var err error
	if d.changes, err = openLines(filepath.Clean(os.Getenv(envChanges))); err != nil {
		return Stores{}, err
	}
	all, err := readLines[change](d.changes)
	if err != nil {
		return Stores{}, err
	}
	for i := range all {
		_ = d.make(&all[i], nil) // it fails where one before it was lost
	}
	return Stores{Memory: durableMemory{d.memory, d}, Commitments: durableSwaps{d.swaps, d}, Archives: durableArchives{d.archives, d},
		Workspace: durableFiles{d.files, d}, Close: d.changes.f.Close}, nil
}

// make makes a change in memory.
func (d *durable) make(c *change, out func(any)) error {
	ctx := context.Background()
	var result any
	var err error
	switch {
	case c.Mutation != nil:
		m := *c.Mutation
		m.Events = c.events()
		for _, p := range c.Puts {
			m.Put = append(m.Put, memory.Placed{Scope: p.Scope, Entry: memory.Entry(p.Entry)})
		}
		var v memory.Version
		if v, err = d.memory.Apply(ctx, c.Tenant, m); err == nil {
			d.counted(c.Tenant, v)
		}
	case c.Put != nil:
		err = d.memory.Put(ctx, c.Scope, memory.Entry(*c.Put))
	case c.Delete:
		result, err = d.memory.Delete(ctx, c.Scope, c.ID, c.At)
	case c.Delivered:
		err = d.memory.Delivered(ctx, c.events())
	case c.Swap != nil:
		result, err = d.swaps.Swap(ctx, *c.Swap)
	case c.Key != nil:
		result, err = d.archives.Keep(ctx, c.Scope, *c.Key, c.Archive, c.At)
	case c.Write != nil:
		result, err = d.files.WriteFile(ctx, *c.Write)
	}
	if err == nil && (c.Put != nil || c.Delete) {
		var v memory.Version
		if v, err = d.memory.Version(ctx, c.Scope.Tenant); err == nil {
			d.counted(c.Scope.Tenant, v)
		}
	}
	if out != nil {
		out(result)
	}
	return err
}

// counted names a version by a number, which is the same when the changes are made
// again.
func (d *durable) counted(tenant string, v memory.Version) {
	d.counts[tenant]++
	d.versions[place{tenant, number(d.counts[tenant])}] = v
}

func number(n int) string { return runOf(int64(n)) }

// do makes a change and writes it down.
func (d *durable) do(ctx context.Context, c change, out func(any)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.make(&c, out); err != nil {
		return err
	}
	if d.made++; d.acks > 0 && d.made%d.acks == 0 {
		return nil
	}
	if err := d.changes.add(c); err != nil || c.Write == nil {
		return err
	}
	return d.flush(ctx)
}

// flush delivers the events of files that are written down.
func (d *durable) flush(ctx context.Context) error {
	d.told.open = true
	defer func() { d.told.open = false }()
	return d.files.Flush(ctx)
}

type durableMemory struct {
	*inmem.Store
	d *durable
}

func (s durableMemory) Put(ctx context.Context, at memory.Scope, e memory.Entry) error {
	w := whole(e)
	return s.d.do(ctx, change{Scope: at, Put: &w}, nil)
}

func (s durableMemory) Delete(ctx context.Context, at memory.Scope, id string, when time.Time) (hit bool, err error) {
	err = s.d.do(ctx, change{Scope: at, ID: id, At: when, Delete: true}, func(r any) { hit, _ = r.(bool) })
	return hit, err
}

func (s durableMemory) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	c := change{Tenant: tenant}
	c.setEvents(m.Events)
	for _, p := range m.Put {
		c.Puts = append(c.Puts, placed{p.Scope, whole(p.Entry)})
	}
	m.Events, m.Put = nil, nil
	c.Mutation = &m
	if err := s.d.do(ctx, c, nil); err != nil {
		return "", err
	}
	return s.Version(ctx, tenant)
}

func (s durableMemory) Delivered(ctx context.Context, recs []events.Record) error {
	c := change{Delivered: true}
	c.setEvents(recs)
	return s.d.do(ctx, c, nil)
}

// Undelivered waits for the change that is under way, so that nobody delivers what is not
// written down.
func (s durableMemory) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.Store.Undelivered(ctx, q)
}

func (s durableMemory) Version(_ context.Context, tenant string) (memory.Version, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return memory.Version(number(s.d.counts[tenant])), nil
}

// of is the version of the store in memory.
func (s durableMemory) of(ctx context.Context, tenant string, v memory.Version) (memory.Version, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if known, ok := s.d.versions[place{tenant, string(v)}]; ok {
		return known, nil
	}
	if v == memory.Version(number(0)) {
		return inmem.New().Version(ctx, tenant)
	}
	return "", memory.ErrSnapshotUnavailable
}

func (s durableMemory) ListAt(ctx context.Context, at memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	v, err := s.of(ctx, at.Tenant, v)
	if err != nil {
		return nil, err
	}
	return s.Store.ListAt(ctx, at, v, q)
}

type durableSwaps struct {
	*commitment.InMemory
	d *durable
}

func (s durableSwaps) Swap(ctx context.Context, c commitment.Commitment) (rev int64, err error) {
	c.Waiting = slices.Clone(c.Waiting)
	err = s.d.do(ctx, change{Swap: &c}, func(r any) { rev, _ = r.(int64) })
	return rev, err
}

func (s durableSwaps) Get(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.InMemory.Get(ctx, tenant, id)
}

func (s durableSwaps) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.InMemory.Due(ctx, now, limit)
}

type durableArchives struct {
	*distill.MemoryStore
	d *durable
}

func (s durableArchives) Keep(ctx context.Context, at memory.Scope, key distill.Digest, data []byte, when time.Time) (address distill.Digest, err error) {
	err = s.d.do(ctx, change{Scope: at, Key: &key, Archive: data, At: when}, func(r any) { address, _ = r.(distill.Digest) })
	return address, err
}

type durableFiles struct {
	*distill.MemoryWorkspace
	d *durable
}

func (s durableFiles) WriteFile(ctx context.Context, w distill.Write) (f distill.File, err error) {
	err = s.d.do(ctx, change{Write: &w}, func(r any) { f, _ = r.(distill.File) })
	return f, err
}

func (s durableFiles) Flush(ctx context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.d.flush(ctx)
}
