package capability_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// store is a store of which only what it offers matters: nothing here reads or
// writes an entry.
type store struct {
	driver.Adapter
	traits               traits
	transacts, versioned bool
	semantic             bool // the bank has a ranker that ranks by meaning, if the store can bear it
}

// As offers what the fields say.
func (s *store) As(target any) bool {
	switch t := target.(type) {
	case *driver.Describer:
		*t = s
		return true
	case *driver.Transactor:
		if s.transacts {
			*t = struct{ driver.Transactor }{}
		}
		return s.transacts
	case *driver.Versioned:
		if s.versioned {
			*t = struct{ driver.Versioned }{}
		}
		return s.versioned
	}
	return false
}

func (s *store) Durable() bool  { return s.traits.Durable }
func (s *store) ReadOnly() bool { return s.traits.ReadOnly }

// traits are what a store says of itself.
type traits struct{ Durable, ReadOnly bool }

// full is a store that can do everything.
func full() *store {
	return &store{
		traits:    traits{Durable: true},
		transacts: true, versioned: true, semantic: true,
	}
}

// bank opens a bank over a store; it announces writes if the store can bear it.
func bank(t testing.TB, s *store) *memory.Bank {
	t.Helper()
	cfg := memory.Config{Sink: new(events.Log), WriteEvents: s.transacts}
	if s.semantic && s.transacts {
		cfg.Ranker = ranker("m")
	}
	b, err := memory.New(s, cfg)
	require.NoError(t, err)
	return b
}

type consolidator events.ConsolidationTrigger

func (c consolidator) Trigger() events.ConsolidationTrigger { return events.ConsolidationTrigger(c) }

type commitmentEngine []events.Condition

func (c commitmentEngine) Conditions() []events.Condition { return c }

type distiller struct {
	tokenizer string
	budget    int
	kept      string
}

func (d distiller) TokenizerName() string { return d.tokenizer }
func (d distiller) MaxTokenBudget() int   { return d.budget }
func (d distiller) Retention() string     { return d.kept }

// rest is the document of a host that has all that memory builds upon.
const rest = `{
	"protocolVersion": "1.1", "supportedEnvelopes": [], "schemaVersions": {},
	"limits": {"clarificationRounds": 0, "schemaRounds": 3, "envelopesPerTurn": 5},
	"multiAgent": {"executionModel": {"supported": true, "version": 5}},
	"scheduling": {"supported": true, "cron": true},
	"workspace": {"supported": true},
	"agents": {"manifestRuntime": {"supported": true}},
	"x-acme": {"region": "eu"}
}`

// everything is a host that has everything.
func everything(t testing.TB) capability.Inputs {
	return capability.Inputs{
		Bank:                  bank(t, full()),
		Consolidator:          consolidator(events.ConsolidationScheduled),
		Commitments:           commitmentEngine{events.ConditionPredicate, events.ConditionTime},
		Distiller:             distiller{"o200k_base", 8000, "P90D"},
		Workspace:             files(true),
		ScheduledDistillation: true,
		Declare:               []byte(rest),
	}
}

func derive(t testing.TB, in capability.Inputs) *capability.Model {
	t.Helper()
	m, err := capability.Derive(in)
	require.NoError(t, err)
	return m
}

func parse(t testing.TB, doc string) *capability.Model {
	t.Helper()
	m, err := capability.Parse([]byte(doc))
	require.NoError(t, err)
	return m
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// fields is a document as an independent reader sees it.
func fields(t testing.TB, m *capability.Model) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(marshal(t, m)), &doc))
	return doc
}

// at looks into a document; nil for a field that is not there.
func at(doc any, names ...string) any {
	for _, name := range names {
		o, _ := doc.(map[string]any)
		doc = o[name]
	}
	return doc
}

// satisfied are the dimensions that a model has.
func satisfied(m *capability.Model) []capability.Dimension {
	var have []capability.Dimension
	for _, s := range m.Statuses() {
		if s.Satisfied {
			have = append(have, capability.Dimension(s.Name))
		}
	}
	return have
}
