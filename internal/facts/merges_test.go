package facts

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The guard refuses at least 97 of 100 merges that say something else than their sources, and keeps
// at least 70 of 100 that say the same, in six languages. It was made with merges_seen.txt and
// without merges_unseen.txt.
func TestC8_Merges(t *testing.T) {
	type count struct{ kept, good, refused, wrong int }
	for _, name := range []string{"seen", "unseen"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/merges_" + name + ".txt")
			require.NoError(t, err)
			all, of := count{}, map[string]*count{}
			for line := range strings.Lines(string(data)) {
				if line[0] == '#' {
					continue
				}
				fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
				require.GreaterOrEqual(t, len(fields), 5, line)
				verdict, language, merged, sources := fields[0], fields[1], fields[3], fields[4:]
				why := whyRefused(merged, sources)
				if of[language] == nil {
					of[language] = &count{}
				}
				for _, c := range []*count{&all, of[language]} {
					switch {
					case verdict == "keep" && why == "":
						c.kept++
						fallthrough
					case verdict == "keep":
						c.good++
					case why != "":
						c.refused++
						fallthrough
					default:
						c.wrong++
					}
				}
				if name == "seen" && (verdict == "keep") != (why == "") {
					t.Logf("%s, and the guard says %q", strings.Join(fields, " | "), why)
				}
			}
			of["all"] = &all
			for language, c := range of {
				t.Logf("%s: %d of %d good merges are kept, %d of %d false ones refused", language, c.kept, c.good, c.refused, c.wrong)
			}
			assert.Greater(t, all.good, 50)
			assert.Greater(t, all.wrong, 50)
			assert.GreaterOrEqual(t, 100*all.kept, 70*all.good)
			assert.GreaterOrEqual(t, 100*all.refused, 97*all.wrong)
		})
	}
}
