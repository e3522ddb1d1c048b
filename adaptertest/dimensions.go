package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// What plans of a generation differ in.

// alone is one plan in a tenant of its own. In one of eight each name means twenty.
func alone(w *world, i int) []*plan {
	return []*plan{w.newPlan(at(fmt.Sprintf("tenant %d", i), "ref"), func(p *plan) { p.many = oneOrTwenty[i%8] })}
}

var oneOrTwenty = [8]int{1, 1, 1, 1, 1, 1, 1, 20}

// severalScopes are such that a store which confuses tenants or refs shows it.
func severalScopes(w *world, i int) (all []*plan) {
	for k, s := range []driver.Scope{at("a", "m"), at("a", "n"), at("ab", "m")} {
		all = append(all, w.newPlan(s, func(p *plan) { p.variant = i + k }))
	}
	return all
}

// manyOfEach are two plans of one tenant. In one of them each name means many, in the other a few. Usually the
// four names of a plan are as many together as a rung says.
func manyOfEach(w *world, i int) (all []*plan) {
	many := w.rungs()[i]/w.size(1, len(members)) + 1
	return []*plan{
		w.newPlan(home, func(p *plan) { p.many = many }),
		w.newPlan(at(home.Tenant, "sales"), func(p *plan) { p.many = 3 }),
	}
}

// ladder are numbers next to the pages and bounds that a store is likely to have. The top one is beyond all of them.
var ladder = []int{99, 100, 101, 127, 128, 129, 255, 256, 257, 499, 500, 501, 511, 512, 513, 999, 1000, 1001, 1023, 1024, 1025,
	2000, 2047, 2048, 2049, 3000, 4095, 4096, 4097, 10_001}

// rungs are how many of something a case works with. In a long run the seed draws two of the ladder.
func (w *world) rungs() []int {
	if w.config.long() {
		k := rand.New(rand.NewPCG(w.seed, w.part)).Perm(len(ladder))
		return []int{ladder[k[0]], ladder[k[1]]}
	}
	return [][]int{{130}, {512, 2049}}[w.size(0, 1)]
}

// sharing is plans in one scope, whose ids, keys and events differ.
func sharing(n int, set func(w *world, p *plan, k int)) func(w *world, i int) []*plan {
	return func(w *world, i int) (all []*plan) {
		for k := range n {
			all = append(all, w.newPlan(home, func(p *plan) {
				p.own = fmt.Sprintf("-%03d", k)
				p.keyed, p.wording.event, p.variant = p.own, p.own, i
				set(w, p, k)
			}))
		}
		return all
	}
}

// tied are ids in the order of their bytes, which a collation would not give.
var tied = []string{"A", "B", "Z", "_", "a", "a0", "a1", "a10", "a2", "aa", "b", "z", "z\u00e9", "\u00e9", "\uffee", "\U00010000"}

// alikeFields gives plans tags and subjects of which some begin or end like others.
func alikeFields(_ *world, p *plan, k int) {
	words := []string{"red", "green", "Green", "re", "greenish"}
	p.tag, p.subject = words[k%5], words[k/2%5]
	p.began = epoch.Add(time.Duration(k*7%20) * time.Millisecond)
}

// scopeNames are in another order as UTF-16, by a collation, or cut.
var scopeNames = []string{"a", "ab", "B", "\uffff", "\U00010000", strings.Repeat("n", 256), strings.Repeat("n", 255) + "o"}

// orderedScopes gives each plan a scope of two of the names.
func orderedScopes(_ *world, p *plan, k int) {
	p.Scope = at(scopeNames[k%len(scopeNames)], scopeNames[k/len(scopeNames)])
}

// likenesses are names that a careless store takes for each other, of case, spaces, wildcards, quotes,
// escapes, numbers and Unicode forms.
var likenesses = []string{
	"a", "A", "a ", " a", "a\u200b", "%61", "\uff41", "ab", "a_b", "a%b", "a'b", "a.b", "a-b", "a/b", `a\b`, "a b", "a\u00a0b", "a%20b", "e", "é", "e\u0301",
	"fi", "\ufb01", "ss", "ß", "SS", "i", "I", "null", "NULL", "0", "00", "\U0001F9E0", "\U0001F9E1", "1", "1.0", "aa", "a%", "a*", "[a]", "a/", "/a", "a.",
	"a1", "a10", "a2", "acb", "a?b", "a,b", `a"b`, "a+b", "a//b", "a/../b", "b", "_", ".", "a  b", "a%2Fb", "ı", "İ", "k", "\u212a", "σ", "ς", "\uffee", "\uffed",
}

// namesUpTo are the likenesses, with -short the first of them, and long names that differ in
// their last byte only: if a store cuts them, the longest ones are the same.
func (w *world) namesUpTo(limit int) []string {
	names := slices.Clone(likenesses[:w.size(36, len(likenesses))])
	for _, n := range slices.Compact([]int{min(128, limit), min(256, limit), limit}) {
		names = append(names, strings.Repeat("n", n-1)+"1", strings.Repeat("n", n-1)+"2")
	}
	return names
}

// positions are where a name can stand. Of the plans of a generation only that name differs, but for
// what must differ within one scope.
var positions = []struct {
	name  string
	limit int
	needs []Offer
	set   func(p *plan, name string)
}{
	{"tenant", driver.MaxTenantBytes, nil, func(p *plan, name string) { p.Tenant, p.wording = name, p.newPlan(home, nil).wording }},
	{"ref", driver.MaxRefBytes, nil, func(p *plan, name string) { p.Ref, p.wording = name, p.newPlan(home, nil).wording }},
	{"id", driver.MaxIDBytes - len("a10"), nil, func(p *plan, name string) { p.own = name }},
	{"tag", 256, nil, func(p *plan, name string) { p.tag = name }},
	{"run", driver.MaxRunBytes - len("2"), []Offer{Transactor}, func(p *plan, name string) { p.run, p.wording.event = name, "" }},
	{"event", driver.MaxRunBytes - len("three"), []Offer{Transactor}, func(p *plan, name string) { p.wording.event = name }},
	{"subject", driver.MaxLabelBytes, []Offer{Transactor}, func(p *plan, name string) { p.subject = name }},
	{"kind", driver.MaxKindBytes, []Offer{Transactor}, func(p *plan, name string) { p.kind, p.keyed = name, "" }},
	{"key", driver.MaxKeyBytes - len("n"), []Offer{Transactor}, func(p *plan, name string) { p.keyed = name }},
	{"group", driver.MaxKeyBytes, []Offer{Transactor}, func(p *plan, name string) { p.group = name }},
}

// separators are what a store may put between two names that it joins.
var separators = []string{"", "/", ":", "|", ".", "-", ",", " ", "\u241f", "_", "#", ";", `\`, "::", "'", `"`}

// split makes two names of a number. Those of an even number and the next one are the same once they
// are joined by one of the separators.
func split(k int) (one, other string) {
	between, base := separators[k/2%len(separators)], fmt.Sprintf("p%02d", k/2)
	if k%2 == 0 {
		return base, "b" + between + "c"
	}
	return base + between + "b", "c"
}

// nameCases are a generation for each position.
func nameCases() []testCase {
	g := generation{steps: 9}
	var all []generation
	for _, at := range positions {
		if g.topics, g.audited, g.sequences = everyTopic[:5], 400, [2]int{1, 2}; at.name == "tenant" {
			g.topics, g.audited, g.sequences = everyTopic[:6], 25, [2]int{3, 4}
		}
		g.name, g.says, g.needs = "names-"+at.name, "no operation takes one "+at.name+" for another, however alike they are", at.needs
		g.plans = func(w *world, i int) []*plan {
			names := w.namesUpTo(at.limit)
			return sharing(len(names), func(_ *world, p *plan, k int) { at.set(p, names[k]) })(w, i)
		}
		all = append(all, g)
	}
	g.name, g.says, g.needs = "names-joined", "no operation takes a tenant and a ref for others that are the same once they are joined", nil
	g.plans = sharing(2*len(separators), func(_ *world, p *plan, k int) { p.Tenant, p.Ref = split(k) })
	all = append(all, g)
	g.name, g.says, g.needs = "names-joined-document", "no operation takes a ref, kind and key for others that are the same once they are joined", []Offer{Transactor}
	g.plans = sharing(4*len(separators), func(_ *world, p *plan, k int) {
		if p.kind, p.keyed = split(k); k >= 2*len(separators) {
			p.Ref, p.kind, p.keyed = p.kind, p.keyed, ""
		}
	})
	return generate(append(all, g)...)
}

// texts are those that come back as others from a store which trims, folds, escapes, joins or
// converts them, each with what it would become.
var texts = []string{
	"", " ", "null", "NULL", "0", "007", "7", "1.0", "1", "1e3", "true", `{"a":1}`, "{braced}", "braced", "[]", `"quoted"`, "quoted", "it''s", "it's",
	"  two  spaces ", "two spaces", " before", "before", "behind ", "behind", "tab\t", "tab ", "line\n", "line", "a\r\nb", "a\rb", "a\nb", "a\u2028b\u2029",
	`\`, `\\ \n`, `\n`, "%s %d", "a%20b", "a%25b", "a%b", "a b", "a\u00a0b", "a, b", "a,b", "a;b", "a|b", "a/b", "a:b", `a","b`, `a":"b`, "a\u241fb", "a\x1fb\x1ec\x01",
	"$1", "$1 ${x}", "<b>&amp;</b>", "<b>&</b>", "--; DROP TABLE entries", "\x01\x1f\x7f", "x\u0085y\u009fz", "xyz", "ab", "a\u00adb", "a\u200bb", "a\u200db",
	"é", "e\u0301", "\u212b", "ß", "İ", "ı", "\ufeffbom", "bom", "\ufffd", "\ufffe\uffff", "\U0010ffff", "\ue000\uf8ff", "\U0001F9E0", "日本語",
}

// holdText makes a plan of one text wherever a text is kept. A name holds no control byte.
func holdText(_ *world, p *plan, k int) {
	text := append(texts, strings.Repeat("s", driver.MaxRunBytes))[k]
	p.text, p.tag = func(string) string { return text }, "t"+text
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		p.tag, p.subject, p.source, p.run, p.node, p.group = text, text, text, text, text, text
	}
}

// instants are those around which a store that converts them goes wrong: the ends of what
// is allowed, the two sides of 1970 and of the widths of integers, leap days, year's ends,
// and every kind of milliseconds.
var instants = []string{
	"0001-01-01T00:00:00.010Z", "1000-02-28T23:59:59.999Z", "1582-10-15T00:00:00.001Z", "1677-09-21T00:12:43.145Z", "1899-12-31T23:59:59.999Z",
	"1900-02-28T23:59:59.999Z", "1901-12-13T20:45:52.500Z", "1969-12-31T23:59:58.001Z", "1969-12-31T23:59:59.998Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z",
	"1970-01-01T00:00:01.010Z", "1987-05-17T12:30:45.000Z", "1999-12-31T23:59:59.999Z", "2000-02-29T12:00:00.100Z", "2001-03-04T05:06:07.001Z", "2004-07-05T02:24:19.475Z",
	"2016-12-31T23:59:59.500Z", "2024-02-29T00:00:00.007Z", "2038-01-19T03:14:07.999Z", "2100-02-28T23:59:59.999Z", "2106-02-07T06:28:15.998Z",
	"2262-04-11T23:47:16.854Z", "2387-05-17T12:30:45.000Z", "2999-12-31T23:59:59.999Z", "4000-02-29T23:59:59.990Z", "9999-12-31T23:59:59.900Z",
}

// zones are those in which instants are given.
var zones = []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -10*3600), time.FixedZone("", 14*3600)}

// oddInstants are plans that began at each of the instants and at some that chance chooses, most of
// these centuries, in changing zones, eight to a scope.
func oddInstants(w *world, i int) (all []*plan) {
	first, last := time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC).UnixMilli()
	rng := rand.New(rand.NewPCG(w.seed, w.part+uint64(i)))
	for k := range len(instants) + w.size(45, 150) {
		began := epoch.Add(time.Duration(rng.Int64N(6e12)-3e12) * time.Millisecond)
		switch {
		case k < len(instants):
			began, _ = time.Parse(time.RFC3339Nano, instants[k])
		case k%2 == 0:
			began = time.UnixMilli(first + rng.Int64N(last-first))
		}
		all = append(all, w.newPlan(at(fmt.Sprint("tenant ", k/8), "ref"), func(p *plan) {
			p.own = fmt.Sprintf("-%03d", k)
			p.keyed, p.wording.event, p.began = p.own, p.own, began.In(zones[(k+i)%len(zones)])
		}))
	}
	return all
}
