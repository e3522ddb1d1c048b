package capability

import (
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// grants are what a host may claim, beside what it declares.
type grants struct {
	in     Inputs
	offers memory.Offers
	left   []Dimension // that the host leaves out
	said   *document   // what the host declares
	given  *document   // what may be claimed
	claims []claim     // in the order of the families

	memory, writes, transactions, durable, scheduling need
}

// need is something that a claim rests on.
type need struct {
	met     bool
	missing string // what to say if it is not
}

// claim is a field that is derived, and how far a declared one may go.
type claim struct {
	path  string
	holds func(said, given any) bool
	// beyond is what to say where the field is given, but not so far.
	beyond string
}

// block is an object whose fields rest on the same needs.
type block struct {
	*grants
	path  string
	needs []need
}

func (g *grants) block(path string, needs ...need) block { return block{g, path, needs} }

// grant allows a field to be true.
func (b block) grant(field string, more ...need) { b.allow(field, true, granted, "", more...) }

// allow puts a field into what may be claimed, or notes the first need that is not met.
func (b block) allow(field string, value any, holds func(said, given any) bool, beyond string, more ...need) {
	c := claim{b.path + "/" + field, holds, beyond}
	b.grants.claims = append(b.claims, c)
	for _, n := range slices.Concat(b.needs, more) {
		if !n.met {
			b.given.missing[c.path] = n.missing
			return
		}
	}
	b.given.put(c.path, value)
}

// defaults are what an absent field claims where its block is supported.
var defaults = map[string]any{
	consolidation + "/schedule":     string(events.ConsolidationHostManaged),
	commitments + "/fireConditions": list(events.ConditionTime),
}

func granted(said, given any) bool { return said == false || given == true }
func same(said, given any) bool    { return said == given }

func atMost(said, given any) bool {
	most, ok := given.(float64)
	n, _ := said.(float64)
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
	for _, c := range g.claims {
		said, ok := g.claimed(c.path)
		given, _ := g.given.at(c.path)
		if !ok || c.holds(said, given) || parent(c.path) == refused {
			continue
		}
		lack(c.path, c.beyond)
		if strings.HasSuffix(c.path, "/supported") {
			refused = parent(c.path)
		}
	}
	if _, given := g.given.at("memory/distillation/scheduled"); g.in.ScheduledDistillation && !given {
		lack("memory/distillation/scheduled", "")
	}
	if version, why := g.said.execution(); why == "" && version >= replayVersion && g.memory.met {
		switch {
		case !g.offers.Views:
			lack(executionVersion, "the store is not driver.Versioned, so that runs have no views")
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
