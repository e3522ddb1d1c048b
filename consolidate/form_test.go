package consolidate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

func TestC8_Form(t *testing.T) {
	for _, same := range [][2]string{
		{"Lena prefers e-mail.", "Lena prefers e-mail"},
		{"cafe\u0301", "café"},
		{"Vie\u0323\u0302t", "Việt"},
		{"Vie\u0302\u0323t", "Việt"},
		{"\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"},
		{"か\u3099", "が"},
		{"a \t\u00a0 b", "a b"},
		{"“Run” it’s", "\"Run\" it's"},
		{"10\u202f000 km", "10 000 km"},
		{"a  \r\nb \n\n", "a\nb"},
		{"one two thre\u0301.", "one two thré"},
	} {
		require.Equal(t, form(same[1]), form(same[0]), "%q %q", same[0], same[1])
	}
	for _, differ := range [][2]string{
		{".5 ml", "5 ml"}, {"!= 200", "= 200"}, {".env", "env"}, {"~/keys", "/keys"}, {"bit.ly/AbCdEf", "abcdef"}, {"-V", "-v"},
		{"5 Mb", "5 MB"}, {"10 mW", "10 MW"}, {"(500)", "500"}, {"Max pays", "maximum pays"}, {"tensorflow", "tensorfloww"},
		{"Ayer llamó a Marta", "Ayer llamó Marta"}, {"able to", "may"}, {"the train in Paris", "the Paris train"},
		{"–5", "-5"}, {"git add .", "git add"}, {"Polish", "polish"}, {"yes no.", "yes no"}, {"a b c..", "a b c."}, {"a b c..", "a b c"},
		{"see section 5.", "see section 5"}, {"if x:\n  y\nz", "if x:\n  y\n  z"}, {"a\nb", "a b"}, {" a", "a"}, {"a\n\nb", "a\nb"},
		{"1,000", "1000"}, {"one", "1"}, {"don't", "do not"}, {"e-mail", "email"}, {"straße", "strasse"}, {"İ", "I"}, {"Does Ruth pay", "Does Ruth pay?"},
		{"x \u2260 y", "x = y"}, {"<\u0338", "<"}, {"…", "..."}, {"ﬁn", "fin"}, {"２", "2"}, {"a\u200bb", "ab"},
	} {
		require.NotEqual(t, form(differ[1]), form(differ[0]), "%q %q", differ[0], differ[1])
	}
}

// The form of a form is itself, and putting in what the form takes out changes nothing.
func TestC8_FormIsIdempotentAndStable(t *testing.T) {
	alphabet := []rune("ab  .\t\n\r\u00a0“’\"é\u0301\u0323e\u1112\u1161\u11ab한-–5日\ufffd")
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		runes := make([]rune, r.IntN(16))
		for i := range runes {
			runes[i] = alphabet[r.IntN(len(alphabet))]
		}
		s := string(runes)
		f := form(s)
		require.Equal(t, f, form(f), "%q", s)
		require.Equal(t, form(s), form(s+" "), "%q", s)
		require.True(t, utf8.ValidString(f))
	}
}

func FuzzForm(f *testing.F) {
	f.Add("\u0301e\u0301 “a” \u1112\u1161.\xff")
	f.Add("0 n")   // a word that denies, and no unit
	f.Add("0 C'A") // words of which one is elided
	f.Fuzz(func(t *testing.T, s string) {
		if once := form(s); once != form(once) {
			t.Fatalf("%q: %q, then %q", s, once, form(once))
		}
		if why := whyRefused(s, []string{s, s}); why != "" && utf8.ValidString(s) { // as all entries are
			t.Fatalf("%q loses a fact to itself: %s", s, why)
		}
	})
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
