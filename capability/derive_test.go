package capability_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func TestDeriveEverything(t *testing.T) {
	m := derive(t, everything(t))
	assert.Equal(t, capability.Dimensions(), satisfied(m))
	holds, why := m.Profile()
	assert.True(t, holds, why)
	served, perTenant := m.Inventory()
	assert.True(t, served)
	assert.False(t, perTenant)
	assert.JSONEq(t, `{
		"protocolVersion": "1.1", "supportedEnvelopes": [], "schemaVersions": {},
		"limits": {"clarificationRounds": 0, "schemaRounds": 3, "envelopesPerTurn": 5},
		"multiAgent": {"executionModel": {"supported": true, "version": 5}},
		"scheduling": {"supported": true, "cron": true},
		"workspace": {"supported": true},
		"x-acme": {"region": "eu"},
		"memory": {
			"supported": true, "writable": true, "maxEntrySizeBytes": 65536, "ttlSupported": true,
			"search": {"supported": true, "modes": ["semantic", "filter"]},
			"retention": {"ttl": true, "forget": true},
			"attribution": {"supported": true, "emitsWriteEvents": true},
			"compaction": {"supported": true, "trigger": "host-managed"},
			"distillation": {
				"supported": true, "tokenizerName": "o200k_base", "maxTokenBudget": 8000,
				"indexEmitted": true, "scheduled": true, "archiveRetention": "P90D"
			}
		},
		"agents": {
			"manifestRuntime": {"supported": true},
			"memoryBackends": ["long-term"],
			"memoryConsolidation": {"supported": true, "schedule": "scheduled"},
			"commitments": {"supported": true, "fireConditions": ["time", "predicate"]}
		}
	}`, marshal(t, m))
}

func TestDeriveNothing(t *testing.T) {
	m := derive(t, capability.Inputs{})
	assert.Empty(t, satisfied(m))
	assert.JSONEq(t, `{"memory": {"supported": false}}`, marshal(t, m))
	for _, s := range m.Statuses() {
		assert.Equal(t, "there is no bank", s.Why, s.Name)
	}
}

type files bool

func (f files) RendersIndex() bool { return bool(f) }

// The index is claimed only if there is a workspace that renders it.
func TestA1_AnIndexIsClaimedOnlyIfItIsWritten(t *testing.T) {
	runner, err := distill.New(distill.Config{})
	require.NoError(t, err)
	for _, c := range []struct {
		workspace capability.Workspace
		want      bool
	}{{nil, false}, {files(false), false}, {files(true), true}} {
		in := capability.Inputs{Bank: bank(t, full()), Distiller: runner, Workspace: c.workspace, Declare: []byte(rest)}
		assert.Equal(t, c.want, at(fields(t, derive(t, in)), "memory", "distillation", "indexEmitted") == true, "%+v", c)
	}
}

// A1: over all stores, with and without each engine, a derived model claims exactly
// what the parts bear. The rules are written down here a second time.
func TestA1_DerivedFromWhatIsThere(t *testing.T) {
	for bits := range 1 << 9 {
		bit := func(i int) bool { return bits>>i&1 != 0 }
		readOnly, durable, transacts, semantic := bit(0), bit(1), bit(2), bit(4)
		versioned := transacts && bit(3)
		engines, scheduled, workspace, modelTwo := bit(5), bit(6), bit(7), bit(8)
		s := &store{
			traits:    traits{ReadOnly: readOnly, Durable: durable},
			transacts: transacts, versioned: versioned, semantic: semantic,
		}
		in := capability.Inputs{Bank: bank(t, s)}
		if engines {
			in.Consolidator = consolidator(events.ConsolidationScheduled)
			in.Commitments = commitmentEngine{events.ConditionTime}
			in.Distiller, in.Workspace = distiller{"bytes", 10, "PT1H"}, files(true)
		}
		version := 1
		if modelTwo {
			version = 2
		}
		in.Declare = fmt.Appendf(nil,
			`{"scheduling":{"supported":%t},"workspace":{"supported":%t},"multiAgent":{"executionModel":{"supported":true,"version":%d}}}`,
			scheduled, workspace, version)
		name := fmt.Sprintf("%09b", bits)

		m, err := capability.Derive(in)
		if modelTwo && !versioned {
			require.ErrorIs(t, err, capability.ErrClaim, name)
			continue
		}
		require.NoError(t, err, name)
		changes := !readOnly && transacts
		assert.Equal(t, map[capability.Dimension]bool{
			capability.Read: true, capability.Write: !readOnly, capability.Search: true, capability.LongTerm: durable,
			capability.Compaction: engines && changes, capability.Attribution: changes,
			capability.Replay: durable && modelTwo && versioned, capability.Retention: true,
		}, statuses(m), name)
		assert.Equal(t, engines && changes && durable && scheduled, m.Consolidation().Satisfied, name)
		assert.Equal(t, engines, m.Commitments().Satisfied, name)

		doc := fields(t, m)
		flag := func(path ...string) bool { return at(doc, path...) == true }
		assert.Equal(t, changes, flag("memory", "retention", "forget"), name)
		assert.Equal(t, changes, flag("memory", "attribution", "emitsWriteEvents"), name)
		assert.Equal(t, !readOnly, flag("memory", "writable"), name)
		assert.Equal(t, readOnly, at(doc, "memory", "writable") == false, name)
		assert.Equal(t, engines && changes, flag("memory", "distillation", "supported"), name)
		assert.Equal(t, engines && changes && workspace, flag("memory", "distillation", "indexEmitted"), name)
		assert.False(t, flag("memory", "distillation", "scheduled"), name)
		assert.Equal(t, semantic && transacts, strings.Contains(marshal(t, m), "semantic"), name)

		// The document says the same to a reader who has only the document.
		read := parse(t, marshal(t, m))
		assert.Equal(t, statuses(m), statuses(read), name)
		assert.Equal(t, m.Consolidation().Satisfied, read.Consolidation().Satisfied, name)
		// What is derived is no more than may be claimed.
		in.Declare = []byte(marshal(t, m))
		assert.JSONEq(t, marshal(t, m), marshal(t, derive(t, in)), name)
	}
}

func statuses(m *capability.Model) map[capability.Dimension]bool {
	all := map[capability.Dimension]bool{}
	for _, s := range m.Statuses() {
		all[capability.Dimension(s.Name)] = s.Satisfied
	}
	return all
}

// A1: asking for more is an error that names the field and the missing piece.
func TestA1_AskingForMore(t *testing.T) {
	readOnly := func(s *store) { s.traits.ReadOnly = true }
	plain := func(s *store) { s.transacts, s.versioned = false, false }
	volatile := func(s *store) { s.traits.Durable = false }
	literal := func(s *store) { s.semantic = false }
	unversioned := func(s *store) { s.versioned = false }
	same := func(*store) {}
	for _, c := range []struct {
		change  func(*store)
		declare string
		path    string
		missing string
	}{
		{readOnly, `{"memory":{"writable":true}}`, "/memory/writable", "the store is read-only"},
		{readOnly, `{"memory":{"maxEntrySizeBytes":1}}`, "/memory/maxEntrySizeBytes", "the store is read-only"},
		{same, `{"memory":{"maxEntrySizeBytes":65537}}`, "/memory/maxEntrySizeBytes", "the bank accepts less"},
		{literal, `{"memory":{"search":{"supported":true,"modes":["semantic"]}}}`, "/memory/search/modes", "the bank has no ranker that ranks by meaning"},
		{same, `{"memory":{"injectionBudget":{"supported":true,"tokenCounter":"chars"}}}`, "/memory/injectionBudget/supported", "the bank has no token counter: set memory.Config.TokenCounter"},
		{plain, `{"memory":{"retention":{"forget":true}}}`, "/memory/retention/forget", "the store is no driver.Transactor"},
		{readOnly, `{"memory":{"retention":{"forget":true}}}`, "/memory/retention/forget", "the store is read-only"},
		{plain, `{"memory":{"attribution":{"supported":true}}}`, "/memory/attribution/supported", "the bank announces no writes: set memory.Config.WriteEvents"},
		{same, `{"memory":{"compaction":{"supported":true,"trigger":"both"}}}`, "/memory/compaction/trigger", "clients cannot request it"},
		{plain, `{"memory":{"compaction":{"supported":true,"trigger":"host-managed"}}}`, "/memory/compaction/supported", "the store is no driver.Transactor"},
		{same, `{"memory":{"distillation":{"supported":true,"maxTokenBudget":8001}}}`, "/memory/distillation/maxTokenBudget", "the distiller accepts less"},
		{same, `{"memory":{"distillation":{"supported":true,"tokenizerName":"cl100k_base"}}}`, "/memory/distillation/tokenizerName", "the distiller counts with another tokenizer"},
		{same, `{"memory":{"distillation":{"supported":true,"archiveRetention":"P91D"}}}`, "/memory/distillation/archiveRetention", "the distiller keeps an archive for another time"},
		{same, `{"memory":{"distillation":{"supported":true,"indexEmitted":true}}}`, "/memory/distillation/indexEmitted", "the host declares no workspace: if it serves files, declare workspace.supported"},
		{same, `{"memory":{"distillation":{"supported":true,"scheduled":true}}}`, "/memory/distillation/scheduled", "the host does not schedule the distiller"},
		{volatile, `{"agents":{"memoryBackends":["long-term"]}}`, "/agents/memoryBackends", "the store does not outlive its process"},
		{volatile, `{"agents":{"memoryConsolidation":{"supported":true,"schedule":"on-demand"}}}`, "/agents/memoryConsolidation/supported", "the store does not outlive its process"},
		{same, `{"agents":{"memoryConsolidation":{"supported":true,"schedule":"host-managed"}}}`, "/agents/memoryConsolidation/schedule", "the consolidator has another trigger"},
		{same, `{"agents":{"memoryConsolidation":{"supported":true}}}`, "/agents/memoryConsolidation/schedule", "the consolidator has another trigger"},
		{same, `{"agents":{"commitments":{"supported":true,"fireConditions":["time"]}}}`, "/agents/commitments/fireConditions", "the commitment engine does not know that condition"},
		{same, `{"agents":{"commitments":{"supported":true}}}`, "/agents/commitments/fireConditions", "the commitment engine does not know that condition"},
		{same, `{"memory":{"writable":false,"retention":{"forget":true}}}`, "/memory/retention/forget", "the host leaves out write"},
		{same, `{"memory":{"supported":false,"search":{"supported":true}}}`, "/memory/search/supported", "the host leaves out read"},
		{same, `{"agents":{"supported":false,"memoryBackends":[],"memoryConsolidation":{"supported":true,"schedule":"on-demand"}}}`, "/agents/memoryConsolidation/supported", "the host leaves out long-term-durability"},
		{unversioned, `{"multiAgent":{"executionModel":{"supported":true,"version":2}}}`, "/multiAgent/executionModel/version", "the store is not driver.Versioned, so that runs have no views"},
		{same, `{"capabilities":{"memory":{"compaction":{"supported":true,"trigger":"both"}}}}`, "/memory/compaction/trigger", "clients cannot request it"},
	} {
		s := full()
		c.change(s)
		_, err := capability.Derive(capability.Inputs{
			Bank:         bank(t, s),
			Consolidator: consolidator(events.ConsolidationOnDemand),
			Commitments:  commitmentEngine{events.ConditionPredicate},
			Distiller:    distiller{"o200k_base", 8000, "P90D"},
			Workspace:    files(true),
			Declare:      []byte(c.declare),
		})
		var claim *capability.ClaimError
		require.ErrorAs(t, err, &claim, c.declare)
		assert.ErrorIs(t, err, capability.ErrClaim)
		assert.Equal(t, capability.ClaimError{Path: c.path, Missing: c.missing}, *claim, c.declare)
		assert.NotContains(t, err.Error(), "\n", c.declare)
	}
}

// Everything that is missing is named at once.
func TestA1_AskingForMuchMore(t *testing.T) {
	in := everything(t)
	claim := marshal(t, derive(t, in))
	s := &store{traits: traits{ReadOnly: true}}
	_, err := capability.Derive(capability.Inputs{Bank: bank(t, s), Declare: []byte(claim), ScheduledDistillation: true})
	var paths []string
	for line := range strings.Lines(err.Error()) {
		path, _, _ := strings.Cut(strings.TrimPrefix(line, capability.ErrClaim.Error()+": "), ":")
		paths = append(paths, path)
	}
	assert.Equal(t, []string{
		"/memory/writable", "/memory/maxEntrySizeBytes", "/memory/search/modes", "/memory/retention/forget",
		"/memory/attribution/supported", "/memory/compaction/supported", "/memory/distillation/supported",
		"/agents/memoryBackends", "/agents/memoryConsolidation/supported", "/agents/commitments/supported",
		"/memory/distillation/scheduled", "/multiAgent/executionModel/version",
	}, paths)
}

// Without a scheduler or a distiller nothing can be said to be scheduled.
func TestA1_ScheduledNeedsScheduling(t *testing.T) {
	in := everything(t)
	in.Declare = nil
	_, err := capability.Derive(in)
	var claim *capability.ClaimError
	require.ErrorAs(t, err, &claim)
	assert.Equal(t, "the host declares no scheduling: if it starts runs by time, declare scheduling.supported", claim.Missing)

	in.ScheduledDistillation = false
	m := derive(t, in)
	assert.Equal(t, "its passes are scheduled, and the host declares no scheduling: if it starts runs by time, declare scheduling.supported", m.Consolidation().Why)

	_, err = capability.Derive(capability.Inputs{Bank: in.Bank, Declare: []byte(rest), ScheduledDistillation: true})
	require.ErrorAs(t, err, &claim)
	assert.Equal(t, "there is no distiller", claim.Missing)
}

// An engine that cannot say what the protocol wants to know is not advertised.
func TestA1_EnginesWithGaps(t *testing.T) {
	for _, c := range []struct {
		change func(*capability.Inputs)
		path   []string
	}{
		{func(in *capability.Inputs) { in.Distiller = distiller{"", 8000, ""} }, []string{"memory", "distillation"}},
		{func(in *capability.Inputs) { in.Distiller = distiller{"bytes", 0, ""} }, []string{"memory", "distillation"}},
		{func(in *capability.Inputs) { in.Distiller = distiller{"bytes", 9, ""} }, []string{"memory", "distillation", "archiveRetention"}},
		{func(in *capability.Inputs) { in.Consolidator = consolidator("hourly") }, []string{"agents", "memoryConsolidation"}},
		{func(in *capability.Inputs) { in.Commitments = commitmentEngine{"weather"} }, []string{"agents", "commitments"}},
		{func(in *capability.Inputs) { in.Commitments = commitmentEngine(nil) }, []string{"agents", "commitments"}},
	} {
		in := everything(t)
		in.ScheduledDistillation = false
		c.change(&in)
		assert.Nil(t, at(fields(t, derive(t, in)), c.path...), c.path)
	}
}

// A1: a host may leave out each dimension it has, and what rests on it goes too.
func TestA1_ClaimingLess(t *testing.T) {
	for _, c := range []struct {
		leave []capability.Dimension
		lost  []capability.Dimension
	}{
		{[]capability.Dimension{capability.Read}, capability.Dimensions()},
		{[]capability.Dimension{capability.Write}, []capability.Dimension{capability.Write, capability.Compaction, capability.Attribution}},
		{[]capability.Dimension{capability.Search}, []capability.Dimension{capability.Search}},
		{[]capability.Dimension{capability.LongTerm}, []capability.Dimension{capability.LongTerm, capability.Replay}},
		{[]capability.Dimension{capability.LongTerm, capability.Replay}, []capability.Dimension{capability.LongTerm, capability.Replay}},
		{[]capability.Dimension{capability.Compaction}, []capability.Dimension{capability.Compaction}},
		{[]capability.Dimension{capability.Attribution}, []capability.Dimension{capability.Attribution}},
		{[]capability.Dimension{capability.Retention}, []capability.Dimension{capability.Retention}},
	} {
		in := everything(t)
		in.ScheduledDistillation = false
		in.Without = c.leave
		m := derive(t, in)
		for _, d := range capability.Dimensions() {
			lost := assert.ObjectsAreEqual(false, m.Satisfies(d))
			assert.Equal(t, contains(c.lost, d), lost, "%v: %s", c.leave, d)
		}
		assert.Contains(t, m.Status(c.leave[0]).Why, "the host leaves out "+string(c.leave[0]))
	}

	in := everything(t)
	in.Without = []capability.Dimension{"serach"}
	_, err := capability.Derive(in)
	assert.ErrorIs(t, err, capability.ErrDimension)

	// replay-snapshot follows from two fields, one of which is not ours to change.
	in.Without = []capability.Dimension{capability.Replay}
	_, err = capability.Derive(in)
	var claim *capability.ClaimError
	require.ErrorAs(t, err, &claim)
	assert.Contains(t, claim.Missing, "cannot be left out alone")
}

func contains(ds []capability.Dimension, d capability.Dimension) bool {
	for _, x := range ds {
		if x == d {
			return true
		}
	}
	return false
}

// Fields that the host declares stay as they are; the rest is filled in.
func TestA1_DeclaredFieldsStay(t *testing.T) {
	in := everything(t)
	in.ScheduledDistillation = false
	in.Declare = []byte(`{
		"scheduling": {"supported": true},
		"memory": {
			"maxEntrySizeBytes": 1000, "search": {"supported": true}, "retention": {"ttl": true},
			"compaction": {"supported": false, "trigger": "both"}
		},
		"agents": {"memoryConsolidation": {"supported": false}, "commitments": {"supported": true}, "roster": 7}
	}`)
	m := derive(t, in)
	assert.JSONEq(t, `{
		"scheduling": {"supported": true},
		"memory": {
			"supported": true, "writable": true, "ttlSupported": true,
			"maxEntrySizeBytes": 1000, "search": {"supported": true}, "retention": {"ttl": true},
			"attribution": {"supported": true, "emitsWriteEvents": true},
			"compaction": {"supported": false, "trigger": "both"},
			"distillation": {"supported": true, "tokenizerName": "o200k_base", "maxTokenBudget": 8000, "archiveRetention": "P90D"}
		},
		"agents": {"memoryBackends": ["long-term"], "memoryConsolidation": {"supported": false}, "commitments": {"supported": true}, "roster": 7}
	}`, marshal(t, m))
	assert.Equal(t, "agents.memoryConsolidation.supported is false", m.Consolidation().Why)
	assert.Equal(t, "time", m.Commitments().Why)

	in.Declare = []byte(`{"memory": {"supported": false, "writable": true, "maxEntrySizeBytes": 70000}}`)
	assert.JSONEq(t, string(in.Declare), marshal(t, derive(t, in)))
}

// counter is a token counter of some name.
type counter string

func (c counter) Name() string        { return string(c) }
func (counter) Count(text string) int { return len(text) }

// A1: budgeted reads (RFC 0113) are claimed only where the bank counts, in its own units.
func TestA1_InjectionBudget(t *testing.T) {
	for name, want := range map[string]string{"chars": "chars", "o200k_base": "o200k_base", "acme-tokens/3": "host-defined"} {
		s := full()
		b, err := memory.New(s, memory.Config{TokenCounter: counter(name)})
		require.NoError(t, err)
		budget := fields(t, derive(t, capability.Inputs{Bank: b}))["memory"].(map[string]any)["injectionBudget"]
		require.Equal(t, map[string]any{"supported": true, "tokenCounter": want}, budget)
		_, err = capability.Derive(capability.Inputs{Bank: b, Declare: []byte(`{"memory":{"injectionBudget":{"supported":true,"tokenCounter":"cl100k_base"}}}`)})
		require.ErrorIs(t, err, capability.ErrClaim)
	}
	require.NotContains(t, fields(t, derive(t, everything(t)))["memory"], "injectionBudget")
}

// ranker says that it ranks by a model.
type ranker string

func (r ranker) Model() string { return string(r) }
func (ranker) Version() string { return "test" }
func (ranker) Rank(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) {
	return nil, nil
}

// A1: search is semantic iff the bank's ranker goes by meaning. A budget beside it is claimed
// in any case: lists can be ranked by relevance then.
func TestA1_SemanticIfTheRankerRanksByMeaning(t *testing.T) {
	for model, semantic := range map[string]bool{"": false, "m": true} {
		b, err := memory.New(full(), memory.Config{TokenCounter: counter("chars"), Ranker: ranker(model)})
		require.NoError(t, err)
		in := capability.Inputs{Bank: b}
		family := fields(t, derive(t, in))["memory"].(map[string]any)
		require.Equal(t, semantic, slices.Contains(family["search"].(map[string]any)["modes"].([]any), any("semantic")))
		require.NotNil(t, family["injectionBudget"])
		in.Declare = []byte(`{"memory":{"injectionBudget":{"supported":true,"tokenCounter":"chars"}}}`)
		_, err = capability.Derive(in)
		require.NoError(t, err)
	}
}

// A2: what is declared in the wrapper is written at the root.
func TestA2_WrittenAtTheRoot(t *testing.T) {
	in := everything(t)
	in.Declare = []byte(`{"capabilities": {"memory": {"retention": {"ttl": true}}, "scheduling": {"supported": true}, "webhooks": {}}}`)
	doc := fields(t, derive(t, in))
	assert.Equal(t, map[string]any{"webhooks": map[string]any{}}, doc["capabilities"])
	assert.Equal(t, map[string]any{"ttl": true}, at(doc, "memory", "retention"))
	assert.Equal(t, true, at(doc, "scheduling", "supported"))
}

// A4: replay-snapshot is claimed only where runs have views.
func TestA4_ReplayNeedsViews(t *testing.T) {
	in := everything(t)
	assert.True(t, derive(t, in).Satisfies(capability.Replay))

	s := full()
	s.versioned = false
	in.Bank = bank(t, s)
	_, err := capability.Derive(in)
	var claim *capability.ClaimError
	require.ErrorAs(t, err, &claim)
	assert.Equal(t, "/multiAgent/executionModel/version", claim.Path)

	for declared, why := range map[string]string{
		`{}`: "multiAgent.executionModel.version is absent: declare 2 if runs replay memory reads",
		`{"multiAgent":{"executionModel":{"version":"5"}}}`:                  "multiAgent.executionModel.version is no number",
		`{"multiAgent":{"executionModel":{"version":1}}}`:                    "multiAgent.executionModel.version is below 2, the first that replays memory reads",
		`{"multiAgent":{"executionModel":{"version":5,"supported":false}}}`:  "multiAgent.executionModel.supported is not true",
		`{"multiAgent":{"executionModel":{"version":5,"supported":"true"}}}`: "multiAgent.executionModel.supported is not true",
	} {
		in := capability.Inputs{Bank: in.Bank, Declare: []byte(declared)}
		assert.Equal(t, why, derive(t, in).Status(capability.Replay).Why)
	}
	// A host whose memory does not last has nothing to replay from.
	volatile := full()
	volatile.traits.Durable = false
	in = capability.Inputs{Bank: bank(t, volatile), Declare: []byte(rest)}
	assert.Equal(t, "the store does not outlive its process", derive(t, in).Status(capability.Replay).Why)
}

func TestDeriveInvalidDeclare(t *testing.T) {
	for _, doc := range []string{``, `[]`, `{"memory":{"supported":"yes"}}`} {
		_, err := capability.Derive(capability.Inputs{Declare: []byte(doc)})
		assert.ErrorIs(t, err, capability.ErrDocument, doc)
		assert.False(t, errors.Is(err, capability.ErrClaim))
	}
}

// A1: what one host may claim, another may claim iff it has as much.
func TestA1_LessNeverMore(t *testing.T) {
	host := func(bits int) (s *store, has [4]bool) {
		s = &store{
			traits:    traits{ReadOnly: bits&1 != 0, Durable: bits&2 != 0},
			transacts: bits&4 != 0,
			semantic:  bits&8 != 0,
		}
		return s, [4]bool{!s.traits.ReadOnly, s.traits.Durable, s.transacts && !s.traits.ReadOnly, s.transacts && s.semantic}
	}
	for a := range 16 {
		poor, claims := host(a)
		document := marshal(t, derive(t, capability.Inputs{Bank: bank(t, poor)}))
		for b := range 16 {
			rich, has := host(b)
			may := true
			for i, claim := range claims {
				may = may && (!claim || has[i])
			}
			m, err := capability.Derive(capability.Inputs{Bank: bank(t, rich), Declare: []byte(document)})
			if !may {
				require.ErrorIs(t, err, capability.ErrClaim, "%04b %04b", a, b)
				continue
			}
			require.NoError(t, err, "%04b %04b", a, b)
			for _, d := range []capability.Dimension{capability.Read, capability.Write, capability.Search} {
				assert.Equal(t, parse(t, document).Satisfies(d), m.Satisfies(d), "%04b %04b %s", a, b, d)
			}
		}
	}
}
