package capability

import (
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
)

// bound is how far a declared field may go, given what is derived.
type bound struct {
	path  string
	holds func(said, given any) bool
	// missing is what to say where the field is given, but not so far.
	missing string
}

// bounds are all fields that are derived, block by block.
var bounds = []bound{
	{"memory/supported", granted, ""},
	{"memory/writable", granted, ""},
	{"memory/maxEntrySizeBytes", atMost, "the bank accepts less"},
	{"memory/ttlSupported", granted, ""},
	{"memory/search/supported", granted, ""},
	{"memory/search/modes", among, "the bank has no ranker that ranks by meaning"},
	{"memory/injectionBudget/supported", granted, ""},
	{"memory/injectionBudget/tokenCounter", same, "the bank counts in other units"},
	{"memory/retention/ttl", granted, ""},
	{"memory/retention/forget", granted, ""},
	{"memory/attribution/supported", granted, ""},
	{"memory/attribution/emitsWriteEvents", granted, ""},
	{"memory/compaction/supported", granted, ""},
	{"memory/compaction/trigger", same, "clients cannot request it"},
	{"memory/distillation/supported", granted, ""},
	{"memory/distillation/maxTokenBudget", atMost, "the distiller accepts less"},
	{"memory/distillation/tokenizerName", same, "the distiller counts with another tokenizer"},
	{"memory/distillation/scheduled", granted, ""},
	{"memory/distillation/indexEmitted", granted, ""},
	{"memory/distillation/archiveRetention", same, "the distiller keeps an archive for another time"},
	{backends, among, ""},
	{consolidation + "/supported", granted, ""},
	{consolidation + "/schedule", same, "the consolidator has another trigger"},
	{commitments + "/supported", granted, ""},
	{commitments + "/fireConditions", among, "the commitment engine does not know that condition"},
	{proposals + "/artifactKinds", among, "that kind is not taken"},
	{proposals + "/activation", same, "proposals are activated in another mode"},
	{proposals + "/duplicationDetection", granted, "duplicates are not found"},
}

// defaults are what an absent field claims where its block is supported.
var defaults = map[string]any{
	consolidation + "/schedule":     string(events.ConsolidationHostManaged),
	commitments + "/fireConditions": list(events.ConditionTime),
}

func granted(said, given any) bool { return said == false || given == true }
func same(said, given any) bool    { return said == given }

func atMost(said, given any) bool {
	d := document{root: object{"said": said, "given": given}}
	most, ok := d.number("given")
	n, _ := d.number("said")
	return ok && n <= most
}

func among(said, given any) bool {
	all, _ := given.([]any)
	items, _ := said.([]any)
	return !slices.ContainsFunc(items, func(item any) bool { return !slices.Contains(all, item) })
}

// overclaims returns an error for each thing that the host asks for and lacks.
func (g *grants) overclaims() []error {
	var errs []error
	lack := func(path, missing string) {
		if reason := g.given.missingAt(path); reason != "" {
			missing = reason
		}
		errs = append(errs, &ClaimError{Path: g.said.pointer(path), Missing: missing})
	}
	refused := "" // a block that is not there at all; its details need no errors
	for _, b := range bounds {
		said, ok := g.claimed(b.path)
		given, _ := g.given.at(b.path)
		if !ok || b.holds(said, given) || parent(b.path) == refused {
			continue
		}
		lack(b.path, b.missing)
		if strings.HasSuffix(b.path, "/supported") {
			refused = parent(b.path)
		}
	}
	if _, given := g.given.at("memory/distillation/scheduled"); g.in.ScheduledDistillation && !given {
		lack("memory/distillation/scheduled", "")
	}
	if version, why := g.said.execution(); why == "" && version >= replayVersion && g.memory.met {
		switch {
		case !g.views.met:
			lack(executionVersion, g.views.missing)
		case g.durable.met && slices.Contains(g.in.Without, Replay):
			lack(executionVersion, "replay-snapshot follows from this version and from agents.memoryBackends, and cannot be left out alone")
		}
	}
	return errs
}

// claimed returns what the host declares in a field. A block that it declares not
// supported claims nothing else.
func (g *grants) claimed(path string) (any, bool) {
	block := parent(path)
	_, declared := g.said.at(block)
	if flag := block + "/supported"; block != "agents" && path != flag {
		if supported, ok := g.said.at(flag); ok && supported == false {
			return nil, false
		}
	}
	if value, ok := g.said.at(path); ok {
		return value, true
	}
	value, ok := defaults[path]
	return value, ok && declared
}

// fill puts the fields and blocks that may be claimed where the host says nothing,
// and says no where silence would mean yes.
func (g *grants) fill() {
	g.said.missing = g.given.missing
	for _, name := range families[:2] {
		family, _ := g.given.root[name].(object)
		for field, value := range family {
			g.fillIn(name+"/"+field, value)
		}
	}
	if !g.memory.met {
		g.fillIn("memory/supported", false)
	} else if !g.writes.met {
		g.fillIn("memory/writable", false)
	}
}

func (g *grants) fillIn(path string, value any) {
	if _, ok := g.said.at(path); !ok {
		g.said.put(path, value)
	}
}
