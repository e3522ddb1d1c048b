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

// Consolidator is what [Derive] reads of an engine that consolidates (RFC 0068).
type Consolidator interface {
	// Trigger is what starts its passes.
	Trigger() events.ConsolidationTrigger
}

// Commitments is what [Derive] reads of an engine that infers commitments (RFC 0068).
type Commitments interface {
	// Conditions are what its commitments can wait for. An engine that evaluates
	// no predicates has time only.
	Conditions() []events.Condition
}

// Distiller is what [Derive] reads of an engine that compacts and distils (RFC 0012,
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

// Workspace is what [Derive] reads of what serves the files of a host (RFC 0059).
type Workspace interface {
	// RendersIndex reports whether it renders the memory index when that is read.
	RendersIndex() bool
}

// Proposals is what [Derive] reads of a store of proposals (RFC 0096).
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
		if !slices.Contains(Dimensions(), d) {
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
	g := newGrants(in, doc)
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
	return &Model{*doc, doc.statuses()}, nil
}

const (
	scheduling = "scheduling/supported"
	workspace  = "workspace/supported"
)

func newGrants(in Inputs, said *document) *grants {
	g := &grants{in: in, said: said, given: &document{root: object{}, missing: map[string]string{}}, left: leftOut(in.Without, said)}
	if in.Bank != nil {
		g.offers = in.Bank.Engines().Offers()
	}
	g.memory = g.unlessLeft(Read, in.Bank != nil, "there is no bank")
	g.writes = g.unlessLeft(Write, g.offers.Writes, "the store is read-only")
	g.transactions = need{g.offers.Transactions, "the store is no driver.Transactor"}
	g.durable = g.unlessLeft(LongTerm, g.offers.Durable, "the store does not outlive its process")
	g.scheduling = need{said.isTrue(scheduling), "the host declares no scheduling: if it starts runs by time, declare scheduling.supported"}
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

// unlessLeft is a need that is not met either if the host leaves out a dimension.
func (g *grants) unlessLeft(d Dimension, met bool, missing string) need {
	if slices.Contains(g.left, d) {
		return need{false, "the host leaves out " + string(d)}
	}
	return need{met, missing}
}

// grant goes through the fields of the two families and what each rests on. The methods of the
// host's parts are called under a guard.
func (g *grants) grant() error {
	rendered := false // the index, by the workspace
	for _, part := range []struct {
		name  string
		grant func()
	}{
		{"the bank", g.grantMemory},
		{"the workspace", func() { rendered = g.in.Workspace != nil && g.in.Workspace.RendersIndex() }},
		{"the distiller", func() { g.grantDistiller(rendered) }},
		{"the consolidator", g.grantLongTerm},
		{"the commitment engine", g.grantCommitments},
		{"the store of proposals", g.grantProposals},
	} {
		_, err := hostcall.Inline(part.name, func() (struct{}, error) { part.grant(); return struct{}{}, nil })
		if err != nil {
			return fmt.Errorf("capability: %w: %w", err, memory.ErrInternal)
		}
	}
	return nil
}

func (g *grants) grantMemory() {
	mem := g.block("memory", g.memory)
	mem.grant("supported")
	mem.grant("writable", g.writes)
	mem.allow("maxEntrySizeBytes", float64(g.offers.MaxEntryBytes), atMost, "the bank accepts less", g.writes)
	mem.grant("ttlSupported")

	modes := []string{"filter"} // a bank filters lists itself
	if g.offers.Semantic {
		modes = []string{"semantic", "filter"}
	}
	search := g.block("memory/search", g.memory, g.unlessLeft(Search, true, ""))
	search.grant("supported")
	search.allow("modes", list(modes...), among, "the bank has no ranker that ranks by meaning")

	counter := g.offers.TokenCounter
	budget := g.block("memory/injectionBudget", g.memory, need{counter != "", "the bank has no token counter: set memory.Config.TokenCounter"})
	budget.grant("supported")
	budget.allow("tokenCounter", counterName(counter), same, "the bank counts in other units")

	retention := g.block("memory/retention", g.memory, g.unlessLeft(Retention, true, ""))
	retention.grant("ttl")
	retention.grant("forget", g.writes, g.transactions)

	attribution := g.block("memory/attribution", g.memory, g.unlessLeft(Attribution, true, ""), g.writes,
		need{g.offers.WriteEvents, "the bank announces no writes: set memory.Config.WriteEvents"})
	attribution.grant("supported")
	attribution.grant("emitsWriteEvents")
}

// counterName is what a token counter is called in the protocol (RFC 0113).
func counterName(name string) string {
	switch name {
	case "chars", "o200k_base", "cl100k_base":
		return name
	}
	return "host-defined"
}

func (g *grants) grantDistiller(rendered bool) {
	condenses := []need{g.memory, g.writes, g.transactions, g.unlessLeft(Compaction, g.in.Distiller != nil, "there is no distiller")}
	compaction := g.block("memory/compaction", condenses...)
	compaction.grant("supported")
	compaction.allow("trigger", string(events.CompactionHostManaged), same, "clients cannot request it")

	var name, kept string
	var most int
	if d := g.in.Distiller; d != nil {
		name, most, kept = d.TokenizerName(), d.MaxTokenBudget(), d.Retention()
	}
	distillation := g.block("memory/distillation", append(condenses,
		need{name != "", "the distiller names no tokenizer"},
		need{most > 0, "the distiller has no maximum budget"})...)
	distillation.grant("supported")
	distillation.allow("maxTokenBudget", float64(most), atMost, "the distiller accepts less")
	distillation.allow("tokenizerName", name, same, "the distiller counts with another tokenizer")
	distillation.grant("scheduled", need{g.in.ScheduledDistillation, "the host does not schedule the distiller"}, g.scheduling)
	distillation.grant("indexEmitted",
		need{g.said.isTrue(workspace), "the host declares no workspace: if it serves files, declare workspace.supported"},
		need{rendered, "no workspace renders the index"})
	distillation.allow("archiveRetention", kept, same, "the distiller keeps an archive for another time",
		need{kept != "", "the distiller does not say how long it keeps an archive"})
}

// grantLongTerm grants that memory lasts, and consolidation, which rests on it.
func (g *grants) grantLongTerm() {
	g.block("agents", g.memory).allow("memoryBackends", list(longTermBackend), among, "", g.durable)
	var trigger events.ConsolidationTrigger
	if g.in.Consolidator != nil {
		trigger = g.in.Consolidator.Trigger()
	}
	known := []events.ConsolidationTrigger{
		events.ConsolidationHostManaged, events.ConsolidationScheduled, events.ConsolidationOnDemand,
	}
	block := g.block(consolidation, g.memory, g.writes, g.transactions, g.durable,
		need{g.in.Consolidator != nil, "there is no consolidator"},
		need{slices.Contains(known, trigger), "the consolidator has no trigger that the protocol knows"},
		need{trigger != events.ConsolidationScheduled || g.scheduling.met, "its passes are scheduled, and " + g.scheduling.missing})
	block.grant("supported")
	block.allow("schedule", string(trigger), same, "the consolidator has another trigger")
}

func (g *grants) grantCommitments() {
	conditions := []events.Condition{events.ConditionTime, events.ConditionPredicate}
	if g.in.Commitments != nil {
		has := g.in.Commitments.Conditions()
		conditions = slices.DeleteFunc(conditions, func(known events.Condition) bool { return !slices.Contains(has, known) })
	}
	block := g.block(commitments, g.memory, need{g.in.Commitments != nil, "there is no commitment engine"},
		need{len(conditions) > 0, "the commitment engine knows no condition"})
	block.grant("supported")
	block.allow("fireConditions", list(conditions...), among, "the commitment engine does not know that condition")
}

func (g *grants) grantProposals() {
	var kinds []events.ArtifactKind
	var activation string
	var finds bool
	if p := g.in.Proposals; p != nil {
		kinds, activation, finds = p.Kinds(), p.Activation(), p.FindsDuplicates()
	}
	block := g.block(proposals, g.memory, g.writes, g.transactions, need{g.in.Proposals != nil, "there is no store of proposals"})
	block.allow("artifactKinds", list(kinds...), among, "that kind is not taken")
	block.allow("activation", activation, same, "proposals are activated in another mode")
	block.allow("duplicationDetection", finds, granted, "duplicates are not found")
}
