package inmem

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
)

// filter is what a list or a search asks for beyond liveness. The zero value
// matches everything.
type filter struct {
	text  string // folded
	tag   string
	tags  []string
	since time.Time
}

// none reports whether everything matches.
func (f *filter) none() bool {
	return f.text == "" && f.tag == "" && len(f.tags) == 0 && f.since.IsZero()
}

// ends reports whether r and all older records are out of range.
func (f *filter) ends(r *record) bool {
	return !f.since.IsZero() && r.created < f.since.UnixMilli()
}

func (f *filter) match(e *memory.Entry) bool {
	if f.tag != "" && !slices.Contains(e.Tags, f.tag) {
		return false
	}
	for _, tag := range f.tags {
		if !slices.Contains(e.Tags, tag) {
			return false
		}
	}
	return f.text == "" || strings.Contains(fold(e.Content), f.text)
}

// fold makes texts that differ in case only equal. Upper case first: several
// letters may share one, as the two lower-case sigmas do.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, s)
		}
	}
	return strings.ToLower(s)
}
