package capability

import (
	"errors"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Inputs are what [Derive] makes a model of: the parts that a host has really
// wired, and what it says about the rest of itself.
type Inputs struct {
	// Bank is the host's memory. Nil is a host without.
	Bank *memory.Bank

	// Consolidator, Commitments and Distiller are the engines that work on the
	// bank; nil for one that the host does not run.
	Consolidator Consolidator
	Commitments  Commitments
	Distiller    Distiller
	// Workspace is where the host serves a tenant's files; nil if it serves none.
	Workspace Workspace
	// Proposals are those that the host takes; nil if it takes none.
	Proposals Proposals

	// ScheduledDistillation says that the host's scheduler can start the
	// distiller (RFC 0062). It needs a distiller and scheduling.
	ScheduledDistillation bool

	// Declare is the host's own discovery document as JSON, without what is derived from
	// its memory: for instance the version of its execution model, scheduling and
	// workspace. Derive adds the fields about memory that the document lacks. If the
	// document has such a field itself (memory, agents.memoryBackends, consolidation,
	// commitments, proposals), it stays as it is, and a claim beyond what would be derived is an
	// error. Nil is an empty document.
	Declare []byte

	// Without are dimensions that the host has and does not want to claim. What
	// rests on them goes with them.
	Without []Dimension
}

// Consolidator is what is asked of an engine that consolidates (RFC 0068).
type Consolidator interface {
	// Trigger is what starts its passes.
	Trigger() events.ConsolidationTrigger
}

// Commitments is what is asked of an engine that infers commitments (RFC 0068).
type Commitments interface {
	// Conditions are what its commitments can wait for. An engine that evaluates
	// no predicates has time only.
	Conditions() []events.Condition
}

// Distiller is what is asked of an engine that compacts and distils (RFC 0012,
// RFC 0062).
type Distiller interface {
	// TokenizerName names what counts its tokens.
	TokenizerName() string
	// MaxTokenBudget is the largest budget that it accepts.
	MaxTokenBudget() int
	// Retention is how long an archive is kept, as an ISO 8601 duration; empty if it
	// does not say. It is advertised as it is: a month has no length in days.
	Retention() string
}

// Workspace is what is asked of where a host serves files (RFC 0059).
type Workspace interface {
	// RendersIndex reports whether it renders the memory index when that is read.
	RendersIndex() bool
}

// Proposals is what is asked of a store of proposals (RFC 0096).
type Proposals interface {
	// Kinds are the kinds of artifacts that it takes.
	Kinds() []events.ArtifactKind
	// Activation is its mode, approval-gate or direct-rbac.
	Activation() string
	// FindsDuplicates reports whether a proposal names an earlier one that is the same.
	FindsDuplicates() bool
}

// Derive makes the model of a host from what it has (A1). It claims what the
// store, the bank's Config and the engines bear, and puts off what they do not
// with the reason, which [Model.Explain] shows.
//
// What the host asks for beyond that is an error: a field of Declare, a scheduled
// distillation without a scheduler, or version 2 of the execution model, which
// promises replay of memory reads, over a store whose runs have no views. The
// error joins a [*ClaimError] for each. A Declare that is no valid document gives a
// [*DocumentError], and a name in Without that is no dimension [ErrDimension]. The methods of the
// engines are called in place; one that panics gives [memory.ErrInternal].
func Derive(in Inputs) (*Model, error) {
	for _, d := range in.Without {
		if !slices.Contains(dimensions[:], d) {
			return nil, ErrDimension
		}
	}
	if in.Declare == nil {
		in.Declare = []byte("{}")
	}
	doc, err := read(in.Declare)
	if err != nil {
		return nil, err
	}
	doc.wrapped = nil // what is derived stands at the root
	g := gather(in, doc)
	if err := g.grant(); err != nil {
		return nil, err
	}
	if err := errors.Join(g.overclaims()...); err != nil {
		return nil, err
	}
	g.fill()
	if err := doc.check(); err != nil {
		return nil, err
	}
	return newModel(doc), nil
}

// need is something that a claim rests on.
type need struct {
	met     bool
	missing string // what to say if it is not
}

// grants is a derivation: the needs as they are, and what they allow.
type grants struct {
	in    Inputs
	offer memory.Offers
	said  *document // what the host declares
	given *document // what may be claimed

	memory, writes, transactions, durable, views, writeEvents need
	search, retention, attribution                            need
	consolidator, commitments, distiller                      need
	scheduling, workspace                                     need
	rendered                                                  bool // the index, by the workspace
}

const (
	scheduling = "scheduling/supported"
	workspace  = "workspace/supported"
)

func gather(in Inputs, said *document) *grants {
	g := &grants{in: in, said: said, given: &document{root: object{}, missing: map[string]string{}}}
	if in.Bank != nil {
		g.offer = in.Bank.Engines().Offers()
	}
	left := leftOut(in.Without, said)
	of := func(d Dimension, met bool, missing string) need {
		if slices.Contains(left, d) {
			return need{false, "the host leaves out " + string(d)}
		}
		return need{met, missing}
	}
	o := g.offer
	g.memory = of(Read, in.Bank != nil, "there is no bank")
	g.writes = of(Write, o.Writes, "the store is read-only")
	g.transactions = need{o.Transactions, "the store is no driver.Transactor"}
	g.durable = of(LongTerm, o.Durable, "the store does not outlive its process")
	g.views = need{o.Views, "the store is not driver.Versioned, so that runs have no views"}
	g.search = of(Search, true, "")
	g.retention = of(Retention, true, "")
	g.attribution = of(Attribution, true, "")
	g.writeEvents = need{o.WriteEvents, "the bank announces no writes: set memory.Config.WriteEvents"}
	g.consolidator = need{in.Consolidator != nil, "there is no consolidator"}
	g.commitments = need{in.Commitments != nil, "there is no commitment engine"}
	g.distiller = of(Compaction, in.Distiller != nil, "there is no distiller")
	g.scheduling = need{said.isTrue(scheduling), "the host declares no scheduling: if it starts runs by time, declare scheduling.supported"}
	g.workspace = need{said.isTrue(workspace), "the host declares no workspace: if it serves files, declare workspace.supported"}
	return g
}

// leftOut are the dimensions that the host does not claim, by Without or by a
// declared field upon which others rest.
func leftOut(without []Dimension, said *document) []Dimension {
	left := slices.Clone(without)
	if value, _ := said.at("memory/supported"); value == false {
		left = append(left, Read)
	}
	if value, _ := said.at("memory/writable"); value == false {
		left = append(left, Write)
	}
	if _, ok := said.at(backends); ok && !longTermStatus(said).Satisfied {
		left = append(left, LongTerm)
	}
	return left
}

// allow puts a field into what may be claimed, or notes the first need that is not
// met.
func (g *grants) allow(path string, value any, needs ...need) {
	for _, n := range needs {
		if !n.met {
			g.given.missing[path] = n.missing
			return
		}
	}
	g.given.put(path, value)
}

// grant goes through the fields of the two families and what each rests on.
func (g *grants) grant() error {
	g.allow("memory/supported", true, g.memory)
	g.allow("memory/writable", true, g.memory, g.writes)
	g.allow("memory/maxEntrySizeBytes", integer(g.offer.MaxEntryBytes), g.memory, g.writes)
	g.allow("memory/ttlSupported", true, g.memory)

	modes := []string{"filter"} // a bank filters lists itself
	if g.offer.Semantic {
		modes = []string{"semantic", "filter"}
	}
	g.allow("memory/search", object{"supported": true, "modes": list(modes...)}, g.memory, g.search)
	budget := object{"supported": true, "tokenCounter": counterName(g.offer.TokenCounter)}
	g.allow("memory/injectionBudget", budget, g.memory, need{g.offer.TokenCounter != "", "the bank has no token counter: set memory.Config.TokenCounter"})
	g.allow("memory/retention/ttl", true, g.memory, g.retention)
	g.allow("memory/retention/forget", true, g.memory, g.retention, g.writes, g.transactions)
	g.allow("memory/attribution", object{"supported": true, "emitsWriteEvents": true},
		g.memory, g.attribution, g.writes, g.writeEvents)
	g.allow(backends, list(longTermBackend), g.memory, g.durable)

	changes := []need{g.memory, g.writes, g.transactions}
	for _, part := range []struct {
		name  string
		grant func()
	}{
		{"the workspace", func() { g.rendered = g.in.Workspace != nil && g.in.Workspace.RendersIndex() }},
		{"the distiller", func() { g.grantDistiller(changes) }},
		{"the consolidator", func() { g.grantConsolidator(changes) }},
		{"the commitment engine", g.grantCommitments},
		{"the store of proposals", func() { g.grantProposals(changes) }},
	} {
		_, err := hostcall.Inline(part.name, func() (struct{}, error) { part.grant(); return struct{}{}, nil })
		if err != nil {
			return fmt.Errorf("capability: %w: %w", err, memory.ErrInternal)
		}
	}
	return nil
}

func (g *grants) grantProposals(changes []need) {
	if p := g.in.Proposals; p == nil {
		g.allow(proposals, nil, need{false, "there is no store of proposals"})
	} else {
		g.allow(proposals, object{
			"artifactKinds": list(p.Kinds()...), "activation": p.Activation(), "duplicationDetection": p.FindsDuplicates(),
		}, changes...)
	}
}

// counterName is what a token counter is called in the protocol (RFC 0113).
func counterName(name string) string {
	switch name {
	case "chars", "o200k_base", "cl100k_base":
		return name
	}
	return "host-defined"
}
