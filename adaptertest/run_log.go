package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openwop/agentmemory/events"
)

// LogConfig says how [RunLog] gets at a host's log of run events.
type LogConfig struct {
	// New returns a fresh, empty log. A log that is an io.Closer is closed after its case.
	// New is required.
	New func(ctx context.Context) (events.RunLog, error)
	// Reopen opens the data of a log again, after the kit has closed it, if it is an
	// io.Closer. Nil means that nothing outlives the log.
	Reopen func(ctx context.Context, log events.RunLog) (events.RunLog, error)
	// Crash opens the data of a log again as they are where the log keeps them, as after a
	// kill of its process: the log is not closed before. Nil means that the kit cannot say
	// what a kill leaves.
	Crash func(ctx context.Context, log events.RunLog) (events.RunLog, error)
	// Seed chooses the random steps.
	Seed uint64
}

// RunLog proves, by one subtest for each case, that a host's own log of run events keeps
// what [events.RunLog] says (E3): nothing is lost, doubled or reordered; the events of a run
// have sequences from 0 without gaps; an id is there once in a run; a batch is there whole or
// not at all, also for readers meanwhile; and all that was acknowledged is there when the log is
// opened again. A host whose log has another way to be read wraps it.
//
// A store that keeps events (driver.EventKeeper) is proven by [Run].
func RunLog(t *testing.T, cfg LogConfig) {
	t.Helper()
	for _, c := range logCases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			if c.name == "reopened" && cfg.Reopen == nil || c.name == "killed" && cfg.Crash == nil {
				t.Skip("LogConfig does not say how a log is opened again")
			}
			if err := cfg.prove(t.Context(), c); err != nil {
				t.Errorf("E3/%s: %s: %v", c.name, c.proves, err)
			}
		})
	}
}

// logCase is one proof about a log.
type logCase struct {
	name   string
	proves string
	run    func(l *logWorld)
}

var logCases = []logCase{
	{"model", "random batches leave what a model has, on each page, and batches that fail leave nothing", func(l *logWorld) { l.explore(func() {}) }},
	{"racing", "of batches that callers emit at once none is lost, doubled, torn or reordered", logRacing},
	{"reopened", "a log that is opened again has all that was acknowledged, and goes on with the next number", func(l *logWorld) { l.explore(l.reopen) }},
	{"killed", "what a kill leaves has all that was acknowledged", func(l *logWorld) { l.explore(l.crash) }},
}

// prove runs one case on a log of its own. The error says what was wrong.
func (cfg LogConfig) prove(ctx context.Context, c logCase) (err error) {
	if cfg.New == nil {
		return errors.New("LogConfig.New is not set")
	}
	l := &logWorld{ctx: ctx, cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 21))}
	defer func() {
		for _, log := range l.opened {
			if c, ok := log.(io.Closer); ok {
				err = errors.Join(err, c.Close())
			}
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	l.use(cfg.New(ctx))
	c.run(l)
	return nil
}

// logWorld is what a case about a log works in.
type logWorld struct {
	ctx    context.Context
	cfg    LogConfig
	rng    *rand.Rand
	log    events.RunLog
	opened []events.RunLog
	model  logModel
}

// check ends the case unless ok.
func (l *logWorld) check(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf(format, args...))
	}
}

func (l *logWorld) use(log events.RunLog, err error) {
	l.check(err == nil && log != nil, "the log does not open: %v", err)
	l.log, l.opened = log, append(l.opened, log)
}

func (l *logWorld) reopen() {
	old := l.log
	if c, ok := old.(io.Closer); ok {
		l.opened = l.opened[:len(l.opened)-1]
		err := c.Close()
		l.check(err == nil, "the log does not close: %v", err)
	}
	l.use(l.cfg.Reopen(l.ctx, old))
}

func (l *logWorld) crash() { l.use(l.cfg.Crash(l.ctx, l.log)) }

// emit emits records to the log and to the model.
func (l *logWorld) emit(recs ...events.Record) {
	err := l.log.Emit(l.ctx, recs...)
	l.check(err == nil, "Emit of %d valid records failed: %v", len(recs), err)
	l.model.emit(recs)
}

// page reads some of a run, and compares it with the model. It returns how many events it got.
func (l *logWorld) page(run logRun, from, limit int) int {
	got, err := l.log.Read(l.ctx, run.tenant, run.run, int64(from), limit)
	l.check(err == nil, "Read failed: %v", err)
	want := l.model.runs[run]
	want = want[min(max(from, 0), len(want)):]
	want = want[:min(len(want), events.PageSize(limit))]
	l.check(len(got) > 0 || len(want) == 0, "nothing of run %q of %q from %d on, where there are %d events", run.run, run.tenant, from, len(want))
	for i := range got {
		l.check(i < len(want), "run %q of %q, from %d on with the limit %d, has %d events instead of %d", run.run, run.tenant, from, limit, len(got), len(want))
		l.check(sameRunEvent(&got[i], &want[i]), "run %q of %q has\n %s with sequence %d,\ninstead of\n %s with sequence %d", run.run, run.tenant,
			describeEvent(&got[i].Record), got[i].Sequence, describeEvent(&want[i].Record), want[i].Sequence)
	}
	return len(got)
}

// compare reads all runs, by pages of any size.
func (l *logWorld) compare() {
	for run := range l.model.runs {
		for from, n := 0, 1; n > 0; from += n {
			n = l.page(run, from, 1+from%7)
		}
	}
}

// pick picks one of several.
func pick[T any](l *logWorld, of ...T) T { return of[l.rng.IntN(len(of))] }

// batch has a few records, of names that are easily confused, and that come again.
func (l *logWorld) batch() []events.Record {
	recs := make([]events.Record, 1+l.rng.IntN(5))
	for i := range recs {
		id := fmt.Sprint(pick(l, "a", "A", "a ", "é", "e\u0301", "x%"), l.rng.IntN(5))
		h := fnv.New32a()
		io.WriteString(h, id)
		payloads := append(samplePayloads(),
			events.HostPayload{Type: "run.started", JSON: []byte(`{"b":{"":[]},"a":"<&>\u2028\u0000é","n":-1.5e-7}`)},
			events.HostPayload{Type: "acme.thing_1.x-y", JSON: []byte(`null`)},
			events.HostPayload{Type: "acme.large", JSON: []byte(`"` + strings.Repeat("<", 100_000) + `"`)})
		recs[i] = events.Record{
			ID: id, Tenant: pick(l, "a", "A", "ab", ""), RunID: pick(l, "a", "a ", "bc", "c", "é", "e\u0301", strings.Repeat("x", 127), strings.Repeat("x", 128)),
			NodeID: "node 1", CausationID: "before " + id, EngineVersion: "2.1 <x>", SchemaVersion: 7, Time: epoch.Add(1e6), Payload: payloads[h.Sum32()%uint32(len(payloads))],
		}
		l.check(recs[i].Validate() == nil, "the kit's own record is invalid")
	}
	return recs
}

// spoiled are ways in which a record is refused; the last is known only beside the record that has the id.
var spoiled = []func(r *events.Record){
	func(r *events.Record) { r.ID = "" },
	func(r *events.Record) { r.RunID = "" },
	func(r *events.Record) { r.Time = r.Time.Add(1) },
	func(r *events.Record) { r.Payload = events.MemoryWritten{MemoryRef: "support"} },
	func(r *events.Record) { r.Payload = events.HostPayload{Type: "run.started"} },
	func(r *events.Record) { r.Payload = events.WorkspaceUpdated{Path: "another", Version: 9} },
}

// explore emits random batches, some of which are spoiled or cancelled, and reads random pages. Now
// and then it settles.
func (l *logWorld) explore(settle func()) {
	l.emit()
	for i := range 180 {
		batch := l.batch()
		switch l.rng.IntN(4) {
		case 0:
			bad := batch[0]
			pick(l, spoiled...)(&bad)
			err := l.log.Emit(l.ctx, slices.Insert(batch, 1+l.rng.IntN(len(batch)), bad)...)
			l.check(err != nil, "a batch with an invalid record, or another payload of an id, was taken: %s", describeEvent(&bad))
		case 1:
			done, cancel := cancelled(l.ctx)
			if err := l.log.Emit(done, batch...); err == nil {
				l.model.emit(batch)
			}
			cancel()
		case 2:
			l.emit(batch...)
			fallthrough
		default:
			l.emit(batch...)
		}
		if i%36 == 35 {
			settle()
			l.compare()
		}
		l.page(logRun{batch[0].Tenant, batch[0].RunID}, l.rng.IntN(12)-2, l.rng.IntN(9)-1)
	}
}

// sameRunEvent compares events, those of a host by the value of their JSON.
func sameRunEvent(got, want *events.RunEvent) bool {
	value := func(p events.Payload) any {
		if own, is := p.(events.HostPayload); is {
			var v any
			err := json.Unmarshal(own.JSON, &v)
			return []any{own.Type, v, err}
		}
		return p
	}
	a, b := got.Record, want.Record
	a.Time, a.Payload = b.Time, b.Payload
	return got.Sequence == want.Sequence && got.Time.Equal(want.Time) && reflect.DeepEqual(a, b) && reflect.DeepEqual(value(got.Payload), value(want.Payload))
}

// logModel is what a log is, said as plainly as possible.
type logModel struct {
	runs     map[logRun][]events.RunEvent
	payloads map[eventName]events.Payload
}

type logRun struct{ tenant, run string }

func (m *logModel) emit(recs []events.Record) {
	if m.runs == nil {
		m.runs, m.payloads = map[logRun][]events.RunEvent{}, map[eventName]events.Payload{}
	}
	for _, rec := range recs {
		name, run := eventName{rec.Tenant, rec.RunID, rec.ID}, logRun{rec.Tenant, rec.RunID}
		if m.payloads[name] != nil {
			continue
		}
		m.payloads[name] = rec.Payload
		rec.Time = rec.Time.UTC()
		m.runs[run] = append(m.runs[run], events.RunEvent{Record: rec, Sequence: int64(len(m.runs[run]))})
	}
}

// drop empties the runs of a tenant.
func (m *logModel) drop(tenant string) {
	for run := range m.runs {
		if run.tenant == tenant {
			m.forget(run)
		}
	}
}

// forget empties a run.
func (m *logModel) forget(run logRun) {
	m.runs[run] = nil
	maps.DeleteFunc(m.payloads, func(name eventName, _ events.Payload) bool { return name.tenant == run.tenant && name.run == run.run })
}

// samplePayloads are payloads of all types of the agent-memory layer, with all fields.
func samplePayloads() []events.Payload {
	updated := true
	return []events.Payload{
		events.MemoryWritten{MemoryRef: "support", MemoryID: "m1", NodeID: "n1", AgentID: "a1"},
		events.MemoryCompacted{MemoryRef: "support", OutputID: "m2", SourceIDs: []string{"m1"}, SourceCount: 1, Trigger: events.CompactionHostManaged,
			ByteSize: 42, Distillation: &events.Distillation{TokenBudget: 100, TokensUsed: 99, IndexUpdated: &updated}},
		events.MemoryConsolidated{MemoryRef: "support", InputCount: 3, OutputCount: 2, MergedIDs: []string{"m1", "m2"}, Trigger: events.ConsolidationScheduled},
		events.CommitmentFired{CommitmentID: "c1", MemoryRef: "support", MemoryID: "m1", Condition: events.ConditionTime, EnqueuedRunID: "run-9"},
		events.WorkspaceUpdated{Path: "a/b.md", Version: events.MaxInteger},
		events.ProposalCreated{ProposalID: "p1", Kind: events.KindAgentPack, SourceRunIDs: []string{"run-1"}, DuplicateOf: "p0"},
		events.ProposalActivated{ProposalID: "p1", Kind: events.KindPromptTemplate, ApprovalID: "ap1", InstalledArtifactRef: "art1"},
	}
}

// Writers emit batches to one run, each batch by two writers.
const (
	logWriters = 6
	logBatches = 12
	logBatch   = 4
)

// batchOf is a batch of a writer, or of the one who emits the same.
func batchOf(writer, n int) []events.Record {
	var recs []events.Record
	for i := range logBatch {
		id := fmt.Sprintf("%d-%d-%d", writer%(logWriters/2), n, i)
		recs = append(recs, events.Record{ID: id, Tenant: home.Tenant, RunID: "run-1", Time: epoch, Payload: events.WorkspaceUpdated{Path: "f/" + id, Version: 1}})
	}
	return recs
}

// wholeBatches expects batches to be there whole and once, each writer's in their order, and
// in the end all of them.
func wholeBatches(evs []events.RunEvent, all bool) error {
	next := map[int]int{}
	for i, ev := range evs {
		var w, n, part int
		_, err := fmt.Sscanf(ev.ID, "%d-%d-%d", &w, &n, &part)
		if err != nil || part != i%logBatch || n != next[w] || ev.Sequence != int64(i) {
			return fmt.Errorf("as number %d the event %q with sequence %d, which is not whole batches in their order", i, ev.ID, ev.Sequence)
		}
		if part == logBatch-1 {
			next[w]++
		}
	}
	if want := logWriters / 2 * logBatches * logBatch; len(evs)%logBatch != 0 || all && len(evs) != want {
		return fmt.Errorf("%d events are there, of %d in batches of %d", len(evs), want, logBatch)
	}
	return nil
}

// logRacing has writers emit batches while a reader looks.
func logRacing(l *logWorld) {
	var writing, reading sync.WaitGroup
	var over atomic.Bool
	failed := make([]error, logWriters+1)
	read := func(all bool) error {
		var evs []events.RunEvent
		for {
			page, err := l.log.Read(l.ctx, home.Tenant, "run-1", int64(len(evs)), 1000)
			if evs = append(evs, page...); len(page) == 0 {
				return errors.Join(err, wholeBatches(evs, all))
			}
		}
	}
	for w := range logWriters {
		writing.Go(func() {
			for n := range logBatches {
				failed[w] = errors.Join(failed[w], l.log.Emit(l.ctx, batchOf(w, n)...))
			}
		})
	}
	reading.Go(func() {
		for !over.Load() {
			failed[logWriters] = errors.Join(failed[logWriters], read(false))
		}
	})
	writing.Wait()
	over.Store(true)
	reading.Wait()
	err := errors.Join(append(failed, read(true))...)
	l.check(err == nil, "%v", err)
}
