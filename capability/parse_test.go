package capability_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
)

// secret stands in generated values and foreign field names; no error may hold it.
const secret = "S3CR3T"

// seeds are the texts of the blocks that documents are made of, valid ones first.
var seeds = map[string][]string{
	"memory/supported":           {`true`, `false`},
	"memory/writable":            {`true`, `false`},
	"memory/ttlSupported":        {`true`},
	"memory/maxEntrySizeBytes":   {`1`, `65536`, `1e3`, `2.0`, `9007199254740991`, `1e300`},
	"memory/search":              {`{"supported":true}`, `{"supported":false,"modes":["semantic"]}`, `{"supported":true,"modes":["filter","semantic"]}`, `{"supported":true,"modes":[]}`},
	"memory/retention":           {`{}`, `{"ttl":true}`, `{"ttl":false,"forget":true}`, `{"ttl":true,"forget":true}`},
	"memory/attribution":         {`{"supported":true}`, `{"supported":true,"emitsWriteEvents":true}`, `{"supported":true,"emitsWriteEvents":false}`},
	"memory/compaction":          {`{"supported":false}`, `{"supported":true,"trigger":"both","maxInputEntries":1,"maxOutputBytes":0}`},
	"memory/distillation":        {`{"supported":true,"maxTokenBudget":1,"scheduled":true,"indexEmitted":false,"tokenizerName":"","archiveRetention":"P1D"}`, `{"supported":false}`},
	"memory/injectionBudget":     {`{"supported":true,"tokenCounter":"chars"}`},
	"agents/memoryBackends":      {`["long-term"]`, `[]`},
	"agents/memoryConsolidation": {`{"supported":true}`, `{"supported":true,"schedule":"scheduled"}`, `{"supported":false,"schedule":"on-demand"}`},
	"agents/commitments":         {`{"supported":true}`, `{"supported":true,"fireConditions":["predicate","time"]}`, `{"supported":true,"fireConditions":[]}`},
	"agents/proposals":           {`{"artifactKinds":[],"activation":"direct-rbac"}`, `{"artifactKinds":["automation","agent-pack"],"activation":"approval-gate","duplicationDetection":true}`},
	"agents/manifestRuntime":     {`{"supported":true}`, `{"supported":true,"installScope":"tenant","handoffValidation":false}`},
	"agents/roster":              {`{"supported":"` + secret + `"}`},
	"multiAgent/executionModel":  {`{"supported":true,"version":2}`, `{"version":6}`, `{"supported":false,"version":2}`, `{"version":1}`, `{"version":"2"}`, `{"version":1.5}`, `[]`},
	"scheduling/supported":       {`true`, `false`, `1`},
}

// odd are values for any field, most of them wrong there.
var odd = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `-0.0`, `1e-400`, `"yes"`, `"` + secret + `"`, `""`, `"both"`, `"time"`, `"long-term"`, `"longTerm"`,
	`[]`, `["` + secret + `"]`, `["time","time"]`, `["filter","filter","x"]`, `["long-term","long-term"]`, `[1,1.0]`, `[[],[]]`, `[null]`, `[{"a":1},{"a":1}]`,
	`{}`, `{"supported":true}`, `{"supported":1}`, `{"supported":true,"` + secret + `":1}`, `{"Supported":true}`, `{"ttl":"yes"}`, `{"supported":true,"trigger":null}`,
	`{"supported":true,"modes":"filter"}`, `{"supported":true,"modes":["filter",1]}`, `{"supported":true,"schedule":"hourly"}`, `{"supported":null,"installScope":"world"}`,
	`{"supported":true,"trigger":"never","maxInputEntries":0,"maxOutputBytes":-1}`, `{"supported":true,"maxTokenBudget":0,"tokenizerName":7}`, `{"artifactKinds":["automation","automation"]}`,
}

// generate makes a discovery document: blocks in families, some of them changed,
// each family at the root, in the wrapper or in both.
func generate(rng *rand.Rand) []byte {
	blocks := map[string]map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(seeds)) {
		family, name, _ := strings.Cut(path, "/")
		if blocks[family] == nil {
			blocks[family] = map[string]string{}
		}
		if rng.IntN(3) > 0 {
			blocks[family][name] = seeds[path][rng.IntN(len(seeds[path]))]
		}
		if rng.IntN(25) == 0 {
			blocks[family][name] = odd[rng.IntN(len(odd))]
		}
	}
	var root, inner []string
	for _, family := range slices.Sorted(maps.Keys(blocks)) {
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(blocks[family])) {
			fields = append(fields, fmt.Sprintf("%q:%s", name, blocks[family][name]))
		}
		rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		text := fmt.Sprintf("%q:{%s}", family, strings.Join(fields, ", "))
		if rng.IntN(40) == 0 {
			text = fmt.Sprintf("%q:%s", family, odd[rng.IntN(len(odd))])
		}
		switch rng.IntN(6) {
		case 0:
			inner = append(inner, text)
		case 1:
			root = append(root, text)
			inner = append(inner, fmt.Sprintf("%q:%s", family, odd[rng.IntN(len(odd))]))
		case 2, 3, 4:
			root = append(root, text)
		}
	}
	switch {
	case rng.IntN(20) == 0:
		root = append(root, `"capabilities":`+odd[rng.IntN(len(odd))])
	case len(inner) > 0 || rng.IntN(9) == 0:
		root = append(root, `"capabilities":{`+strings.Join(inner, ",")+`}`)
	}
	return []byte("{" + strings.Join(root, ",\n") + "}")
}

// agree fails unless the schemas and the hand-written rules have the same opinion
// of a document, rule for rule, and, if they accept it, unless every dimension is
// what a second reading says. It returns the rules that are broken.
func agree(t *testing.T, raw []byte) []string {
	t.Helper()
	before := bytes.Clone(raw)
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	want := rules(doc)
	m, err := capability.Parse(raw)
	if !bytes.Equal(before, raw) {
		t.Fatal("the document was changed")
	}
	if len(want) == 0 {
		if err != nil || !maps.Equal(reading(doc), statuses(m)) {
			t.Fatalf("%s: got %v, %v", raw, m, err)
		}
		return nil
	}
	var invalid *capability.DocumentError
	if !errors.As(err, &invalid) || !errors.Is(err, capability.ErrDocument) || strings.Contains(err.Error(), secret) {
		t.Fatalf("%s: got %v, want %v", raw, err, want)
	}
	var got []string
	for _, v := range invalid.Violations {
		got = append(got, v.Path+" "+v.Rule+" "+v.Kind)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", raw, got, want)
	}
	return want
}

func TestSchemasAgreeWithRules(t *testing.T) {
	docs := 3_000
	if testing.Short() {
		docs = 1_000
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		docs = 500_000
	}
	rng := rand.New(rand.NewPCG(80, 0))
	accepted := 0
	seen := map[string]int{} // rules broken
	for range docs {
		broken := agree(t, generate(rng))
		if broken == nil {
			accepted++
		}
		for _, line := range broken {
			seen[strings.Fields(line)[1]]++
		}
	}
	if accepted < docs/5 || accepted > docs*4/5 {
		t.Errorf("the generator is lopsided: %d of %d accepted", accepted, docs)
	}
	for _, rule := range []string{"type", "enum", "const", "required", "minimum", "uniqueItems", "additionalProperties"} {
		if seen[rule] < docs/1000 {
			t.Errorf("only %d documents break %s", seen[rule], rule)
		}
	}
}

// Every value in every field, with all that its block requires.
func TestSchemasAgreeWithRulesEverywhere(t *testing.T) {
	values := slices.Clone(odd)
	for _, word := range []string{
		"semantic", "filter", "host-managed", "client-requested", "both", "long-term", "scheduled", "on-demand", "time", "predicate",
		"agent-pack", "workflow-chain-pack", "prompt-template", "automation", "approval-gate", "direct-rbac", "host", "tenant", "x", "Host", "host ",
	} {
		values = append(values, `"`+word+`"`, `["`+word+`"]`, `["`+word+`","`+word+`"]`, `["`+word+`","x"]`)
	}
	values = append(values, `2`, `1.0`, `0.0`, `-0.5`, `9007199254740991`, `1e300`)
	for block, names := range map[string]string{
		`"memory":{%s}`: "supported writable ttlSupported maxEntrySizeBytes search retention attribution compaction distillation other",
		`"memory":{"search":{"supported":true,%s}}`:       "modes other",
		`"memory":{"retention":{%s}}`:                     "ttl forget other",
		`"memory":{"attribution":{"supported":true,%s}}`:  "emitsWriteEvents other",
		`"memory":{"attribution":{%s}}`:                   "supported",
		`"memory":{"compaction":{"supported":true,%s}}`:   "trigger maxInputEntries maxOutputBytes other",
		`"memory":{"compaction":{"trigger":"both",%s}}`:   "supported maxInputEntries maxOutputBytes",
		`"memory":{"distillation":{"supported":true,%s}}`: "maxTokenBudget scheduled indexEmitted tokenizerName archiveRetention other",
		`"agents":{%s}`: "memoryBackends memoryConsolidation commitments proposals manifestRuntime other",
		`"agents":{"memoryConsolidation":{"supported":true,%s}}`: "schedule other",
		`"agents":{"commitments":{"supported":true,%s}}`:         "fireConditions other",
		`"agents":{"proposals":{"artifactKinds":[],%s}}`:         "activation duplicationDetection other",
		`"agents":{"proposals":{"activation":"direct-rbac",%s}}`: "artifactKinds duplicationDetection other",
		`"agents":{"manifestRuntime":{"supported":true,%s}}`:     "handoffValidation installScope other",
	} {
		for _, name := range strings.Fields(names) {
			for _, value := range values {
				text := fmt.Sprintf(block, fmt.Sprintf("%q:%s", name, value))
				agree(t, []byte("{"+text+"}"))
			}
		}
	}
}

// reading is the table of RFC 0080 §A once more, by hand.
func reading(doc map[string]any) map[capability.Dimension]bool {
	get := func(names ...string) any {
		_, family, _ := lookup(doc, names[0])
		return at(family, names[1:]...)
	}
	supported := get("memory", "supported") == true
	backends, _ := get("agents", "memoryBackends").([]any)
	lasting := slices.Contains(backends, any("long-term"))
	version, _ := get("multiAgent", "executionModel", "version").(float64)
	return map[capability.Dimension]bool{
		"read":                 supported,
		"write":                supported && get("memory", "writable") != false,
		"search":               get("memory", "search", "supported") == true,
		"long-term-durability": lasting,
		"compaction":           get("memory", "compaction", "supported") == true || get("memory", "distillation", "supported") == true,
		"attribution":          get("memory", "attribution", "supported") == true,
		"replay-snapshot":      lasting && version >= 2 && get("multiAgent", "executionModel", "supported") != false,
		"retention":            get("memory", "retention", "ttl") == true || get("memory", "retention", "forget") == true,
	}
}

func FuzzParse(f *testing.F) {
	rng := rand.New(rand.NewPCG(80, 1))
	for range 100 {
		f.Add(generate(rng))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := capability.Parse(raw)
		if err != nil {
			require.ErrorIs(t, err, capability.ErrDocument)
			return
		}
		// What is written reads the same.
		again, err := capability.Parse([]byte(marshal(t, m)))
		require.NoError(t, err)
		require.Equal(t, statuses(m), statuses(again))
		require.NotEmpty(t, m.Explain())
		var doc map[string]any
		if json.Unmarshal(raw, &doc) == nil {
			require.Empty(t, rules(doc))
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`{"memory":{"retention":{"ttl":"yes"}}}`, "/memory/retention/ttl breaks type (string)"},
		{`{"capabilities":{"memory":{"search":{"modes":["` + secret + `"]}}}}`,
			"/capabilities/memory/search/modes/0 breaks enum (string); /capabilities/memory/search/supported breaks required (absent)"},
		{`{"memory":null,"agents":{"memoryBackends":["long-term","long-term"]}}`,
			"/agents/memoryBackends breaks uniqueItems (array); /memory breaks type (null)"},
		{`{"agents":{"commitments":{"supported":true,"fireConditions":[1,2,3,4,5,6,7,8,9,10]}}}`, "/agents/commitments/fireConditions/7 breaks type (number); and 2 more"},
		{`"` + secret + `"`, "it is not a JSON object"},
		{`{"memory":{},"memory":{}}`, "it has a field twice"},
		{`{"x":18446744073709551615}`, "it has an integer beyond 2^53-1"},
		{`{"x":"` + strings.Repeat("x", capability.MaxDocumentBytes) + `"}`, "it is longer than 262144 bytes"},
		{secret, "it is not JSON in UTF-8"},
		{``, "it is not JSON in UTF-8"},
	} {
		_, err := capability.Parse([]byte(c.doc))
		require.ErrorIs(t, err, capability.ErrDocument)
		assert.True(t, strings.HasPrefix(err.Error(), "capability: invalid discovery document: "))
		assert.True(t, strings.HasSuffix(err.Error(), c.want), err.Error())
		assert.NotContains(t, err.Error(), secret)
		assert.False(t, errors.Is(err, capability.ErrClaim))
	}
}

// A2: the root goes first, family by family; a wrapper is tolerated.
func TestA2_RootBeforeWrapper(t *testing.T) {
	m := parse(t, `{
		"memory": {"supported": true},
		"capabilities": {"memory": {"supported": false, "search": 7}, "agents": {"memoryBackends": ["long-term"]}, "x": 1}
	}`)
	assert.Equal(t, []capability.Dimension{capability.Read, capability.Write, capability.LongTerm}, satisfied(m))
	assert.Equal(t, "/memory/supported", m.Status(capability.Read).Source)
	assert.Equal(t, "/capabilities/agents/memoryBackends", m.Status(capability.LongTerm).Source)
	assert.Equal(t, "/capabilities/agents/memoryBackends, /multiAgent/executionModel/version", m.Status(capability.Replay).Source)
	assert.JSONEq(t, `{
		"memory": {"supported": true}, "agents": {"memoryBackends": ["long-term"]},
		"capabilities": {"memory": {"supported": false, "search": 7}, "x": 1}
	}`, marshal(t, m))

	// memoryBackends belongs to agents; under memory it means nothing.
	m = parse(t, `{"memory": {"memoryBackends": ["long-term"]}, "memoryBackends": ["long-term"]}`)
	assert.False(t, m.Satisfies(capability.LongTerm))
	// A wrapper of another kind is none.
	assert.Empty(t, satisfied(parse(t, `{"capabilities": ["memory"]}`)))
	assert.JSONEq(t, `{"memory":{}}`, marshal(t, parse(t, `{"capabilities": {"memory": {}}}`)))
}

func TestUnknownFieldsAreKept(t *testing.T) {
	const doc = `{"memory":{"supported":true,"x-acme":{"a":[1,null,1.5]}},"agents":{"other":[]},"b":"\u0001","limits":{"n":9007199254740991}}`
	assert.JSONEq(t, doc, marshal(t, parse(t, doc)))
}

func TestSources(t *testing.T) {
	for _, c := range []struct {
		doc       string
		dimension capability.Dimension
		want      capability.Status
	}{
		{`{}`, capability.Read, capability.Status{Source: "/memory/supported", Why: "memory.supported is absent"}},
		{`{"memory":{"supported":false}}`, capability.Write, capability.Status{Source: "/memory/supported", Why: "memory.supported is false"}},
		{`{"memory":{"supported":true,"writable":false}}`, capability.Write, capability.Status{Source: "/memory/writable", Why: "memory.writable is false"}},
		{`{"memory":{"supported":true}}`, capability.Write, capability.Status{Satisfied: true, Source: "/memory/supported", Why: "put and delete"}},
		{`{"memory":{"supported":true,"writable":true}}`, capability.Write, capability.Status{Satisfied: true, Source: "/memory/writable", Why: "put and delete"}},
		{`{"memory":{"search":{"supported":true,"modes":["filter"]}}}`, capability.Search, capability.Status{Satisfied: true, Source: "/memory/search/supported", Why: "filter"}},
		{`{"memory":{"search":{"supported":true}}}`, capability.Search, capability.Status{Satisfied: true, Source: "/memory/search/supported", Why: "no mode is named"}},
		{`{"agents":{"memoryBackends":[]}}`, capability.LongTerm, capability.Status{Source: "/agents/memoryBackends", Why: "agents.memoryBackends does not include long-term"}},
		{`{"memory":{"distillation":{"supported":true}}}`, capability.Compaction, capability.Status{Satisfied: true, Source: "/memory/distillation/supported", Why: "distillation"}},
		{`{"memory":{"compaction":{"supported":true,"trigger":"both"},"distillation":{"supported":true}}}`, capability.Compaction,
			capability.Status{Satisfied: true, Source: "/memory/compaction/supported, /memory/distillation/supported", Why: "compaction and distillation"}},
		{`{"memory":{"attribution":{"supported":true}}}`, capability.Attribution, capability.Status{Satisfied: true, Source: "/memory/attribution/supported", Why: "without a promise of events"}},
		{`{"memory":{"retention":{"forget":true}}}`, capability.Retention, capability.Status{Satisfied: true, Source: "/memory/retention/forget", Why: "forgetting"}},
		{`{"memory":{"ttlSupported":true}}`, capability.Retention, capability.Status{Source: "/memory/retention/ttl", Why: "memory.retention.ttl is absent"}},
		{`{"agents":{"memoryBackends":["long-term"]},"multiAgent":{"executionModel":{"version":4}}}`, capability.Replay,
			capability.Status{Satisfied: true, Source: "/agents/memoryBackends, /multiAgent/executionModel/version", Why: "execution model 4"}},
	} {
		c.want.Name = string(c.dimension)
		assert.Equal(t, c.want, parse(t, c.doc).Status(c.dimension), c.doc)
	}
	assert.Zero(t, parse(t, `{}`).Status("long-term"))
	assert.False(t, parse(t, `{}`).Satisfies("long-term"))
}

// Consolidation and commitments are where they are, and the model refers to them.
func TestBehaviours(t *testing.T) {
	const lasting = `"memoryBackends":["long-term"],`
	for _, c := range []struct {
		doc  string
		want capability.Status
	}{
		{`{}`, capability.Status{Why: "agents.memoryConsolidation.supported is absent"}},
		{`{"agents":{` + lasting + `"memoryConsolidation":{"supported":true}}}`, capability.Status{Satisfied: true, Why: "host-managed"}},
		{`{"agents":{"memoryConsolidation":{"supported":true}}}`, capability.Status{Why: "agents.memoryBackends does not include long-term"}},
		{`{"agents":{` + lasting + `"memoryConsolidation":{"supported":true,"schedule":"scheduled"}}}`,
			capability.Status{Why: "it is scheduled, and scheduling.supported is absent"}},
		{`{"agents":{` + lasting + `"memoryConsolidation":{"supported":true,"schedule":"scheduled"}},"scheduling":{"supported":"yes"}}`,
			capability.Status{Why: "it is scheduled, and scheduling.supported is not a boolean"}},
		{`{"agents":{` + lasting + `"memoryConsolidation":{"supported":true,"schedule":"scheduled"}},"scheduling":{"supported":true}}`,
			capability.Status{Satisfied: true, Why: "scheduled"}},
	} {
		c.want.Name, c.want.Source = "memoryConsolidation", "/agents/memoryConsolidation"
		assert.Equal(t, c.want, parse(t, c.doc).Consolidation(), c.doc)
	}
	for doc, why := range map[string]string{
		`{"agents":{"commitments":{"supported":true}}}`:                                            "time",
		`{"agents":{"commitments":{"supported":true,"fireConditions":["predicate","time"]}}}`:      "predicate, time",
		`{"agents":{"commitments":{"supported":false}}}`:                                           "agents.commitments.supported is false",
		`{"capabilities":{"agents":{"commitments":{"supported":true,"fireConditions":["time"]}}}}`: "time",
	} {
		assert.Equal(t, why, parse(t, doc).Commitments().Why, doc)
	}
	served, perTenant := parse(t, `{"agents":{"manifestRuntime":{"supported":true,"installScope":"tenant"}}}`).Inventory()
	assert.True(t, served && perTenant)
}

// The profile's clauses, each broken by itself.
func TestProfile(t *testing.T) {
	const doc = `{
		"protocolVersion": "1.1", "supportedEnvelopes": ["a"], "schemaVersions": {"a": 1},
		"limits": {"clarificationRounds": 0, "schemaRounds": 3, "envelopesPerTurn": 5.0},
		"memory": {"supported": true}, "agents": {"memoryBackends": ["long-term"]}
	}`
	holds, why := parse(t, doc).Profile()
	assert.True(t, holds)
	assert.Empty(t, why)
	for _, c := range []struct{ from, to, why string }{
		{`"1.1"`, `"2.0"`, "protocolVersion is not 1.x"},
		{`"1.1"`, `1.1`, "protocolVersion is not 1.x"},
		{`["a"]`, `{}`, "supportedEnvelopes is not a list"},
		{`{"a": 1}`, `null`, "schemaVersions is not an object"},
		{`"clarificationRounds": 0,`, ``, "limits.clarificationRounds is not a count"},
		{`: 3`, `: -3`, "limits.schemaRounds is not a count"},
		{`5.0`, `5.5`, "limits.envelopesPerTurn is not a count"},
		{`"supported": true`, `"supported": false`, "memory.supported is false"},
		{`"supported": true`, `"supported": true, "writable": false`, "memory.writable is false"},
		{`["long-term"]`, `[]`, "agents.memoryBackends does not include long-term"},
	} {
		holds, why := parse(t, strings.Replace(doc, c.from, c.to, 1)).Profile()
		assert.False(t, holds, c.to)
		assert.Equal(t, c.why, why, c.to)
	}
}

// The zero model is a host without memory.
func TestZeroModel(t *testing.T) {
	var m capability.Model
	assert.Equal(t, "{}", marshal(t, &m))
	assert.Empty(t, satisfied(&m))
	assert.Equal(t, "memory.supported is absent", m.Status(capability.Read).Why)
	assert.False(t, m.Consolidation().Satisfied || m.Commitments().Satisfied)
	assert.Equal(t, parse(t, `{}`).Explain(), m.Explain())
	assert.Equal(t, []capability.Dimension{capability.Read, capability.Write}, m.Degraded(capability.Shape{Scratchpad: true}))
}
