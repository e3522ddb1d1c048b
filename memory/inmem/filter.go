package inmem

import (
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// filter is what a list or a search asks for beyond liveness. The zero value
// matches everything.
type filter struct {
	tag    string
	search *memory.Search
}

// none reports whether everything matches.
func (f *filter) none() bool { return f.tag == "" && f.search == nil }

// ends reports whether r and all older records are out of range.
func (f *filter) ends(r *record) bool {
	return f.search != nil && !f.search.Since.IsZero() && r.created < f.search.Since.UnixMilli()
}

func (f *filter) match(e *memory.Entry) bool {
	return (f.tag == "" || slices.Contains(e.Tags, f.tag)) && (f.search == nil || f.search.Matches(e))
}
