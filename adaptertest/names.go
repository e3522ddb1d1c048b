package adaptertest

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// issued are the names that a bank or an engine issues: ids of entries, events and
// commitments, and addresses of archives. They are random, or made from such as are.
var issued = regexp.MustCompile(`\b(mem|evt|cmt)_[0-9A-Za-z]{26,}|\b(sha256):[0-9a-f]{64}`)

// rename gives all that is random in a text a name that is the same in every run:
// mem#1 is the first id of an entry that the text has. Versions get the names by
// which the steps call them. Short versions stay as they are, being words that the
// text may have for other reasons.
func rename(text string, versions map[driver.Version]string) string {
	longestFirst := func(a, b driver.Version) int { // one may begin with another
		return cmp.Or(len(b)-len(a), strings.Compare(string(a), string(b)))
	}
	for _, v := range slices.SortedFunc(maps.Keys(versions), longestFirst) {
		if len(v) >= 8 {
			text = strings.ReplaceAll(text, string(v), versions[v])
		}
	}
	names, counts := map[string]string{}, map[string]int{}
	return issued.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			kind, _, _ := strings.Cut(strings.Replace(id, ":", "_", 1), "_")
			counts[kind]++
			names[id] = fmt.Sprintf("%s#%d", kind, counts[kind])
		}
		return names[id]
	})
}
