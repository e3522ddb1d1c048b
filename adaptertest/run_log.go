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
	"testing"
	"time"

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
				t.Error(err)
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
	{"model", "random batches leave what a model has, on each page, and batches that fail leave nothing", func(l *logWorld) { l.emitAtRandom(func() {}) }},
	{"racing", "of batches that callers emit at once none is lost, doubled, torn or reordered", logRacing},
	{"reopened", "a log that is opened again has all that was acknowledged, and goes on with the next number", func(l *logWorld) { l.emitAtRandom(l.reopenLog) }},
	{"killed", "what a kill leaves has all that was acknowledged", func(l *logWorld) { l.emitAtRandom(l.crashLog) }},
}

// prove runs one case on a log of its own. The error says what was wrong.
func (cfg LogConfig) prove(ctx context.Context, c logCase) error {
	if cfg.New == nil {
		return errors.New("LogConfig.New is not set")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &script{ctx: ctx, alarm: time.AfterFunc(stepTimeout, cancel), now: epoch, rng: rand.New(rand.NewPCG(cfg.Seed, 21))}
	defer s.alarm.Stop()
	l := &logWorld{world: &world{script: s}, cfg: cfg}
	var failed *failure
	l.play(func() {
		l.useLog(cfg.New(ctx))
		c.run(l)
	}, &failed)
	if failed != nil {
		return errors.New(l.text(fmt.Sprintf("E3/%s: %s", c.name, c.proves), failed))
	}
	return nil
}

// logWorld is what a case about a log works in.
type logWorld struct {
	*world
	cfg   LogConfig
	log   events.RunLog
	model logModel
}

func (l *logWorld) useLog(log events.RunLog, err error) {
	l.must(err)
	l.log = log
	if c, ok := log.(io.Closer); ok {
		l.opened = append(l.opened, c)
	}
}

func (l *logWorld) reopenLog() {
	l.must(l.closeAll())
	l.useLog(l.cfg.Reopen(l.ctx, l.log))
}

func (l *logWorld) crashLog() { l.useLog(l.cfg.Crash(l.ctx, l.log)) }

// emit emits records to the log and to the model.
func (l *logWorld) emit(recs ...events.Record) {
	l.must(l.log.Emit(l.ctx, recs...))
	l.model.emit(recs)
}

// readPage reads some of a run, and expects what the model has. It returns how many events it got.
func (w *world) readPage(log events.Reader, model *logModel, run logRun, from, limit int) int {
	got, err := log.Read(w.ctx, run.tenant, run.run, int64(from), limit)
	w.must(err)
	want := model.runs[run]
	want = want[min(max(from, 0), len(want)):]
	want = want[:min(len(want), events.PageSize(limit))]
	w.check(len(got) <= len(want) && (len(got) > 0 || len(want) == 0), fmt.Sprintf("1 to %d events of run %s of %s, from %d on with the limit %d",
		len(want), short(run.run), short(run.tenant), from, limit), "%d events", len(got))
	for i := range got {
		if got[i].Sequence != want[i].Sequence || !sameRecord(&got[i].Record, &want[i].Record) {
			w.fail(describe(want[i]), describe(got[i]))
		}
	}
	return len(got)
}

// readRun reads a whole run, by pages of any size.
func (w *world) readRun(log events.Reader, model *logModel, run logRun) {
	for from, n := 0, 1; n > 0; from += n {
		n = w.readPage(log, model, run, from, 1+from%7)
	}
}

// pick picks one of several.
func pick[T any](l *logWorld, of ...T) T { return of[l.rng.IntN(len(of))] }

// batch has a few records, of names that are easily confused, and that come again.
func (l *logWorld) batch() []events.Record {
	recs := make([]events.Record, 1+l.rng.IntN(5))
	for i := range recs {
		recs[i] = withPayload(events.Record{
			ID: fmt.Sprint(pick(l, "a", "A", "a ", "é", "e\u0301", "x%"), l.rng.IntN(5)), Tenant: pick(l, "a", "A", "ab", ""), NodeID: "node 1", Time: epoch.Add(1e6),
			RunID: pick(l, "a", "a ", "bc", "c", "é", "e\u0301", strings.Repeat("x", 127), strings.Repeat("x", 128)),
		})
		if recs[i].ID == "x%4" {
			recs[i].Payload = events.HostPayload{Type: "acme.large", JSON: []byte(`"` + strings.Repeat("<", 100_000) + `"`)}
		}
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

// emitAtRandom emits random batches, some of which are spoiled or cancelled, and reads random pages.
// Now and then it settles.
func (l *logWorld) emitAtRandom(settle func()) {
	l.emit()
	for i := range 180 {
		batch := l.batch()
		l.did("emit a batch, the first event being %s", describe(batch[0]))
		switch l.rng.IntN(4) {
		case 0:
			bad := batch[0]
			pick(l, spoiled...)(&bad)
			err := l.log.Emit(l.ctx, slices.Insert(batch, 1+l.rng.IntN(len(batch)), bad)...)
			l.check(err != nil, "an error, since a record is invalid or has another payload", "success with %s", describe(bad))
		case 1:
			if err := l.log.Emit(cancelled(l.ctx), batch...); err == nil {
				l.model.emit(batch)
			}
		case 2:
			l.emit(batch...)
			fallthrough
		default:
			l.emit(batch...)
		}
		if i%36 == 35 {
			settle()
			for run := range l.model.runs {
				l.readRun(l.log, &l.model, run)
			}
		}
		l.readPage(l.log, &l.model, logRun{batch[0].Tenant, batch[0].RunID}, l.rng.IntN(12)-2, l.rng.IntN(9)-1)
	}
}

// sameRecord compares events, those of a host by the value of their JSON.
func sameRecord(got, want *events.Record) bool {
	value := func(p events.Payload) any {
		if own, is := p.(events.HostPayload); is {
			var v any
			err := json.Unmarshal(own.JSON, &v)
			return []any{own.Type, v, err}
		}
		return p
	}
	same := *got
	same.Time, same.Payload = want.Time, want.Payload
	return got.Time.Equal(want.Time) && reflect.DeepEqual(same, *want) && reflect.DeepEqual(value(got.Payload), value(want.Payload))
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

// forget empties a run.
func (m *logModel) forget(run logRun) {
	m.runs[run] = nil
	maps.DeleteFunc(m.payloads, func(name eventName, _ events.Payload) bool { return name.tenant == run.tenant && name.run == run.run })
}

// withPayload gives a record a payload and other fields that go by its id.
func withPayload(e events.Record) events.Record {
	updated := true
	payloads := []events.Payload{
		events.MemoryWritten{MemoryRef: "support", MemoryID: "m1", NodeID: "n1", AgentID: "a1"},
		events.MemoryCompacted{MemoryRef: "support", OutputID: "m2", SourceIDs: []string{"m1"}, SourceCount: 1, Trigger: events.CompactionHostManaged,
			ByteSize: 42, Distillation: &events.Distillation{TokenBudget: 100, TokensUsed: 99, IndexUpdated: &updated}},
		events.MemoryConsolidated{MemoryRef: "support", InputCount: 3, OutputCount: 2, MergedIDs: []string{"m1", "m2"}, Trigger: events.ConsolidationScheduled},
		events.CommitmentFired{CommitmentID: "c1", MemoryRef: "support", MemoryID: "m1", Condition: events.ConditionTime, EnqueuedRunID: "run-9"},
		events.WorkspaceUpdated{Path: "a/b.md", Version: events.MaxInteger},
		events.ProposalCreated{ProposalID: "p1", Kind: events.KindAgentPack, SourceRunIDs: []string{"run-1"}, DuplicateOf: "p0"},
		events.ProposalActivated{ProposalID: "p1", Kind: events.KindPromptTemplate, ApprovalID: "ap1", InstalledArtifactRef: "art1"},
		events.HostPayload{Type: "run.started", JSON: []byte(`{"b":{"":[]},"a":"<&>\u2028\u0000é","n":-1.5e-7}`)},
		events.HostPayload{Type: "acme.thing_1.x-y", JSON: []byte(`null`)},
	}
	h := fnv.New32a()
	io.WriteString(h, e.Tenant+e.RunID+e.ID)
	n := h.Sum32()
	if n%2 == 0 {
		e.CausationID, e.EngineVersion, e.SchemaVersion = "before", "2.1 <x>", 1<<53/2
	}
	e.Payload = payloads[n/2%uint32(len(payloads))]
	return e
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
	read := func(all bool) {
		var evs []events.RunEvent
		for more := true; more; {
			page, err := l.log.Read(l.ctx, home.Tenant, "run-1", int64(len(evs)), 1000)
			l.must(err)
			evs, more = append(evs, page...), len(page) > 0
		}
		l.must(wholeBatches(evs, all))
	}
	l.during("six writers emit batches of events, each batch twice, while a reader reads them", func() {
		l.parallel(logWriters, func(i int) {
			for n := range logBatches {
				l.must(l.log.Emit(l.ctx, batchOf(i, n)...))
			}
		})
	}, 1, func(int) { read(false) })
	read(true)
}
