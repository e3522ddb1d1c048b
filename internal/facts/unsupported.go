package facts

import (
	"context"
	"strings"
)

// Unsupported says what a text adds to its sources, which may say more, or changes of them; "" if nothing.
// See [github.com/openwop/agentmemory/consolidate.Unsupported].
func Unsupported(ctx context.Context, text string, sources []string) (why string, err error) {
	all := strings.Join(sources, "\n")
	if why, err = Changed(ctx, all+"\n"+text, []string{all}); why != "" || err != nil {
		return why, err
	}
	why, err = Changed(ctx, all, []string{text, all}) // what the sources lack of the text, it adds
	return strings.Replace(why, " lacks ", " adds ", 1), err
}
