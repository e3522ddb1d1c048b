package crashload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// lane is a sequence of operations on entries, documents and events that no other lane
// touches. They are drawn from a seed and from what the operations before have come to, so
// that the log needs no more than their outcomes to know what they were.
type lane struct {
	number int64
	tenant string
	rng    *rand.Rand
	model  *inmem.Store    // what the operations have made
	count  int             // of operations
	kept   []events.Record // by the last operation that kept some
	// revs are the revisions that the store has given, by those of the model, and highest
	// the highest one of each document.
	revs    map[int64]int64
	highest map[docName]int64
}

// laneLength is how many operations a lane has, if each outcome is known.
const laneLength = 60

// lanePrefix begins the name of a lane, which is in all its refs, keys and ids.
const lanePrefix = "lane-"

// epoch is the time of the first operation of a lane. Each comes a millisecond later.
var epoch = time.UnixMilli(1_777_636_800_000).UTC()

var tenants = []string{"acme", "globex"}

func newLane(seed uint64, number int64) *lane {
	return &lane{
		number: number, tenant: tenants[number%int64(len(tenants))], rng: rand.New(rand.NewPCG(seed, uint64(number))),
		model: inmem.New(), revs: map[int64]int64{}, highest: map[docName]int64{},
	}
}

func (l *lane) name() string { return fmt.Sprint(lanePrefix, l.number) }

// laneOf is the name of the lane in a ref, key or id; empty if there is none.
func laneOf(text string) string { return laneName.FindString(text) }

var laneName = regexp.MustCompile(`^` + lanePrefix + `\d+`)

func (l *lane) scope(i int) driver.Scope {
	return driver.Scope{Tenant: l.tenant, Ref: fmt.Sprint(l.name(), "/", i%2)}
}

// operation is a mutation with the revisions of the model, or a call of one of the
// Adapter's two.
type operation struct {
	driver.Mutation
	plain   bool            // by Put
	deletes *driver.Located // by Delete; the mutation is nothing then
	counted bool            // adds one to the count of the tenant
	reads   *driver.Scope   // after it the lane notes what this scope holds
}

// must is for what the model cannot fail at.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// next draws the next operation.
func (l *lane) next() operation {
	l.count++
	op := operation{Mutation: driver.Mutation{At: epoch.Add(time.Duration(l.count) * time.Millisecond)}, counted: l.rng.IntN(4) == 0}
	if l.rng.IntN(8) == 0 {
		op.reads = new(l.scope(l.rng.IntN(2)))
	}
	records := l.records()
	documents := must(gather(l.model.Documents(context.Background(), driver.DocumentQuery{Tenant: l.tenant, EveryRef: true})))
	switch l.rng.IntN(10) {
	case 0:
		op.plain, op.counted = true, false
		l.put(&op, 1)
	case 1:
		if len(records) > 0 {
			op.counted, op.deletes = false, &driver.Located{Scope: records[0].Scope, ID: records[0].Entry.ID}
			break
		}
		fallthrough
	case 2:
		l.swap(&op, documents, nil, driver.Machinery)
	case 3:
		l.announce(&op, true)
	default:
		l.put(&op, 1+l.rng.IntN(5))
		l.change(&op, records)
		l.swap(&op, documents, records, driver.Machinery, driver.Content, driver.HostText)
		l.announce(&op, l.rng.IntN(3) == 0)
	}
	return op
}

// records are those of the model, shuffled.
func (l *lane) records() []driver.Record {
	records := must(gather(l.model.History(context.Background(), l.tenant, driver.HistoryQuery{})))
	slices.SortFunc(records, func(a, b driver.Record) int { return strings.Compare(a.Entry.ID, b.Entry.ID) })
	l.rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return records
}

func (l *lane) put(op *operation, n int) {
	for i := range n {
		e := driver.Entry{
			ID: fmt.Sprintf("%s_%d_%d", l.name(), l.count, i), Content: fmt.Sprintf("Note %x.", l.rng.Uint64()),
			Tags: []string{fmt.Sprintf("member %d of %d", i+1, n)}, CreatedAt: op.At, RunID: l.name(),
		}
		if l.rng.IntN(64) == 0 {
			e.Content = strings.Repeat(e.Content, 1000) // so that a store has to keep it in pieces
		}
		if l.rng.IntN(3) == 0 {
			e.Subjects = []string{fmt.Sprintf("%s_case_%d", l.name(), l.rng.IntN(5))}
		}
		if l.rng.IntN(8) == 0 {
			e.ExpiresAt = op.At.Add(time.Duration(1+l.rng.IntN(20)) * time.Millisecond)
		}
		if i > 1 {
			e.Sources = []string{op.Put[i-2].Entry.ID}
		}
		op.Put = append(op.Put, driver.Placed{Scope: l.scope(i), Entry: e})
	}
}

// change ends, restores and erases a few of the records.
func (l *lane) change(op *operation, records []driver.Record) {
	for _, rec := range records[:min(len(records), 4)] {
		at := rec.Located()
		ended := rec.State == driver.Merged || rec.State == driver.Superseded
		switch {
		case l.rng.IntN(8) == 0:
			op.Erase = append(op.Erase, at)
		case ended && !rec.Erased && l.rng.IntN(2) == 0:
			op.Restore = append(op.Restore, at)
		case rec.State == driver.Live && !rec.Erased && rec.Entry.LiveAt(op.At):
			end := driver.Retirement{Located: at, State: driver.Deleted}
			successor := slices.IndexFunc(op.Put, func(p driver.Placed) bool { return p.Scope == rec.Scope })
			if successor >= 0 && l.rng.IntN(4) > 0 {
				end.State, end.For = driver.Merged+driver.State(l.rng.IntN(2)), op.Put[successor].Entry.ID
			}
			op.Retire = append(op.Retire, end)
		}
	}
}

// documentKinds are the kinds of a lane's documents, by their class.
var documentKinds = map[driver.Class]string{
	driver.Machinery: "load/machinery", driver.Content: "load/content", driver.HostText: "load/text",
}

// swap changes one document of each of the classes.
func (l *lane) swap(op *operation, documents []driver.Document, records []driver.Record, classes ...driver.Class) {
	for _, class := range classes {
		d := driver.Document{Scope: l.scope(l.rng.IntN(2)), Class: class, Kind: documentKinds[class], Key: fmt.Sprintf("%s_%d", l.name(), l.rng.IntN(3))}
		if class != driver.Content && l.rng.IntN(2) == 0 {
			d.Ref = "" // the tenant's own
		}
		i := slices.IndexFunc(documents, func(o driver.Document) bool { return nameOf(&o) == nameOf(&d) })
		acts := []driver.Act{driver.Set, driver.Set, driver.Check, driver.Remove}
		if i >= 0 {
			d.Rev = documents[i].Rev
			acts = append(acts, driver.Retain)
		}
		act := acts[l.rng.IntN(len(acts))]
		if l.rng.IntN(16) == 0 {
			d.Rev = staleRev
		}
		if act == driver.Set {
			d.Value = bytes.Repeat(fmt.Appendf(nil, "%x", l.rng.Uint64()), 1+l.rng.IntN(40))
		}
		switch class {
		case driver.Machinery:
			if l.rng.IntN(2) == 0 {
				d.Due = op.At.Add(time.Duration(l.rng.IntN(1000)) * time.Millisecond)
			}
			d.Group = fmt.Sprintf("%s_group", l.name())
		case driver.Content:
			for _, rec := range records {
				if rec.Scope == d.Scope && !rec.Erased && len(d.Of) < 2 {
					d.Of = append(d.Of, rec.Entry.ID)
				}
			}
			d.Whole = len(d.Of) == 0
		case driver.HostText:
			d.Subjects = []string{fmt.Sprintf("%s_case_%d", l.name(), l.rng.IntN(5))}
		}
		op.Documents = append(op.Documents, driver.DocumentSwap{Document: d, Act: act})
	}
}

// staleRev is a revision that no document of a model has.
const staleRev = 1 << 40

// keptRuns is how many runs the lanes of a tenant share, in which events are kept.
const keptRuns = 3

func keptRun(i int) string { return fmt.Sprint("kept-", i) }

// announce has a mutation tell of its entries, or keep events in a run that others write
// to, and then at times some that the store has.
func (l *lane) announce(op *operation, keep bool) {
	op.Keep = keep
	run := keptRun(l.rng.IntN(keptRuns))
	if keep && len(l.kept) > 0 && l.rng.IntN(3) == 0 {
		op.Events = slices.Clone(l.kept)
	}
	for i := range 1 + l.rng.IntN(3) {
		rec := events.Record{ID: fmt.Sprintf("%s_%d_%d", l.name(), l.count, i), Tenant: l.tenant, RunID: run, Time: op.At}
		if rec.Payload = (events.HostPayload{Type: "node.completed", JSON: []byte(`{"output":"x"}`)}); !keep {
			rec.RunID, rec.Payload = l.name(), events.MemoryWritten{MemoryRef: l.scope(i).Ref, MemoryID: rec.ID}
		}
		op.Events = append(op.Events, rec)
	}
}

// ours translates the revisions of an operation into those of the store.
func (l *lane) ours(op operation) driver.Mutation {
	m := op.Mutation
	m.Documents = slices.Clone(m.Documents)
	for i := range m.Documents {
		if rev, known := l.revs[m.Documents[i].Rev]; known {
			m.Documents[i].Rev = rev
		}
	}
	return m
}

// accept makes an operation in the model that the store has acknowledged with an outcome. The
// error says what the store has done wrong.
func (l *lane) accept(op operation, out outcome) error {
	hit, made, err := l.perform(context.Background(), l.model, op, op.Mutation)
	switch {
	case errors.Is(err, driver.ErrConflict):
		return errors.New("it acknowledged what it has to refuse")
	case err != nil:
		return fmt.Errorf("crashload: the load is wrong: %w", err)
	case hit != out.Hit:
		return errors.New("it told wrong whether it deleted something")
	case len(out.Revs) != len(op.Documents):
		return fmt.Errorf("it gave %d revisions for %d documents", len(out.Revs), len(op.Documents))
	}
	if op.Keep {
		l.kept = op.Events
	}
	for i, rev := range out.Revs {
		x := &op.Documents[i]
		name := nameOf(&x.Document)
		if (rev == 0) != (made[i] == 0) || rev != 0 && x.Act != driver.Check && rev <= l.highest[name] {
			return errors.New("the revision of a document went back")
		}
		l.revs[made[i]], l.highest[name] = rev, max(rev, l.highest[name])
	}
	return nil
}

// perform gives an operation to a store, with a mutation of its own revisions. The revisions that
// it returns are those of the operation's documents.
func (l *lane) perform(ctx context.Context, st driver.Transactor, op operation, m driver.Mutation) (hit bool, revs []int64, err error) {
	switch {
	case op.deletes != nil:
		hit, err = st.Delete(ctx, op.deletes.Scope, op.deletes.ID, op.At)
		return hit, nil, err
	case op.plain:
		return false, nil, st.Put(ctx, m.Put[0].Scope, m.Put[0].Entry)
	case op.counted:
		count, counts, err := countsOf(ctx, st, l.tenant)
		if err != nil {
			return false, nil, err
		}
		counts[l.name()]++
		count.Value, _ = json.Marshal(counts)
		m.Documents = append(slices.Clone(m.Documents), driver.DocumentSwap{Document: count})
	}
	made, err := st.Apply(ctx, l.tenant, m)
	return false, made.Revs[:min(len(made.Revs), len(op.Documents))], err
}

// countKind is the document in which the lanes of a tenant count operations together.
const countKind = "load/count"

// countsOf returns that document, with its revision, and what it says of each lane.
func countsOf(ctx context.Context, store driver.Transactor, tenant string) (driver.Document, map[string]int, error) {
	count, counts := driver.Document{Scope: driver.Scope{Tenant: tenant}, Kind: countKind, Key: "operations"}, map[string]int{}
	found, err := gather(store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, Kind: countKind}))
	if err == nil && len(found) > 0 {
		count = found[0]
		err = json.Unmarshal(count.Value, &counts)
	}
	return count, counts, err
}
