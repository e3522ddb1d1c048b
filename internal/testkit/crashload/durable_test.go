package crashload

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// durable is a store in memory that writes down every change before it acknowledges it,
// and makes all of them again when it is opened: the least that outlives its process.
type durable struct {
	*inmem.Store
	mu       sync.Mutex
	changes  *os.File
	versions map[string]driver.Version // of the store in memory, by tenant and number
	counts   map[string]int            // mutations of a tenant
	// acks is the number of changes after which one is acknowledged and not written
	// down; 0 for none.
	acks, made int
}

// written is a line of the file.
type written struct {
	Tenant    string
	Scope     driver.Scope
	ID        string
	At        time.Time
	Mutation  *driver.Mutation
	Events    []delivery // of the mutation, or those that were delivered
	EventTime []time.Time
	Puts      []placed // of the mutation
	Delete    bool
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
	Scope driver.Scope
	Entry whole
}

// delivery is an event with its payload as JSON.
type delivery struct {
	Tenant, Run, ID string
	Type            events.Type
	Payload         json.RawMessage
}

func (c *written) setEvents(recs []events.Record) {
	for i := range recs {
		c.Events = append(c.Events, delivery{recs[i].Tenant, recs[i].RunID, recs[i].ID, recs[i].Payload.EventType(), must(json.Marshal(recs[i].Payload))})
		c.EventTime = append(c.EventTime, recs[i].Time)
	}
}

func (c *written) events() []events.Record {
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

func openDurable(context.Context) (Store, func() error, error) {
	d := &durable{Store: inmem.New(), versions: map[string]driver.Version{}, counts: map[string]int{}}
	if os.Getenv(envLoses) != "" {
		d.acks = 40
	}
	var err error
	if d.changes, err = os.OpenFile(os.Getenv(envChanges), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, nil, err
	}
	var all []written
	for lines := json.NewDecoder(d.changes); ; {
		var c written
		if err := lines.Decode(&c); err != nil { // what it was writing when it was killed
			if err := d.changes.Truncate(lines.InputOffset()); err != nil {
				return nil, nil, err
			}
			break
		}
		all = append(all, c)
	}
	for i := range all {
		_, _ = d.make(&all[i]) // it fails where one before it was lost
	}
	return d, d.changes.Close, nil
}

// result is what a change came to.
type result struct {
	applied driver.Applied
	hit     bool
}

// make makes a change in memory. Revisions are the same as when it was made first, since
// the changes are.
func (d *durable) make(c *written) (r result, err error) {
	ctx := context.Background()
	switch {
	case c.Mutation != nil:
		m := *c.Mutation
		m.Events = c.events()
		for _, p := range c.Puts {
			m.Put = append(m.Put, driver.Placed{Scope: p.Scope, Entry: driver.Entry(p.Entry)})
		}
		r.applied, err = d.Store.Apply(ctx, c.Tenant, m)
		if err == nil && r.applied.Version != "" {
			r.applied.Version = d.counted(c.Tenant, r.applied.Version)
		}
	case c.Delete:
		if r.hit, err = d.Store.Delete(ctx, c.Scope, c.ID, c.At); err == nil {
			v, _ := d.Store.Version(ctx, c.Scope.Tenant)
			d.counted(c.Scope.Tenant, v)
		}
	default:
		err = d.Store.Delivered(ctx, c.events())
	}
	return r, err
}

// counted names a version by a number, which is the same when the changes are made
// again.
func (d *durable) counted(tenant string, v driver.Version) driver.Version {
	d.counts[tenant]++
	d.versions[tenant+number(d.counts[tenant])] = v
	return driver.Version(number(d.counts[tenant]))
}

func number(n int) string { return fmt.Sprint("v", n) }

// do makes a change and writes it down.
func (d *durable) do(ctx context.Context, c written) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r, err := d.make(&c)
	if err != nil {
		return r, err
	}
	if d.made++; d.acks > 0 && d.made%d.acks == 0 {
		return r, nil
	}
	return r, json.NewEncoder(d.changes).Encode(c)
}

func (d *durable) Delete(ctx context.Context, at driver.Scope, id string, when time.Time) (bool, error) {
	r, err := d.do(ctx, written{Scope: at, ID: id, At: when, Delete: true})
	return r.hit, err
}

func (d *durable) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	c := written{Tenant: tenant}
	c.setEvents(m.Events)
	for _, p := range m.Put {
		c.Puts = append(c.Puts, placed{p.Scope, whole(p.Entry)})
	}
	m.Events, m.Put = nil, nil
	c.Mutation = &m
	r, err := d.do(ctx, c)
	return r.applied, err
}

func (d *durable) Delivered(ctx context.Context, recs []events.Record) error {
	var c written
	c.setEvents(recs)
	_, err := d.do(ctx, c)
	return err
}

func (d *durable) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	_, err := d.Apply(ctx, s.Tenant, driver.Mutation{Put: []driver.Placed{{Scope: s, Entry: e}}})
	return err
}

// settled waits for the change that is under way, so that no call acts on what is not
// written down.
func (d *durable) settled() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

func (d *durable) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	var recs []events.Record
	for rec := range d.Store.Undelivered(ctx, tenant, runID) {
		recs = append(recs, rec)
	}
	d.settled()
	return func(yield func(events.Record, error) bool) {
		for _, rec := range recs {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (d *durable) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	var list []driver.Document
	for doc := range d.Store.Documents(ctx, q) {
		list = append(list, doc)
	}
	d.settled()
	return func(yield func(driver.Document, error) bool) {
		for _, doc := range list {
			if !yield(doc, nil) {
				return
			}
		}
	}
}

func (d *durable) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	list, err := d.Store.Due(ctx, kind, at, limit)
	d.settled()
	return list, err
}

func (d *durable) Version(_ context.Context, tenant string) (driver.Version, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return driver.Version(number(d.counts[tenant])), nil
}

// of is the version of the store in memory.
func (d *durable) of(ctx context.Context, tenant string, v driver.Version) (driver.Version, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.versions[tenant+string(v)]; ok {
		return known, nil
	}
	return "", driver.ErrSnapshotUnavailable
}

func (d *durable) List(ctx context.Context, at driver.Scope, q driver.Query) ([]driver.Entry, error) {
	if q.Version != "" {
		v, err := d.of(ctx, at.Tenant, q.Version)
		if err != nil {
			return nil, err
		}
		q.Version = v
	}
	return d.Store.List(ctx, at, q)
}

func (d *durable) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	evs, err := d.Store.Read(ctx, tenant, runID, from, limit)
	d.settled()
	return evs, err
}
