package facts

import (
	"context"
	"strings"
)

// Support is what some sources say, read once to hold many texts to it.
type Support struct {
	all     *reading
	denials map[string][]fact // by each of their bare keys
}

// NewSupport reads sources. Its cost is near-linear in their bytes. It fails with the context's error.
func NewSupport(ctx context.Context, sources []string) (*Support, error) {
	s := &Support{read(strings.Join(sources, "\n")), map[string][]fact{}}
	for _, f := range s.all.facts {
		for _, key := range f.bare {
			s.denials[key] = append(s.denials[key], f)
		}
	}
	return s, ctx.Err()
}

// Unsupported says what a text adds to the sources, which may say more, or changes of them; "" if nothing. See
// [github.com/openwop/agentmemory/consolidate.Unsupported]. Its cost is near-linear in the text.
func (s *Support) Unsupported(text string) (why string) {
	g := guard{merged: read(text), sources: []*reading{s.all}, all: s.all, broken: kinds}
	g.checkDenied(s.all)
	g.checkNew()
	g.checkOrder()
	g.checkAdded()
	for key := range g.merged.at {
		for _, f := range s.denials[key] {
			if !g.merged.has(f.keys...) {
				g.breaks(f.kind, "changes")
			}
		}
	}
	return g.why()
}

// checkAdded looks for facts of the text that the sources lack.
func (g *guard) checkAdded() {
	lost := guard{merged: g.all, broken: kinds}
	if lost.checkLost(g.merged); lost.broken < kinds {
		g.breaks(lost.broken, "adds")
	}
}

// Unsupported says what a text adds to its sources or changes of them, see [Support.Unsupported].
func Unsupported(ctx context.Context, text string, sources []string) (why string, err error) {
	s, err := NewSupport(ctx, sources)
	if err != nil {
		return "", err
	}
	return s.Unsupported(text), ctx.Err()
}
