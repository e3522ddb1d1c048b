package consolidate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

var ctx = context.Background()

// labelledPair is two texts and whether they are equal in form. Lang is "code" for
// commands, configuration and programs; Kind is what was changed between the two.
type labelledPair struct {
	A, B, Lang, Kind, Source string
	Same                     bool
}

func labelled(t testing.TB) map[string][]labelledPair {
	t.Helper()
	files, err := filepath.Glob("testdata/pairs_*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]labelledPair{}
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var p labelledPair
			require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
			all[name] = append(all[name], p)
		}
	}
	return all
}

// No pair that must stay apart is merged, and all that are equal in form are.
func TestC8_LabelledPairs(t *testing.T) {
	for name, pairs := range labelled(t) {
		var same, merged, different, wrong int
		langs := map[string]bool{}
		for _, p := range pairs {
			plan, err := Rules{}.Plan(ctx, []memory.Entry{{ID: "a", Content: p.A}, {ID: "b", Content: p.B}})
			require.NoError(t, err)
			langs[p.Lang] = true
			together := retired(plan) == 1
			switch {
			case p.Same:
				same++
				if together {
					merged++
				} else {
					t.Errorf("missed (%s): %q %q", p.Kind, p.A, p.B)
				}
			default:
				different++
				if together {
					wrong++
					t.Errorf("wrong merge (%s): %q %q", p.Kind, p.A, p.B)
				}
			}
		}
		t.Logf("%s: %d of %d merged that are equal in form, %d of %d that must stay apart; %d languages", name, merged, same, wrong, different, len(langs))
		require.Greater(t, len(langs), 6)
		require.Greater(t, same, 50)
		require.Greater(t, different, 150)
	}
}

func TestC9_DifferentTagsOrSubjectsNeverMerge(t *testing.T) {
	lists := [][]string{nil, {"a"}, {"b"}, {"a", "b"}, {"b", "a", "a"}, {"ab"}, {"a", "b", "c"}, {"1:a"}, {"a/b"}}
	sets := map[string]string{}
	for i, l := range lists {
		m := map[string]bool{}
		for _, n := range l {
			m[n] = true
		}
		sets[fmt.Sprint(i)] = fmt.Sprint(m)
	}
	for i, tags := range lists {
		for k, other := range lists {
			for _, field := range []string{"tags", "subjects"} {
				a, b := memory.Entry{ID: "a", Content: "Lena prefers e-mail.", CreatedAt: epoch}, memory.Entry{ID: "b", Content: "Lena prefers e-mail.", CreatedAt: epoch}
				if field == "tags" {
					a.Tags, b.Tags = tags, other
				} else {
					a.Subjects, b.Subjects = tags, other
				}
				plan, err := Rules{}.Plan(ctx, []memory.Entry{a, b})
				require.NoError(t, err)
				require.Equal(t, sets[fmt.Sprint(i)] == sets[fmt.Sprint(k)], retired(plan) == 1, "%s %q %q", field, tags, other)
			}
		}
	}
}

func TestC8_ASuccessorLivesAtLeastAsLong(t *testing.T) {
	at := func(h int) time.Time { return epoch.Add(time.Duration(h) * time.Hour) }
	plan := func(es ...memory.Entry) string {
		for i := range es {
			es[i].CreatedAt = at(i)
			es[i].Tags = append(es[i].Tags, "slot:x")
		}
		p, err := Rules{}.Plan(ctx, es)
		require.NoError(t, err)
		var out []string
		for _, g := range p {
			by := "="
			if g.Superseded {
				by = "<"
			}
			out = append(out, strings.Join(g.Retire, "+")+by+g.Keep)
		}
		return strings.Join(out, " ")
	}
	lasting := memory.Entry{ID: "1", Content: "On call is Oke."}
	short := memory.Entry{ID: "2", Content: "On call is Ruth.", ExpiresAt: at(6)}
	long := memory.Entry{ID: "3", Content: "On call is Max.", ExpiresAt: at(9)}
	again := memory.Entry{ID: "4", Content: "On call is Oke"}
	require.Equal(t, "", plan(lasting, short))
	require.Equal(t, "1<2", plan(memory.Entry{ID: "1", ExpiresAt: at(6)}, short), "as long")
	require.Equal(t, "2<3", plan(lasting, short, long), "and the lasting value stays")
	require.Equal(t, "1=4 2+3<4", plan(lasting, short, long, again))
	require.Equal(t, "", plan(memory.Entry{ID: "lena", Content: "+49 1", Subjects: []string{"lena"}}, memory.Entry{ID: "tom", Content: "+49 2", Subjects: []string{"tom"}}))
	require.Equal(t, "l1<l2", plan(memory.Entry{ID: "l1", Content: "+49 1", Subjects: []string{"lena"}}, memory.Entry{ID: "l2", Content: "+49 2", Subjects: []string{"lena"}}))
}
