package consolidate

import (
	"context"

	"github.com/openwop/agentmemory/internal/facts"
)

// Unsupported compares a text with sources that say more, such as a fact with the messages it was taken from, and says
// what the text adds or changes (C8); "" if nothing. The text must have no fact and no word with meaning that no source has, and must
// not deny, or say without its negation, what a source says. It need not have every fact of the sources. It errs to
// refusing, and fails with the context's error. The reason holds nothing of the texts.
func Unsupported(ctx context.Context, text string, sources []string) (why string, err error) {
	return facts.Unsupported(ctx, text, sources)
}
