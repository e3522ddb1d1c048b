package inventory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/inventory"
)

func model(t testing.TB, doc string) *capability.Model {
	t.Helper()
	m, err := capability.Parse([]byte(doc))
	require.NoError(t, err)
	return m
}

// hosts are models that differ in what an agent can miss.
func hosts(t testing.TB) []*capability.Model {
	var all []*capability.Model
	for _, doc := range []string{
		`{}`,
		`{"memory":{"supported":true}}`,
		`{"memory":{"supported":true,"writable":false}}`,
		`{"memory":{"supported":true},"agents":{"memoryBackends":["long-term"]}}`,
		`{"memory":{"supported":true,"writable":false},"agents":{"memoryBackends":["long-term"]}}`,
		`{"agents":{"memoryBackends":["long-term"]}}`,
	} {
		all = append(all, model(t, doc))
	}
	return all
}

// fleet is n agents of all shapes and with all optional fields, in random order.
func fleet(rng *rand.Rand, n int, models []*capability.Model) []inventory.Agent {
	agents := make([]inventory.Agent, n)
	for i := range agents {
		a := inventory.Agent{
			ID: fmt.Sprintf("acme.agents.%c%05d.default", 'a'+rng.IntN(26), i), Persona: fmt.Sprint("persona ", i),
			ModelClass: "chat", PackName: "pack", PackVersion: "1.0.0", HasHandoffSchemas: rng.IntN(2) == 0,
			Tenant: "tenant-" + fmt.Sprint(rng.IntN(3)),
		}
		if rng.IntN(2) == 0 {
			a.Label, a.Description = fmt.Sprint("label ", i), "what it does"
			a.ToolAllowlist = []string{"search", "mail"}
		}
		if rng.IntN(8) > 0 {
			a.MemoryShape = &capability.Shape{Scratchpad: rng.IntN(2) == 0, Conversation: rng.IntN(2) == 0, LongTerm: rng.IntN(2) == 0}
		}
		if rng.IntN(4) == 0 {
			threshold := []float64{0, 0.5, 1, -0.1, 1.1, math.NaN(), math.Inf(1)}[rng.IntN(7)]
			a.ConfidenceThreshold = &threshold
		}
		if rng.IntN(4) == 0 {
			a.Degraded = []string{"tool:mail"}
			a.Roster = []inventory.RosterEntry{{ID: "r1", Persona: "p"}, {ID: "r2", Persona: "p", Workflows: []string{"w"}}}
		}
		if rng.IntN(4) == 0 {
			a.Memory = models[rng.IntN(len(models))]
		}
		agents[i] = a
	}
	rng.Shuffle(n, func(i, j int) { agents[i], agents[j] = agents[j], agents[i] })
	return agents
}

// inShape says of a JSON value whether it fits the schema of the response, by hand.
func inShape(response map[string]any) error {
	agents, ok := response["agents"].([]any)
	if !ok || len(response) != 2 || response["total"] != float64(len(agents)) {
		return fmt.Errorf("the response has other fields than agents and total")
	}
	for _, v := range agents {
		if err := wireEntry(v.(map[string]any)); err != nil {
			return err
		}
	}
	return nil
}

func wireEntry(entry map[string]any) error {
	str, num, flag := reflect.String, reflect.Float64, reflect.Bool
	required := map[string]reflect.Kind{
		"agentId": str, "persona": str, "label": str, "modelClass": str, "packName": str, "packVersion": str,
		"toolAllowlist": reflect.Slice, "hasHandoffSchemas": flag,
	}
	optional := map[string]reflect.Kind{
		"description": str, "memoryShape": reflect.Map, "confidenceThreshold": num, "degraded": reflect.Slice,
		"memoryDegraded": flag, "degradedMemoryDimensions": reflect.Slice, "roster": reflect.Slice,
	}
	for name, v := range entry {
		want, ok := required[name]
		if !ok {
			want = optional[name]
		}
		if reflect.ValueOf(v).Kind() != want {
			return fmt.Errorf("%s is %T", name, v)
		}
		delete(required, name)
	}
	if len(required) > 0 {
		return fmt.Errorf("there is no %v", required)
	}
	if f, ok := entry["confidenceThreshold"].(float64); ok && (f < 0 || f > 1) {
		return fmt.Errorf("confidenceThreshold is %v", f)
	}
	shape, _ := entry["memoryShape"].(map[string]any)
	for name, v := range shape {
		if !slices.Contains([]string{"scratchpad", "conversation", "longTerm"}, name) || reflect.TypeOf(v).Kind() != flag {
			return fmt.Errorf("memoryShape has %s: %v", name, v)
		}
	}
	roster, _ := entry["roster"].([]any)
	for _, v := range roster {
		r := v.(map[string]any)
		if _, ok := r["workflows"].([]any); !ok || len(r) != 3 || r["rosterId"] == "" || r["persona"] == "" {
			return fmt.Errorf("roster has %v", r)
		}
	}
	return nil
}

// A3: ten thousand agents, against the rules written down a second time on the JSON
// that a client sees.
func TestA3_Project(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 80))
	models := hosts(t)
	for _, host := range append(models, nil) {
		agents := fleet(rng, 10_000/len(models), models)
		before := slices.Clone(agents)
		response := inventory.Project(agents, host)
		require.True(t, reflect.DeepEqual(clean(before), clean(agents)), "the agents were changed")

		body, err := json.Marshal(response)
		require.NoError(t, err)
		var seen map[string]any
		require.NoError(t, json.Unmarshal(body, &seen))
		require.NoError(t, inShape(seen))
		require.NotContains(t, string(body), "tenant-")

		byID := map[string]inventory.Agent{}
		for _, a := range agents {
			byID[a.ID] = a
		}
		require.Equal(t, float64(len(byID)), seen["total"])
		last := ""
		for _, v := range seen["agents"].([]any) {
			entry := v.(map[string]any)
			a, ok := byID[entry["agentId"].(string)]
			require.True(t, ok && a.ID > last, "order")
			last = a.ID
			label := a.Label
			if label == "" {
				label = a.Persona
			}
			if entry["label"] != label || entry["persona"] != a.Persona || entry["hasHandoffSchemas"] != a.HasHandoffSchemas {
				t.Fatalf("%v of %v", entry, a)
			}
			if missing := expected(a, host); !reflect.DeepEqual(entry["degradedMemoryDimensions"], missing) ||
				(entry["memoryDegraded"] == true) != (missing != nil) || entry["memoryDegraded"] == false {
				t.Fatalf("%v misses %v", entry, missing)
			}
		}
	}
}

// clean drops what DeepEqual cannot compare: NaN.
func clean(agents []inventory.Agent) []inventory.Agent {
	agents = slices.Clone(agents)
	for i := range agents {
		if f := agents[i].ConfidenceThreshold; f != nil && *f != *f {
			agents[i].ConfidenceThreshold = nil
		}
	}
	return agents
}

// expected is what an agent misses, as the JSON list or nil.
func expected(a inventory.Agent, host *capability.Model) any {
	m := a.Memory
	if m == nil {
		m = host
	}
	if m == nil {
		m = new(capability.Model)
	}
	var missing []any
	if s := a.MemoryShape; s != nil && (s.Scratchpad || s.Conversation || s.LongTerm) {
		for _, d := range []capability.Dimension{"read", "write", "long-term-durability"} {
			if !m.Satisfies(d) && (d != "long-term-durability" || s.LongTerm) {
				missing = append(missing, string(d))
			}
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}

func TestProjectSmall(t *testing.T) {
	body, err := json.Marshal(inventory.Project(nil, nil))
	require.NoError(t, err)
	assert.Equal(t, `{"agents":[],"total":0}`, string(body))

	// Equal ids stay in their order.
	r := inventory.Project([]inventory.Agent{{ID: "b"}, {ID: "a", Persona: "1"}, {ID: "a", Persona: "2"}, {ID: "B"}, {ID: "a", Persona: "3"}}, nil)
	var order []string
	for _, e := range r.Agents {
		order = append(order, e.ID+e.Persona)
	}
	assert.Equal(t, "B a1 a2 a3 b", strings.Join(order, " "))
	// An empty list that is shared cannot be written to through an entry.
	r.Agents[0].ToolAllowlist = append(r.Agents[0].ToolAllowlist, "x")
	assert.Empty(t, r.Agents[1].ToolAllowlist)
}

// An agent's own store is what counts for it, be it better or worse than the host's.
func TestA3_OwnStore(t *testing.T) {
	lasting := model(t, `{"memory":{"supported":true},"agents":{"memoryBackends":["long-term"]}}`)
	readOnly := model(t, `{"memory":{"supported":true,"writable":false}}`)
	needs := &capability.Shape{LongTerm: true}
	r := inventory.Project([]inventory.Agent{
		{ID: "a", MemoryShape: needs}, {ID: "b", MemoryShape: needs, Memory: lasting}, {ID: "c"},
	}, readOnly)
	assert.Equal(t, []capability.Dimension{capability.Write, capability.LongTerm}, r.Agents[0].DegradedMemoryDimensions)
	assert.True(t, r.Agents[0].MemoryDegraded)
	assert.False(t, r.Agents[1].MemoryDegraded || r.Agents[2].MemoryDegraded)
	assert.Nil(t, r.Agents[1].DegradedMemoryDimensions)
}

// An agent costs one allocation at most.
func TestProjectAllocations(t *testing.T) {
	agents := fleet(rand.New(rand.NewPCG(1, 2)), 1000, hosts(t))
	host := hosts(t)[2]
	got := testing.AllocsPerRun(10, func() { inventory.Project(agents, host) })
	assert.Less(t, got, float64(len(agents)))
}

// The order is that of a stable sort by the bytes of the ID, for any IDs.
func TestProjectOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 0))
	for range 500 {
		prefix := strings.Repeat("p", rng.IntN(3)*5)
		agents := make([]inventory.Agent, rng.IntN(400))
		letters := 1 + rng.IntN(5)
		longest := 1 + rng.IntN(40)
		for i := range agents {
			id := []byte(prefix)
			for range rng.IntN(longest) {
				id = append(id, "\x00\x01ab\xff"[rng.IntN(letters)])
			}
			if rng.IntN(2) == 0 {
				id = append(id, strings.Repeat("same ", rng.IntN(5))...)
			}
			agents[i] = inventory.Agent{ID: string(id), Persona: fmt.Sprint(i)}
		}
		response := inventory.Project(agents, nil)
		slices.SortStableFunc(agents, func(a, b inventory.Agent) int { return strings.Compare(a.ID, b.ID) })
		for i, e := range response.Agents {
			if e.ID != agents[i].ID || e.Persona != agents[i].Persona {
				t.Fatalf("at %d: %q %s, want %q %s", i, e.ID, e.Persona, agents[i].ID, agents[i].Persona)
			}
		}
	}
}

func BenchmarkProject(b *testing.B) {
	agents := fleet(rand.New(rand.NewPCG(1, 2)), 10_000, hosts(b))
	host := hosts(b)[2]
	b.ReportAllocs()
	for b.Loop() {
		inventory.Project(agents, host)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(agents)), "ns/agent")
}
