package distill

import (
	"context"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
)

// Tokenizer counts tokens as the host's model does. It is deterministic and safe
// for concurrent use. A call of Count has [memory.PluginTimeout]; Name is called in place. A
// pass fails, and writes nothing, if one of them panics or Count takes longer.
type Tokenizer interface {
	// Name identifies the tokenizer and its version. The host advertises it
	// (RFC 0062 §A), and an archive made under another name is another archive.
	Name() string
	// Count is the number of tokens of text, which is valid UTF-8.
	Count(text string) int
}

// guardedTokenizer is the tokenizer for one attempt of a pass. A call that fails ends its context,
// after which there are no more, and whose cause the attempt asks for before it relies on a count.
type guardedTokenizer struct {
	Tokenizer
	ctx  context.Context // ends with the attempt; a summarizer that outlives it counts no more
	fail context.CancelCauseFunc
}

const theTokenizer = "the tokenizer"

// Count is 0 if the call fails.
func (g guardedTokenizer) Count(text string) int {
	if own, ok := g.Tokenizer.(Estimator); ok {
		return own.Count(text)
	}
	n, err := hostcall.Call(g.ctx, theTokenizer, memory.PluginTimeout, func(context.Context) (int, error) { return g.Tokenizer.Count(text), nil })
	if err != nil {
		g.fail(hostcall.Failed(g.ctx, theTokenizer, err, internal))
	}
	return n
}

// Name is called in place.
func (g guardedTokenizer) Name() string {
	name, err := hostcall.Inline(theTokenizer, func() (string, error) { return g.Tokenizer.Name(), nil })
	if err != nil {
		g.fail(hostcall.Failed(g.ctx, theTokenizer, err, internal))
	}
	return name
}
