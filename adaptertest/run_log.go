package adaptertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
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
// not at all, whoever reads meanwhile; and all that was acknowledged is there when the log is
// opened again. A host whose log has another way to be read wraps it.
//
// A store that keeps events (driver.EventKeeper) is proven by [Run], which takes these cases
// too.
func RunLog(t *testing.T, cfg LogConfig) {
	t.Helper()
	for _, c := range logCases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			if c.skipped(cfg) {
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
	needs  func(cfg *LogConfig) bool // nil for every log
	run    func(l *logWorld)
}

func (c *logCase) skipped(cfg LogConfig) bool { return c.needs != nil && !c.needs(&cfg) }

var logCases = []logCase{
	{"model", "random batches leave what a model has, whatever page is read", nil, func(l *logWorld) { l.explore(nil) }},
	{"payloads", "every event comes back as it was emitted, a host's own too", nil, logPayloads},
	{"names", "tenants, runs and ids are told apart byte for byte", nil, logNames},
	{"refused", "a batch with an invalid record, or under a context that is done, leaves nothing", nil, logRefused},
	{"racing", "of callers that race no event is lost, doubled or reordered, and no batch is seen by half", nil, logRacing},
	{"redelivered", "an event that two callers deliver at once is there once", nil, logRedelivered},
	{"reopened", "a log that is opened again has all that was acknowledged, and goes on with the next number",
		func(cfg *LogConfig) bool { return cfg.Reopen != nil }, func(l *logWorld) { l.explore(l.reopen) }},
	{"killed", "what a kill leaves has all that was acknowledged",
		func(cfg *LogConfig) bool { return cfg.Crash != nil }, func(l *logWorld) { l.explore(l.crash) }},
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
		switch r := recover().(type) {
		case nil:
		case logFailure:
			err = errors.New(string(r))
		default:
			err = fmt.Errorf("a panic: %v", r)
		}
	}()
	l.use(cfg.New(ctx))
	c.run(l)
	return nil
}

type logFailure string

// logWorld is what a case about a log works in.
type logWorld struct {
	ctx    context.Context
	cfg    LogConfig
	rng    *rand.Rand
	log    events.RunLog
	opened []events.RunLog
	model  logModel
}

func (l *logWorld) check(ok bool, format string, args ...any) {
	if !ok {
		panic(logFailure(fmt.Sprintf(format, args...)))
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

// read reads a run to its end by pages of a size.
func (l *logWorld) read(ctx context.Context, tenant, run string, limit int) []events.RunEvent {
	var all []events.RunEvent
	for {
		page, err := l.log.Read(ctx, tenant, run, int64(len(all)), limit)
		l.check(err == nil, "Read failed: %v", err)
		l.check(len(page) <= events.PageSize(limit), "a page of %d events for the limit %d", len(page), limit)
		if len(page) == 0 {
			return all
		}
		l.check(page[0].Sequence == int64(len(all)), "a page from %d on begins with the sequence %d", len(all), page[0].Sequence)
		all = append(all, page...)
	}
}

// same expects a run to be as the model has it.
func (l *logWorld) same(tenant, run string) {
	got := l.read(l.ctx, tenant, run, 1+l.rng.IntN(7))
	l.equal(tenant, run, got, l.model.runs[logRun{tenant, run}])
}

func (l *logWorld) equal(tenant, run string, got, want []events.RunEvent) {
	for i := range got {
		l.check(i < len(want), "run %q of %q has %d events instead of %d", run, tenant, len(got), len(want))
		l.check(sameRunEvent(&got[i], &want[i]), "run %q of %q has as number %d\n %s with sequence %d,\ninstead of\n %s with sequence %d",
			run, tenant, i, describeEvent(&got[i].Record), got[i].Sequence, describeEvent(&want[i].Record), want[i].Sequence)
	}
	l.check(len(got) == len(want), "run %q of %q has %d events instead of %d", run, tenant, len(got), len(want))
}

// sameRunEvent compares events, those of a host by the value of their JSON.
func sameRunEvent(got, want *events.RunEvent) bool {
	a, b := got.Record, want.Record
	if !a.Time.Equal(b.Time) {
		return false
	}
	a.Time = b.Time
	own, isOwn := a.Payload.(events.HostPayload)
	other, isOther := b.Payload.(events.HostPayload)
	if isOwn && isOther && own.Type == other.Type {
		var x, y any
		if json.Unmarshal(own.JSON, &x) != nil || json.Unmarshal(other.JSON, &y) != nil || !reflect.DeepEqual(x, y) {
			return false
		}
		a.Payload = b.Payload
	}
	return got.Sequence == want.Sequence && reflect.DeepEqual(a, b)
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

// record is a record of a payload that depends on the id.
func (l *logWorld) record(tenant, run, id string) events.Record {
	rec := events.Record{ID: id, Tenant: tenant, RunID: run, Time: epoch, Payload: events.WorkspaceUpdated{Path: "f/" + id, Version: 1}}
	switch sum := sha256.Sum256([]byte(id)); sum[0] % 3 {
	case 0:
		rec.NodeID = fmt.Sprint("node-", len(id))
		rec.Payload = events.MemoryWritten{MemoryRef: "support", MemoryID: "m-" + id, NodeID: rec.NodeID}
	case 1:
		rec.Payload = events.HostPayload{Type: "node.completed", JSON: json.RawMessage(`{"output":["` + id + `",1.5,null,{}]}`)}
	}
	return rec
}

// explore emits random batches, in which runs and ids are few so that they come again, looks
// at random pages, and now and then settles.
func (l *logWorld) explore(settle func()) {
	for step := range 60 {
		batch := make([]events.Record, l.rng.IntN(6))
		for i := range batch {
			batch[i] = l.record(fmt.Sprint("t", l.rng.IntN(2)), fmt.Sprint("r", l.rng.IntN(3)), fmt.Sprint("e", l.rng.IntN(40)))
		}
		l.emit(batch...)
		if settle != nil && step%12 == 11 {
			settle()
		}
		for range 4 {
			tenant, run := fmt.Sprint("t", l.rng.IntN(3)), fmt.Sprint("r", l.rng.IntN(4))
			from, limit := l.rng.IntN(30)-2, l.rng.IntN(9)-1
			page, err := l.log.Read(l.ctx, tenant, run, int64(from), limit)
			l.check(err == nil, "Read failed: %v", err)
			want := l.model.runs[logRun{tenant, run}]
			want = want[min(max(from, 0), len(want)):]
			want = want[:min(len(want), events.PageSize(limit))]
			l.check(len(page) > 0 || len(want) == 0, "nothing of run %q from %d on, where there are %d events", run, from, len(want))
			l.equal(tenant, run, page, want[:min(len(page), len(want))])
		}
	}
	for name := range l.model.runs {
		l.same(name.tenant, name.run)
	}
}

func logPayloads(l *logWorld) {
	recs := []events.Record{}
	for i, p := range append(samplePayloads(),
		events.HostPayload{Type: "run.started", JSON: json.RawMessage(`{"b":{"":[]},"a":"<&>\u2028\u0000é","n":-1.5e-7}`)},
		events.HostPayload{Type: "acme.thing_1.x-y", JSON: json.RawMessage(`null`)},
		events.HostPayload{Type: "acme.large", JSON: json.RawMessage(`"` + strings.Repeat("<", 100_000) + `"`)},
	) {
		recs = append(recs, events.Record{ID: fmt.Sprint("ev", i), Tenant: "acme", RunID: "run-1", NodeID: "node 1", Time: epoch.Add(1e6), Payload: p})
	}
	recs[0].CausationID, recs[1].EngineVersion, recs[2].SchemaVersion = "ev-before", "2.1 <x>", 7
	for _, rec := range recs {
		l.check(rec.Validate() == nil, "the kit's own record is invalid")
	}
	l.emit(recs...)
	l.emit(recs...)
	l.same("acme", "run-1")
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

func logNames(l *logWorld) {
	names := []string{"a", "A", "a ", "aa", "a/b", "a%", "a_", "a.", "é", "e\u0301", "\u2028", strings.Repeat("x", 127), strings.Repeat("x", 128)}
	for round := range 2 {
		for _, tenant := range append(names, "") {
			var batch []events.Record
			for _, run := range names {
				batch = append(batch, l.record(tenant, run, names[(len(run)+round)%len(names)]))
			}
			l.emit(batch...)
		}
	}
	l.emit(l.record("ab", "c", "id"), l.record("a", "bc", "id"))
	for _, id := range names {
		l.emit(l.record("t", "ids", id))
	}
	for name := range l.model.runs {
		l.same(name.tenant, name.run)
	}
}

func logRefused(l *logWorld) {
	l.emit(l.record("t", "r", "first"))
	for _, spoil := range []func(r *events.Record){
		func(r *events.Record) { r.ID = "" },
		func(r *events.Record) { r.RunID = "" },
		func(r *events.Record) { r.Time = r.Time.Add(1) },
		func(r *events.Record) { r.Payload = events.MemoryWritten{MemoryRef: "support"} },
		func(r *events.Record) { r.Payload = events.HostPayload{Type: "run.started"} },
		func(r *events.Record) {
			r.ID, r.Payload = "first", events.WorkspaceUpdated{Path: "another", Version: 9}
		},
		func(r *events.Record) {
			r.ID, r.Payload = "before", events.WorkspaceUpdated{Path: "another", Version: 9}
		},
	} {
		bad := l.record("t", "r", "bad")
		spoil(&bad)
		if err := l.log.Emit(l.ctx, l.record("t", "r", "before"), bad, l.record("t", "r", "after")); err == nil {
			l.check(false, "a batch with an invalid record, or another payload of an id, was taken: %s", describeEvent(&bad))
		}
		l.same("t", "r")
	}
	done, cancel := context.WithCancel(l.ctx)
	cancel()
	before := len(l.read(l.ctx, "t", "r", 0))
	if err := l.log.Emit(done, l.record("t", "r", "late 1"), l.record("t", "r", "late 2")); err != nil {
		l.check(len(l.read(l.ctx, "t", "r", 0)) == before, "a batch that failed as its context was done is there by half")
	} else {
		l.check(len(l.read(l.ctx, "t", "r", 0)) == before+2, "a batch that was acknowledged under a context that was done is not there")
	}
	l.model = logModel{}
	l.model.emit(records(l.read(l.ctx, "t", "r", 0)))
	l.emit(l.record("t", "r", "last"))
	l.same("t", "r")
}

func records(evs []events.RunEvent) []events.Record {
	var recs []events.Record
	for _, ev := range evs {
		recs = append(recs, ev.Record)
	}
	return recs
}

const (
	logWriters = 6
	logBatches = 12
	logBatch   = 4
)

// logRacing has writers emit batches to two runs while a reader watches.
func logRacing(l *logWorld) {
	id := func(w, b, i int) string { return fmt.Sprintf("%d-%d-%d", w, b, i) }
	batches := make([][][]events.Record, logWriters)
	for w := range batches {
		for b := range logBatches {
			var batch []events.Record
			for i := range logBatch {
				batch = append(batch, l.record("t", fmt.Sprint("r", b%2), id(w, b, i)))
			}
			batches[w] = append(batches[w], batch)
		}
	}
	var writing sync.WaitGroup
	failed := make([]error, logWriters+1)
	over := make(chan struct{})
	for w, mine := range batches {
		writing.Go(func() {
			for _, batch := range mine {
				failed[w] = errors.Join(failed[w], l.log.Emit(l.ctx, batch...))
			}
		})
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			for r := range 2 {
				page, err := l.log.Read(l.ctx, "t", fmt.Sprint("r", r), 0, 1000)
				failed[logWriters] = errors.Join(failed[logWriters], err, wholeBatches(page))
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	writing.Wait()
	close(over)
	reading.Wait()
	for _, err := range failed {
		l.check(err == nil, "%v", err)
	}
	for r := range 2 {
		got := l.read(l.ctx, "t", fmt.Sprint("r", r), 0)
		err := wholeBatches(got)
		l.check(err == nil, "%v", err)
		l.check(len(got) == logWriters*logBatches*logBatch/2, "%d events in place of %d", len(got), logWriters*logBatches*logBatch/2)
		at := map[string]int64{}
		for i, ev := range got {
			_, twice := at[ev.ID]
			l.check(ev.Sequence == int64(i) && !twice, "as number %d the event %q with sequence %d, twice: %v", i, ev.ID, ev.Sequence, twice)
			at[ev.ID] = ev.Sequence
		}
		for w := range logWriters {
			for b := r + 2; b < logBatches; b += 2 {
				before, known := at[id(w, b-2, logBatch-1)]
				l.check(known && before < at[id(w, b, 0)], "the batches of one writer are not in its order")
			}
		}
	}
}

// wholeBatches expects that batches of a run are there whole, each in its order and with
// nothing in between.
func wholeBatches(evs []events.RunEvent) error {
	if len(evs)%logBatch != 0 {
		return fmt.Errorf("%d events are there, of batches of %d", len(evs), logBatch)
	}
	for i, ev := range evs {
		var w, b, n int
		if _, err := fmt.Sscanf(ev.ID, "%d-%d-%d", &w, &b, &n); err != nil || n != i%logBatch || ev.Sequence != int64(i) {
			return fmt.Errorf("as number %d the event %q with sequence %d, which is not whole batches in a row", i, ev.ID, ev.Sequence)
		}
	}
	return nil
}

// logRedelivered has callers deliver the same events at once, as relays do.
func logRedelivered(l *logWorld) {
	const n = 40
	var all []events.Record
	for i := range n {
		all = append(all, l.record("t", "r", fmt.Sprint("e", i)))
	}
	var wait sync.WaitGroup
	failed := make([]error, 4)
	for c := range failed {
		wait.Go(func() {
			for i := 0; i < n; i += 1 + c { // in batches of other sizes
				failed[c] = errors.Join(failed[c], l.log.Emit(l.ctx, all[i:min(i+1+c, n)]...))
			}
		})
	}
	wait.Wait()
	for _, err := range failed {
		l.check(err == nil, "Emit failed: %v", err)
	}
	got := l.read(l.ctx, "t", "r", 7)
	seen := map[string]bool{}
	for i, ev := range got {
		l.check(ev.Sequence == int64(i) && !seen[ev.ID], "as number %d the event %q with sequence %d, twice: %v", i, ev.ID, ev.Sequence, seen[ev.ID])
		seen[ev.ID] = true
	}
	l.check(len(got) == n, "%d events in place of %d", len(got), n)
}
