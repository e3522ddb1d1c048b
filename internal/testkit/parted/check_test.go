//go:build linux

package parted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// undecided bounds the search for an order of the calls of one tenant.
const undecided = 20 * time.Second

// checker compares the calls of a round with what a store holds after it.
type checker struct {
	ctx      context.Context
	store    store
	shut     func() // after the last check
	bank     *memory.Bank
	engine   *commitment.Engine
	dir      string // of the logs
	round    int
	calls    []*call
	dirty    [2]int64 // from when to when a primary made what its standby did not get
	problems []string
	counts   map[string]int
}

func newChecker(ctx context.Context, dsn, dir string, round int) (*checker, error) {
	st, shut, err := openStore(ctx, dsn)
	if err != nil {
		return nil, err
	}
	bank, engine, err := bankOf(st, 0, nil)
	if err != nil {
		return nil, err
	}
	calls, err := readLogs(dir, round)
	return &checker{ctx: ctx, store: st, shut: shut, bank: bank, engine: engine, dir: dir, round: round, calls: calls, counts: map[string]int{}}, err
}

func (k *checker) wrong(format string, args ...any) {
	k.problems = append(k.problems, fmt.Sprintf(format, args...))
}

// of are the calls about a tenant, of some kinds.
func (k *checker) of(tenant string, kinds ...string) (found []*call) {
	for _, c := range k.calls {
		if c.Tenant == tenant && slices.Contains(kinds, c.Kind) {
			found = append(found, c)
		}
	}
	return found
}

// isDirty reports whether a call may have seen what a primary made that was cut off from its standby, gave
// up waiting for it, and then died. PostgreSQL shows such changes, and they are lost.
func (k *checker) isDirty(c *call) bool { return c.Began < k.dirty[1] && c.Ended > k.dirty[0] }

func joined(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), "\n") }

// history are the records of a tenant by id.
func (k *checker) history(tenant string) (map[string]driver.Record, error) {
	found := map[string]driver.Record{}
	for rec, err := range k.store.History(k.ctx, tenant, driver.HistoryQuery{}) {
		if err != nil {
			return nil, err
		}
		found[rec.Entry.ID] = rec
	}
	return found, nil
}

// step is what a call means for the entries of a tenant.
type step struct {
	call  *call
	gone  map[string]bool // these go, all at once
	none  map[string]bool // not one of these is there
	shows string          // exactly these are
	reads bool
}

// entryModel is a set of names.
var entryModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		s, names := input.(*step), strings.Split(state.(string), "\n")
		if state == "" {
			names = nil
		}
		there := func(name string) bool { return slices.Contains(names, name) }
		switch {
		case s.reads:
			return s.shows == state, state
		case s.gone != nil:
			return true, joined(slices.DeleteFunc(names, func(n string) bool { return s.gone[n] }))
		case s.none != nil:
			return !slices.ContainsFunc(names, func(n string) bool { return s.none[n] }), state
		case s.call.Kind == "replace" && s.call.Outcome == done && !there(s.call.Old):
			return false, state
		}
		if s.call.Kind != "put" {
			names = slices.DeleteFunc(names, func(n string) bool { return n == s.call.Old })
		}
		if s.call.Kind != "delete" {
			names = append(names, s.call.Name)
		}
		return true, joined(names)
	},
	DescribeOperation: func(input, _ any) string {
		s := input.(*step)
		switch {
		case s.gone != nil:
			return fmt.Sprint("forget ", s.call.Subject, ": gone are ", slices.Collect(maps.Keys(s.gone)))
		case s.none != nil:
			return fmt.Sprint("forget ", s.call.Subject, ": there is none of ", slices.Collect(maps.Keys(s.none)))
		}
		return fmt.Sprint(s.call.Kind, " ", s.call.Name, " for ", s.call.Old, " of ", s.call.Subject, " ", s.call.Outcome)
	},
}

// subjects are those of the entries, by name.
func (k *checker) subjects(tenant string) map[string]string {
	subjects := map[string]string{}
	changes := k.of(tenant, "put", "replace")
	slices.SortStableFunc(changes, func(a, b *call) int { return int(min(1, max(-1, a.Began-b.Began))) })
	for _, c := range changes {
		if subjects[c.Name] = c.Subject; c.Kind == "replace" {
			subjects[c.Name] = subjects[c.Old]
		}
	}
	return subjects
}

// forgetsDuring reports whether something may have been forgotten while a view was taken: it then shows what was
// there when its run started, without what was erased since (M6).
func (k *checker) forgetsDuring(view *call) bool {
	return slices.ContainsFunc(k.of(view.Tenant, "forget"), func(c *call) bool { return c.Began < view.Ended && view.Began < c.Ended })
}

// checkEntries looks for an order of the calls in which each shows what those before it left.
func (k *checker) checkEntries() error {
	tenant, _, _, _ := tenantsOf(k.round)
	records, err := k.history(tenant)
	if err != nil {
		return err
	}
	live, err := k.bank.Reader(tenant).List(k.ctx, ref, everything)
	if err != nil {
		return err
	}
	names, subjects := map[string]string{}, k.subjects(tenant)
	var steps []*step
	for _, c := range k.of(tenant, "put", "replace", "delete", "view", "list") {
		k.counts[c.Kind+" "+string(c.Outcome)]++
		reads := c.Kind == "view" || c.Kind == "list"
		if c.Outcome == refused || reads && (c.Outcome != done || k.isDirty(c)) || c.Kind == "view" && k.forgetsDuring(c) {
			continue
		}
		steps = append(steps, &step{call: c, reads: reads, shows: joined(c.Names)})
		if !reads && c.Kind != "delete" && c.Outcome == done {
			names[c.ID] = c.Name
			if _, found := records[c.ID]; !found {
				k.wrong("acknowledged and lost: %s", c.Name)
			}
		}
	}
	forgetting, err := k.forgetting(tenant, names, subjects)
	if err != nil {
		return err
	}
	steps = append(steps, forgetting...)
	now := clock()
	steps = append(steps, &step{call: &call{Kind: "list", Outcome: done, Began: now, Ended: now + 1, Host: 9}, reads: true, shows: joined(namesOf(live))})
	var ops []porcupine.Operation
	for _, s := range steps {
		ops = append(ops, porcupine.Operation{ClientId: s.call.Host, Input: s, Call: s.call.Began, Return: s.call.Ended})
	}
	k.linearizable("the entries", entryModel, ops)
	return nil
}

// forgetting returns what forgetting did, by the ledger: the entries of a step of it went at once. When it
// was done there was a moment at which no entry of the subject was there. Names are known of entries whose
// put was acknowledged.
func (k *checker) forgetting(tenant string, names, subjects map[string]string) (steps []*step, err error) {
	calls := k.of(tenant, "forget")
	spans := map[string]*call{} // in which a subject was forgotten: by two calls, if a host was killed and came back
	for _, c := range calls {
		span := *c
		if s := spans[c.Subject]; s != nil {
			span.Began, span.Ended = min(s.Began, c.Began), max(s.Ended, c.Ended)
		}
		spans[c.Subject] = &span
	}
	for _, c := range calls {
		k.counts["forget "+string(c.Outcome)]++
		none := map[string]bool{}
		for name, subject := range subjects {
			if none[name] = subject == c.Subject; !none[name] {
				delete(none, name)
			} else if !slices.Contains(slices.Collect(maps.Values(names)), name) {
				steps = append(steps, &step{call: spans[subject], gone: map[string]bool{name: true}})
			}
		}
		if c.Outcome == done {
			steps = append(steps, &step{call: c, none: none})
		}
	}
	for x, err := range k.bank.Erasures(k.ctx, tenant) {
		if err != nil {
			return nil, err
		}
		gone, subject := map[string]bool{}, ""
		for _, id := range x.Entries[ref] {
			if name, known := names[id]; known {
				gone[name], subject = true, subjects[name]
			}
		}
		if span := spans[subject]; span != nil {
			steps = append(steps, &step{call: span, gone: gone})
		} else if len(gone) > 0 {
			k.wrong("entries of %q were erased, which was not forgotten", subject)
		}
	}
	return steps, nil
}

// linearizable looks for an order of calls. If that takes too long it looks for one of what is about each part alone.
func (k *checker) linearizable(what string, model porcupine.Model, ops []porcupine.Operation) {
	result, info := porcupine.CheckOperationsVerbose(model, ops, undecided)
	if result == porcupine.Unknown {
		k.counts["undecided orders of all entries"]++
		k.counts["calls in an order for each entry"] += len(ops)
		result, info = porcupine.CheckOperationsVerbose(oneEntryModel, ops, 0)
	} else {
		k.counts["calls in an order"] += len(ops)
	}
	if result == porcupine.Illegal {
		file := fmt.Sprintf("/tmp/parted-%d.html", k.round)
		_ = porcupine.VisualizePath(model, info, file)
		k.wrong("%s: there is no order of %d calls, see %s", what, len(ops), file)
	}
}

// touch is what a step is for one entry.
type touch struct {
	*step
	name string
}

// oneEntryModel is whether an entry is there, for each entry alone.
var oneEntryModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		names := map[string]bool{}
		for _, op := range history {
			names[op.Input.(*step).call.Name] = true
		}
		delete(names, "")
		for name := range names {
			var part []porcupine.Operation
			for _, op := range history {
				s := op.Input.(*step)
				if s.reads || s.gone[name] || s.none[name] || s.gone == nil && s.none == nil && (s.call.Name == name && s.call.Kind != "delete" || s.call.Old == name && s.call.Kind != "put") {
					op.Input = touch{s, name}
					part = append(part, op)
				}
			}
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return false },
	Step: func(state, input, _ any) (bool, any) {
		x := input.(touch)
		there := state.(bool)
		switch {
		case x.reads:
			return slices.Contains(strings.Split(x.shows, "\n"), x.name) == there, there
		case x.gone != nil:
			return true, false
		case x.none != nil:
			return !there, there
		case x.call.Name == x.name && x.call.Kind != "delete":
			return true, true
		}
		return there || x.call.Kind != "replace" || x.call.Outcome != done, false
	},
}

// valueModel is a document: its value.
var valueModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		keys := map[string][]porcupine.Operation{}
		for _, op := range history {
			keys[op.Input.(*call).Run] = append(keys[op.Input.(*call).Run], op)
		}
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		c := input.(*call)
		holds := c.Old == state
		switch {
		case c.Kind == "read":
			return c.Name == state, state
		case c.Outcome == refused:
			return !holds, state // it said that there is another one
		case holds:
			return true, c.Name
		}
		return c.Outcome == unknown, state
	},
}

// checkDocuments does the same with the documents, which are swapped.
func (k *checker) checkDocuments() {
	_, tenant, _, _ := tenantsOf(k.round)
	var ops []porcupine.Operation
	for _, c := range k.of(tenant, "read", "swap") {
		k.counts[c.Kind+" "+string(c.Outcome)]++
		if k.isDirty(c) && (c.Kind == "read" || c.Outcome == refused) {
			continue
		}
		if c.Outcome == done || c.Kind == "swap" && (c.Outcome == unknown || c.Conflict) {
			ops = append(ops, porcupine.Operation{ClientId: c.Host, Input: c, Call: c.Began, Return: c.Ended})
		}
	}
	k.linearizable("the documents", valueModel, ops)
}

// checkFacts has a last pass reconcile the facts: each that was noted is there once.
func (k *checker) checkFacts() error {
	_, _, tenant, _ := tenantsOf(k.round)
	merger, err := consolidate.New(passes)
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := k.bank.Pass(k.ctx, memory.JobConfig{ID: "last-pass", Tenant: tenant, Redactor: redact.New(redact.Config{})}, func(job *memory.Job) error {
			_, err := merger.Run(k.ctx, job, ref, consolidate.Options{})
			return err
		})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the last pass: %w", err)
		}
	}
	live, err := k.bank.Reader(tenant).List(k.ctx, ref, everything)
	if err != nil {
		return err
	}
	there, noted := map[string]int{}, map[string]bool{}
	for _, name := range namesOf(live) {
		there[name]++
	}
	for _, c := range k.of(tenant, "fact") {
		k.counts["fact "+string(c.Outcome)]++
		noted[c.Name] = noted[c.Name] || c.Outcome == unknown
		if c.Outcome == done {
			noted[c.Name] = true
			if there[c.Name] != 1 {
				k.wrong("the fact was noted and is there %d times: %s", there[c.Name], c.Name)
			}
		}
	}
	for name := range there {
		if !noted[name] {
			k.wrong("the fact was refused and is there: %s", name)
		}
	}
	for _, c := range k.of(tenant, "pass") {
		k.counts["pass "+string(c.Outcome)]++
	}
	return nil
}

// settled waits until all that waits for one instant has ended.
func (k *checker) settled(tenant string) ([]commitment.Commitment, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var all []commitment.Commitment
		waiting := 0
		for c, err := range k.engine.Commitments(k.ctx, tenant) {
			if err != nil {
				return nil, err
			}
			if c.Arm.Every > 0 && !c.Canceled && !c.State.Final() {
				if c, err = k.engine.Cancel(k.ctx, tenant, c.ID); err != nil {
					return nil, err
				}
			}
			if !c.State.Final() {
				waiting++
			}
			all = append(all, c)
		}
		if waiting == 0 {
			return all, nil
		}
		if time.Now().After(end) {
			k.wrong("%d commitments of %d have not ended a minute after all was healed", waiting, len(all))
			return all, nil
		}
	}
}

// checkArmed compares what has fired with what was armed.
func (k *checker) checkArmed() error {
	_, _, _, tenant := tenantsOf(k.round)
	all, err := k.settled(tenant)
	if err != nil {
		return err
	}
	found, given, keys := map[string]commitment.Commitment{}, map[string]bool{}, map[string]bool{}
	for _, c := range all {
		found[c.ID] = c
	}
	if k.calls, err = readLogs(k.dir, k.round); err != nil { // hosts have fired meanwhile
		return err
	}
	for _, c := range k.of(tenant, "enqueue") {
		k.counts["enqueue"]++
		fence := fmt.Sprint(c.Run, " ", c.Fence)
		if given[fence] {
			k.wrong("two deliveries under fence %d of %s", c.Fence, c.Run)
		}
		given[fence], keys[c.Name] = true, true
	}
	for _, c := range k.of(tenant, "arm") {
		k.counts["arm "+string(c.Outcome)]++
		if _, there := found[c.ID]; c.Outcome == done && !there {
			k.wrong("armed and lost: %s", c.ID)
		}
	}
	for _, c := range all {
		fired, err := k.log(tenant, c.ID)
		if err != nil {
			return err
		}
		k.counts["fired"] += len(fired)
		if len(fired) != c.Fired || c.Arm.Every == 0 && (c.Fired != 1 || c.State != commitment.Acknowledged) {
			k.wrong("a commitment that is %s fired %d times and has %d events: %s", c.State, c.Fired, len(fired), c.ID)
		}
		for _, ev := range fired {
			if !keys[ev.ID] {
				k.wrong("a firing without a run: %s", ev.ID)
			}
		}
	}
	return nil
}

// log reads the log of a run, whose sequences have no gap and whose ids are different.
func (k *checker) log(tenant, run string) (all []events.RunEvent, err error) {
	ids := map[string]bool{}
	for {
		page, err := k.bank.Log().Read(k.ctx, tenant, run, int64(len(all)), 0)
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, ev := range page {
			if ev.Sequence != int64(len(all)) || ids[ev.ID] {
				k.wrong("the log of %s has %s under %d, which is number %d", run, ev.ID, ev.Sequence, len(all))
			}
			ids[ev.ID] = true
			all = append(all, ev)
		}
	}
}

// checkEvents compares the logs of runs with the entries: one event for each.
func (k *checker) checkEvents() error {
	entries, _, facts, armed := tenantsOf(k.round)
	for _, tenant := range []string{entries, facts, armed} {
		records, err := k.history(tenant)
		if err != nil {
			return err
		}
		told, runs := map[string]int{}, map[string]bool{}
		for _, c := range k.of(tenant, "view", "put", "replace", "fact", "pass", "intention") {
			runs[c.Run] = true
		}
		for run := range runs {
			log, err := k.log(tenant, run)
			if err != nil {
				return err
			}
			passes := 0
			for _, ev := range log {
				switch p := ev.Payload.(type) {
				case events.MemoryWritten:
					told[p.MemoryID]++
					if _, there := records[p.MemoryID]; !there {
						k.wrong("an event of an entry that is not there: %s", p.MemoryID)
					}
				case events.MemoryConsolidated:
					passes++
				}
				k.counts["events"]++
			}
			for _, c := range k.of(tenant, "pass") {
				if c.Run == run && (passes > 1 || c.Outcome == done && passes != 1) {
					k.wrong("the pass %s has %d events", run, passes)
				}
			}
		}
		for _, c := range k.of(tenant, "put", "replace", "fact", "intention") {
			if c.Outcome == done && told[c.ID] != 1 {
				k.wrong("%d events of an acknowledged entry: %s", told[c.ID], c.Name)
			}
		}
		for id, rec := range records {
			if told[id] > 1 || !rec.Erased && runs[rec.Entry.RunID] && len(rec.Entry.Sources) == 0 && told[id] != 1 {
				k.wrong("%d events of the entry %s", told[id], id)
			}
		}
	}
	return nil
}

// checkTokens reads as of each token what its run has seen.
func (k *checker) checkTokens() error {
	tenant, _, _, _ := tenantsOf(k.round)
	began, forgotten := map[string]int64{}, int64(0) // when views were taken, and the last thing was erased
	for _, c := range k.of(tenant, "view") {
		began[c.Run] = c.Began
	}
	for _, c := range k.of(tenant, "forget") {
		if c.Outcome != refused {
			forgotten = max(forgotten, c.Ended)
		}
	}
	return k.readTokens("tokens", k.bank, func(c *call) bool { return k.isDirty(c) || began[c.Run] < forgotten })
}

// readTokens reads as of each token. What it shows is what its run has seen, or it is refused if it may be.
func (k *checker) readTokens(what string, bank *memory.Bank, refusable func(*call) bool) error {
	tenant, _, _, _ := tenantsOf(k.round)
	for _, c := range k.of(tenant, "token") {
		if c.Outcome != done {
			continue
		}
		seen, err := k.asOf(bank, tenant, memory.Token(c.Token))
		switch {
		case errors.Is(err, memory.ErrSnapshotUnavailable) && refusable(c):
			k.counts[what+" refused"]++
		case errors.Is(err, memory.ErrSnapshotUnavailable):
			k.wrong("%s: one is refused, and nothing that it may show was forgotten: %s", what, c.Run)
		case err != nil:
			return err
		case joined(seen) != joined(c.Names):
			k.wrong("%s: one shows something else than its run saw: %s", what, c.Run)
		default:
			k.counts[what]++
		}
	}
	return nil
}

// checkOld reads the tokens on a primary that was replaced and has come back with its old history: it shows
// what their runs saw or refuses them, also after it has given out the same versions again.
func (k *checker) checkOld(dsn string) error {
	st, shut, err := openStore(k.ctx, dsn)
	if err != nil {
		return err
	}
	defer shut()
	bank, _, err := bankOf(st, 0, nil)
	if err != nil {
		return err
	}
	any := func(*call) bool { return true }
	if err := k.readTokens("tokens on the old primary", bank, any); err != nil {
		return err
	}
	tenant, _, _, _ := tenantsOf(k.round)
	for i := range 50 {
		scope := driver.Scope{Tenant: tenant, Ref: "other"}
		if err := st.Put(k.ctx, scope, driver.Entry{ID: fmt.Sprint("other-", i), Content: "other", CreatedAt: time.Now()}); err != nil {
			return err
		}
		if err := st.Put(k.ctx, driver.Scope{Tenant: tenant, Ref: ref}, driver.Entry{ID: fmt.Sprint("more-", i), Content: "more", CreatedAt: time.Now()}); err != nil {
			return err
		}
	}
	return k.readTokens("tokens on the old primary that went on", bank, any)
}

func (k *checker) asOf(bank *memory.Bank, tenant string, t memory.Token) ([]string, error) {
	past, err := bank.AsOf(k.ctx, tenant, t)
	if err != nil {
		return nil, err
	}
	seen, err := past.List(k.ctx, ref, everything)
	return namesOf(seen), err
}
