package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// syllables of the made-up languages of a corpus, in three scripts.
var syllables = [][]string{
	strings.Fields("ka lo mi ter en ba sol fi nor da quin re su pa vel ost il um gra ne"),
	strings.Fields("жа ло ми тер ен ба сол фи нор да кви ре су па вел ост ил ум гра не"),
	strings.Fields("κα λό μι τερ εν βα σολ φι νορ δά κυν ρε σού πα βελ όστ ιλ ουμ γρα νε"),
	strings.Fields("kä ló mî tér én bå sölf ñí nor dà qüe ré sù pá vèl ôst ïl úm grâ né"),
}

const han = 4 // the language after those of the syllables

// spoken is the word of a rank in a language.
func spoken(language int, rank uint64) string {
	if language == han {
		return string([]rune{rune(0x4e00 + rank*7919%6000), rune(0x4e00 + rank*104729%6000)})
	}
	list := syllables[language]
	var b strings.Builder
	for rank += uint64(len(list)); rank > 0; rank /= uint64(len(list)) {
		b.WriteString(list[rank%uint64(len(list))])
	}
	return b.String()
}

// corpus makes notes of 8 to 32 words in five languages, over vocabularies whose
// frequencies follow Zipf's law. One word in ten is a number, a path or an identifier.
type corpus struct {
	r    *rand.Rand
	zipf *rand.Zipf
}

func newCorpus(seed, n int) *corpus {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	return &corpus{r, rand.NewZipf(r, 1.1, 20, 200_000)}
}

func (c *corpus) word(language int) string {
	if c.r.IntN(10) > 0 {
		return spoken(language, c.zipf.Uint64())
	}
	return fmt.Sprintf([]string{"%d", "/srv/%d.log", "v1.%d", "job_%d"}[c.r.IntN(4)], c.zipf.Uint64())
}

func (c *corpus) note() (words []string, language int) {
	language = c.r.IntN(len(syllables) + 1)
	for range 8 + c.r.IntN(25) {
		words = append(words, c.word(language))
	}
	return words, language
}

// said puts words together, those of Han without blanks.
func said(words []string, language int) string {
	if language == han {
		return strings.Join(words, "")
	}
	return strings.Join(words, " ") + "."
}

// paraphrase changes the order of the words, leaves out one in eight, replaces one in
// eight and gives one in eight another ending.
func (c *corpus) paraphrase(words []string, language int) (out []string) {
	at := c.r.IntN(len(words))
	for _, w := range slices.Concat(words[at:], words[:at]) {
		switch c.r.IntN(8) {
		case 0:
			continue
		case 1:
			w = c.word(language)
		case 2:
			w += spoken(language, c.r.Uint64N(20))
		}
		out = append(out, w)
	}
	return out
}

func entriesOf(texts []string) []memory.Entry {
	entries := make([]memory.Entry, len(texts))
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for i, t := range texts {
		entries[i] = memory.Entry{ID: fmt.Sprintf("mem_%08d", i), Content: t, CreatedAt: start.Add(time.Duration(i) * time.Second)}
	}
	return entries
}

// mixed are n entries, one in five of which says an earlier one again with other blanks
// or without its full stop.
func mixed(n int) []memory.Entry {
	c := newCorpus(7, n)
	texts := make([]string, n)
	for i := range texts {
		if i%5 == 4 {
			again := texts[c.r.IntN(i)]
			if texts[i] = strings.TrimSuffix(again, "."); c.r.IntN(2) == 0 {
				texts[i] = strings.Replace(again, " ", "\u00a0 ", 1)
			}
			continue
		}
		texts[i] = said(c.note())
	}
	return entriesOf(texts)
}

// paraphrased are n entries, one in five of which paraphrases one of the four before it.
// Which do is the second result.
func paraphrased(n int) (entries []memory.Entry, again []int) {
	c := newCorpus(11, n)
	texts, words, languages := make([]string, n), make([][]string, n), make([]int, n)
	for i := range texts {
		words[i], languages[i] = c.note()
		if i%5 == 4 {
			of := i - 1 - c.r.IntN(4)
			words[i], languages[i] = c.paraphrase(words[of], languages[of]), languages[of]
			again = append(again, i)
		}
		texts[i] = said(words[i], languages[i])
	}
	return entriesOf(texts), again
}

// LastFound is where results go, so that the compiler cannot leave out the work.
var LastFound any

func planned(entries []memory.Entry) func() {
	return func() {
		plan, err := consolidate.Rules{}.Plan(context.Background(), entries)
		must(err)
		LastFound = plan
	}
}

func similar(entries []memory.Entry) []consolidate.Candidates {
	found, err := consolidate.Similar(context.Background(), entries, 0)
	must(err)
	return found
}

// consolidateRows measures what a pass decides before it writes anything. One operation is
// the whole corpus, and the figures are entries per second where the name has n=, and
// nanoseconds otherwise.
//
//	consolidate/plan/n=…       the plan of Rules over mixed text
//	consolidate/similar/n=…    the candidates among mixed text; before it is timed, the
//	                           nearest of 200 paraphrases are looked for by comparing
//	                           each with all, and 98 % of them must be in one group
//	consolidate/guard/n=…      the check of a host's plan that merges n entries of mixed
//	                           text two by two, with reading the entries
//	consolidate/worst/…        all three over the worst inputs that we know
func consolidateRows() []row {
	rows := []row{{"consolidate/guard/n=10000", "", func() (sides, error) {
		entries, _ := paraphrased(10_000)
		return sides{ours: repeat(guarded(entries)), items: 10_000}, nil
	}}}
	for _, n := range []int{10_000, 100_000} {
		rows = append(rows,
			row{fmt.Sprintf("consolidate/plan/n=%d", n), "", func() (sides, error) {
				return sides{ours: repeat(planned(mixed(n))), items: n}, nil
			}},
			row{fmt.Sprintf("consolidate/similar/n=%d", n), "", func() (sides, error) {
				entries, paraphrases := paraphrased(n)
				return sides{
					check: func() error { return checkNearest(entries, paraphrases) },
					ours:  repeat(func() { LastFound = similar(entries) }), items: n,
				}, nil
			}})
	}
	for _, w := range worstInputs {
		rows = append(rows, row{"consolidate/worst/" + w.name, "", func() (sides, error) {
			entries := entriesOf(w.texts())
			plan, guard := planned(entries), guarded(entries)
			return sides{ours: repeat(func() {
				plan()
				LastFound = similar(entries)
				guard()
			})}, nil
		}})
	}
	return rows
}

// pairing is a host's planner that merges entries two by two.
type pairing struct{}

func (pairing) Version() string { return "1" }

func (pairing) Plan(_ context.Context, entries []memory.Entry) (p consolidate.Plan, _ error) {
	for pair := range slices.Chunk(entries, 2) {
		if len(pair) == 2 {
			p = append(p, consolidate.Group{Keep: pair[0].ID, Retire: []string{pair[1].ID}})
		}
	}
	return p, nil
}

// guarded has a plan of pairs checked, and writes nothing.
func guarded(entries []memory.Entry) func() {
	ctx := context.Background()
	store := inmem.New()
	for _, e := range entries {
		must(store.Put(ctx, memory.Scope{Tenant: "tenant", Ref: "ref"}, e))
	}
	bank, err := memory.New(store, memory.Config{})
	must(err)
	job, err := bank.Background(memory.JobConfig{ID: "pass", Tenant: "tenant", Redactor: redact.New(redact.Config{})})
	must(err)
	engine, err := consolidate.New(consolidate.Config{Planner: pairing{}})
	must(err)
	return func() {
		plan, err := engine.Plan(ctx, job, "ref", consolidate.Options{})
		must(err)
		LastFound = plan
	}
}

// worstInputs are texts that a planner may stall on.
var worstInputs = []struct {
	name  string
	texts func() []string
}{
	{"percent", pairOf("x" + strings.Repeat("%", 1<<16))},
	{"guillemets", pairOf(strings.Repeat("» ", 1<<16/3))},
	{"apostrophes", pairOf("x" + strings.Repeat("'s", 1<<15))},
	{"marks", pairOf("e" + strings.Repeat("\u0301\u0323", 1<<14))},
	{"megabyte", pairOf(said(slices.Repeat([]string{"kalo", "miter", "/srv/7.log"}, 1<<16), 0))},
	{"oneword", pairOf(strings.Repeat("x", 1<<20))},
	{"shuffled", func() (texts []string) { // forty notes of 5 KB, of the same words
		c := newCorpus(3, 40)
		words := make([]string, 800)
		for i := range words {
			words[i] = c.word(0)
		}
		for range 40 {
			c.r.Shuffle(len(words), func(i, k int) { words[i], words[k] = words[k], words[i] })
			texts = append(texts, said(words, 0))
		}
		return texts
	}},
	{"equal=20000", func() []string { return slices.Repeat([]string{"The gate is green."}, 20_000) }},
	{"boilerplate=5000", func() (texts []string) {
		c := newCorpus(5, 5_000)
		around, _ := c.note()
		for range 5_000 {
			own, _ := c.note()
			texts = append(texts, said(slices.Concat(around, own[:4], around), 0))
		}
		return texts
	}},
}

// pairOf are two texts that differ at the end only.
func pairOf(text string) func() []string {
	return func() []string { return []string{text, text + "y"} }
}

// checkNearest compares two hundred paraphrases with all entries, by features that are
// strings, and fails if fewer than 98 % are in a group with the most similar one.
func checkNearest(entries []memory.Entry, paraphrases []int) error {
	of := make([][]string, len(entries))
	holders := map[string][]int32{}
	for i, e := range entries {
		of[i] = featuresOf(e.Content)
		for _, f := range of[i] {
			holders[f] = append(holders[f], int32(i))
		}
	}
	weight := func(f string) float64 {
		w := 1 + math.Log(float64(len(entries)+1)/float64(len(holders[f])+1))
		if f[0] == 'g' {
			w /= 2
		}
		return w * w
	}
	norm := make([]float64, len(entries))
	for i, fs := range of {
		for _, f := range fs {
			norm[i] += weight(f)
		}
		norm[i] = math.Sqrt(norm[i])
	}
	group := map[string]int{}
	for i, c := range similar(entries) {
		for _, id := range c.IDs {
			group[id] = i + 1
		}
	}
	asked, found := 0, 0
	r := rand.New(rand.NewPCG(13, 13))
	for _, k := range r.Perm(len(paraphrases))[:200] {
		i := paraphrases[k]
		score := make([]float64, len(entries))
		for _, f := range of[i] {
			w := weight(f)
			for _, o := range holders[f] {
				score[o] += w
			}
		}
		best, near := 0.0, []int{}
		for o := range score {
			score[o] /= norm[i] * norm[o]
			switch {
			case o == i || score[o] < best-1e-9:
			case score[o] > best+1e-9:
				best, near = score[o], []int{o}
			default:
				near = append(near, o)
			}
		}
		if best < consolidate.DefaultScore {
			continue
		}
		asked++
		if slices.ContainsFunc(near, func(o int) bool {
			g := group[entries[i].ID]
			return g != 0 && g == group[entries[o].ID]
		}) {
			found++
		}
	}
	recall := float64(found) / float64(asked)
	fmt.Fprintf(os.Stderr, "  n=%d: recall@1 %.4f of %d paraphrases whose nearest is a candidate\n", len(entries), recall, asked)
	if asked < 100 || recall < 0.98 {
		return fmt.Errorf("recall@1 %.4f of %d, want 0.98 of 100", recall, asked)
	}
	return nil
}

// featuresOf are the words of a text, marked with a w, and the 4-grams of those of five
// characters or more, marked with a g.
func featuresOf(text string) []string {
	seen := map[string]bool{}
	for _, field := range strings.Fields(strings.TrimSuffix(text, ".")) {
		for _, w := range wordsOf(field) {
			seen["w"+w] = true
			marked := []rune("^" + strings.ToLower(w) + "$")
			for k := 0; len(marked) > 6 && k+4 <= len(marked); k++ {
				seen["g"+string(marked[k:k+4])] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for f := range seen {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// wordsOf splits a field into pairs of Han characters and what is between them.
func wordsOf(field string) (words []string) {
	isHan := func(r rune) bool { return r >= 0x4e00 && r < 0xa000 }
	for field != "" {
		r, _ := utf8.DecodeRuneInString(field)
		end := strings.IndexFunc(field, func(c rune) bool { return isHan(c) != isHan(r) })
		if end < 0 {
			end = len(field)
		}
		part := []rune(field[:end])
		field = field[end:]
		if !isHan(r) || len(part) == 1 {
			words = append(words, string(part))
			continue
		}
		for k := 0; k+2 <= len(part); k++ {
			words = append(words, string(part[k:k+2]))
		}
	}
	return words
}
