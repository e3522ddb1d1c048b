package distill

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/facts"
)

func plainRedact(s string) (string, error) { return s, nil }

func ask(sources []Source, tokens, size int, count func(string) int) []Item {
	items, err := Extractive{}.Summarize(context.Background(), Request{
		Sources: sources, MaxTokens: tokens, MaxBytes: size, Count: count, Redact: plainRedact,
	})
	if err != nil {
		panic(err)
	}
	return items
}

func saying(texts ...string) []Source {
	var out []Source
	for i, text := range texts { // the first is the newest
		out = append(out, Source{ID: fmt.Sprintf("mem_%02d", len(texts)-i), Text: text, Weight: 1, CreatedAt: time.UnixMilli(int64(-i))})
	}
	return out
}

func texts(items []Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Text)
	}
	return out
}

func words(s string) int { return len(strings.Fields(s)) }

func TestExtractive_SplitsWithoutLosingAnything(t *testing.T) {
	split := func(text string) (got []string) {
		for _, p := range passages(text, time.Time{}) {
			got = append(got, p)
		}
		return got
	}
	for text, want := range map[string][]string{
		"First. Two! Three? Four":        {"First. Two! Three? Four"},
		"first\r\n  second\n\n\tthird":   {"first", "second", "third"},
		"Minus:\n-5 degrees\n- a bullet": {"Minus:", "-5 degrees", "- a bullet"},
		"今日は雨。明日は晴れ！「はい。」終わり":            {"今日は雨。明日は晴れ！「はい。」終わり"},
		" \n ": nil,
	} {
		require.Equal(t, want, split(text), text)
	}

	// What is longer is split where a sentence ends, and nowhere else.
	filler := strings.Repeat("so much, ", 20)
	for _, text := range []string{
		"It costs 3.50 euros and " + filler + "on.| Pay by 2026-03-01, " + filler + "then!| And (" + filler + "at last). Go.",
		"Ask Dr. Who of the U.S. Army, no. 5, " + filler + filler + "why.| Then " + filler + "stop.",
		"今日は雨" + strings.Repeat("と", 60) + "。|明日は晴れ" + strings.Repeat("と", 60) + "！「はい。」|終わり" + strings.Repeat("と", 60),
		"Key is [REDACTED:a.b] " + filler + "[REDACTED:c.d].| Next " + filler,
	} {
		var want []string
		for _, p := range strings.Split(text, "|") {
			want = append(want, strings.TrimSpace(p))
		}
		require.Equal(t, want, split(strings.ReplaceAll(text, "|", "")))
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 39))
		var b strings.Builder
		for range rng.IntN(200) {
			b.WriteString([]string{"tea", "Lena", "3.5", "late.", "New", "漢字。", "é!", "Dr.", "\n", "(so)?"}[rng.IntN(10)] + " ")
		}
		require.Equal(t, strings.Fields(b.String()), strings.Fields(strings.Join(split(b.String()), " ")), "seed %d", seed)
	}
}

func TestExtractive_TakesWhatIsNewAndRareForItsCost(t *testing.T) {
	in := saying(
		"The printer on floor two needs toner.", // newest
		"The printer on floor two needs toner today.",
		"Lena moved to Bern.",
		"The old note.",
		"Lena moved to Bern",
		"Lena moved to Bern. ",
	)
	got := ask(in, 0, 1<<16, words)
	require.Equal(t, []string{
		"Lena moved to Bern.", "The old note.",
		"1969-12-31: The printer on floor two needs toner today.", "The printer on floor two needs toner.",
	}, texts(got), "said three times counts; what says nothing new goes last")
	require.Equal(t, []string{"mem_01", "mem_02", "mem_04"}, got[0].Sources)

	// A number makes another passage of it.
	require.Len(t, ask(saying("Order 7 is large.", "Order 8 is large.", "Order 7 is large."), 0, 1<<16, words), 2)
	got = ask(saying("Order 7 for the north branch is large enough.", "Order 8 for the north branch is large enough.", "The order for the north branch."), 18, 1<<16, words)
	require.Equal(t, []string{"Order 7 for the north branch is large enough.", "Order 8 for the north branch is large enough."}, texts(got))

	// Weight is that of all entries that were merged into one. Of two that are worth the
	// same the newer is first.
	in = saying("A fresh remark about tea.", "An old truth about coffee.")
	require.Equal(t, "A fresh remark about tea.", ask(in, 0, 1<<16, words)[0].Text)
	in[1].Weight = 3
	require.Equal(t, "An old truth about coffee.", ask(in, 0, 1<<16, words)[0].Text)

	// Names and numbers count more than other words that are as rare, and only where a
	// capital letter makes a name.
	for _, said := range []string{"we went there with Xaver", "we went there at 17", "we went there for ISO-9001"} {
		in = saying("we came over with friends", "they came back with friends", said)
		require.Equal(t, said, ask(in, 0, 1<<16, words)[0].Text)
	}
	in = saying("At first we went out with friends. Friends are nice.", "at first we went out with friends. friends are nice!")
	require.Equal(t, in[0].Text, ask(in, 0, 1<<16, words)[0].Text, "no name")

	// What is rare is worth more than what everybody says, in any language.
	in = saying("Guten Morgen.", "Guten Abend.", "Der Schlüssel liegt bei Xaver.", "Guten Morgen, guten Abend.", "Guten Morgen und guten Tag.")
	require.Equal(t, "1969-12-31: Der Schlüssel liegt bei Xaver.", ask(in, 0, 60, words)[0].Text)
	in = saying("おはよう。", "おはようございます。", "鍵は鈴木さんにある。", "おはようございます、と。")
	require.Equal(t, "1969-12-31: 鍵は鈴木さんにある。", ask(in, 0, 60, utf8.RuneCountInString)[0].Text)
}

func TestExtractive_KnowsNamesAndNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"Lena moved to Bern. There she met \"Jo Ng\".": "bern jo ng",
		"- Tea at 9:30, says Élodie!":                  "9:30 élodie",
		"Note: Buy 3 kg of rice (Basmati)":             "3 basmati",
		"I think so. So do I.":                         "",
		"Der Zug fährt um 7 nach Köln":                 "zug 7 köln",
		"see v1.2 of a/b":                              "v1.2 a/b",
		"鍵は鈴木さんにある":                                    "",
	} {
		var named []string
		for word, is := range wordsOf(text) {
			if is {
				named = append(named, word)
			}
		}
		require.Equal(t, want, strings.Join(named, " "), text)
	}
}

// What is chosen, one after the other, is what a plain reading of the rule gives, which looks
// at every candidate each time.
func TestExtractive_ChoosesAsItsRuleSays(t *testing.T) {
	vocabulary := strings.Fields("tea Lena late 7 8 漢字 Москва the the the order is v1.2 branch")
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 17))
		all := make([]passage, 1+rng.IntN(20))
		for i := range all {
			var said []string
			for range rng.IntN(8) {
				said = append(said, vocabulary[rng.IntN(len(vocabulary))])
			}
			all[i] = passage{text: strings.Join(said, " "), weight: 1 + rng.IntN(5), cost: rng.IntN(12)}
		}
		room := rng.IntN(60)
		var got []int
		left := room
		require.NoError(t, choose(context.Background(), all, func(p *passage) (taken, more bool) {
			if taken = p.cost <= left; taken {
				left -= p.cost
				got = append(got, p.at)
			}
			return taken, true
		}))
		require.Equal(t, chosenPlainly(all, room), got, "seed %d", seed)
	}
}

func chosenPlainly(all []passage, room int) (got []int) {
	holders, fourfold := map[string]int{}, map[string]bool{"7": true, "8": true, "v1.2": true}
	distinct := func(i int) []string {
		set := strings.Fields(strings.ToLower(all[i].text))
		slices.Sort(set)
		return slices.Compact(set)
	}
	for i, c := range all {
		for _, term := range distinct(i) {
			holders[term]++
		}
		for k, word := range strings.Fields(c.text) {
			if k > 0 && (word == "Lena" || word == "Москва") {
				fourfold[strings.ToLower(word)] = true
			}
		}
	}
	covered, offered := map[string]bool{}, map[int]bool{}
	for range all {
		best, bestWorth := -1, int64(0)
		for i, c := range all {
			if offered[i] {
				continue
			}
			worth := int64(0)
			for _, term := range distinct(i) {
				rarity := logarithm(len(all)+1) - logarithm(holders[term])
				if fourfold[term] {
					rarity *= 4
				}
				if !covered[term] {
					worth += rarity
				}
			}
			worth *= 256 + logarithm(c.weight)/2
			if best < 0 || worth*int64(max(1, all[best].cost)) > bestWorth*int64(max(1, c.cost)) {
				best, bestWorth = i, worth
			}
		}
		offered[best] = true
		if all[best].cost <= room {
			room -= all[best].cost
			got = append(got, best)
			for _, term := range distinct(best) {
				covered[term] = true
			}
		}
	}
	return got
}

func TestExtractive_LogarithmAscendsAndIsExactAtPowers(t *testing.T) {
	for n := 1; n < 5000; n++ {
		require.InDelta(t, 256*math.Log2(float64(n)), logarithm(n), 24, n)
		require.LessOrEqual(t, logarithm(n), logarithm(n+1))
	}
	for k := range 62 {
		require.EqualValues(t, 256*k, logarithm(1<<k))
	}
}

// With any tokenizer the budget is kept, what is taken is verbatim, and a smaller
// budget than the least succeeds with nothing.
func TestD1_ExtractiveKeepsAnyBudget(t *testing.T) {
	counters := map[string]func(string) int{
		"bytes":       func(s string) int { return len(s) },
		"words":       words,
		"runes":       utf8.RuneCountInString,
		"estimate":    Estimator{}.Count,
		"superlinear": func(s string) int { return len(s) + len(s)*len(s)/100 },
		"steps":       func(s string) int { return (len(s) + 15) / 16 },
	}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var in []string
		for range 1 + rng.IntN(12) {
			var b strings.Builder
			for range 1 + rng.IntN(12) {
				b.WriteString([]string{"tea", "Lena", "3.5", "late.", "New", "漢字。", "é", "[REDACTED:key]", "\n"}[rng.IntN(9)] + " ")
			}
			in = append(in, b.String())
		}
		sources := saying(in...)
		all := strings.Join(in, "\n")
		for name, count := range counters {
			req := Request{Sources: sources, MaxBytes: 20 + rng.IntN(300), Count: count, Redact: plainRedact}
			least, err := minimum(context.Background(), req)
			require.NoError(t, err)
			if least == 0 {
				continue
			}
			for _, budget := range []int{least, least + rng.IntN(50), least * 10} {
				items := ask(sources, budget, req.MaxBytes, count)
				require.NotEmpty(t, items, "%s, seed %d", name, seed)
				text := join(items)
				require.LessOrEqual(t, count(text), budget, "%s, seed %d", name, seed)
				require.LessOrEqual(t, len(text), req.MaxBytes)
				for _, it := range items {
					_, said := facts.CutDay(it.Text)
					require.Contains(t, all, said)
					require.NotEmpty(t, it.Sources)
					require.True(t, slices.IsSorted(it.Sources))
				}
			}
			if least > 1 {
				require.Empty(t, ask(sources, least-1, req.MaxBytes, count), "%s, seed %d", name, seed)
			}
		}
	}
}

func TestExtractive_StopsWhenAsked(t *testing.T) {
	c, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Extractive{}.Summarize(c, Request{Sources: saying("x"), MaxBytes: 10, Count: words, Redact: plainRedact})
	require.ErrorIs(t, err, context.Canceled)
	failing := func(string) (string, error) { return "", os.ErrClosed }
	_, err = Extractive{}.Summarize(context.Background(), Request{Sources: saying("x"), MaxBytes: 10, Count: words, Redact: failing})
	require.ErrorIs(t, err, os.ErrClosed)
}

func FuzzCut(f *testing.F) {
	f.Add("é[REDACTED:abc]漢", 7)
	f.Add("[REDACTED:[0000000]", 18) // no marker
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := cut(s, limit)
		if !strings.HasPrefix(s, got) || len(got) > max(limit, 0) && len(got) < len(s) {
			t.Fatal("not a start within the limit")
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Error("a rune is cut")
		}
		if i := strings.LastIndex(got, markerHead); i >= 0 {
			id, _, ended := strings.Cut(s[i+len(markerHead):], "]")
			if ended && !strings.Contains(id, "[") && len(got) <= i+len(markerHead)+len(id) {
				t.Error("a marker is cut")
			}
		}
	})
}

// In an archive a text stands inside a JSON string: there it may hold what it does
// not hold by itself.
func TestR5_SettleCoversTheEscapedForm(t *testing.T) {
	const secret = `a\nb-secret`
	redact := func(s string) (string, error) { return strings.ReplaceAll(s, secret, "[REDACTED:s]"), nil }
	for _, text := range []string{"x a\nb-secret y", `x a\nb-secret y`, "clean \"quoted\"\n"} {
		got, err := redactFully(redact, text)
		require.NoError(t, err)
		require.NotContains(t, escaped(got), secret)
		require.NotContains(t, got, secret)
	}
	odd := func(s string) (string, error) { return s + `"`, nil } // never settles
	_, err := redactFully(odd, "x")
	require.Error(t, err)
}
