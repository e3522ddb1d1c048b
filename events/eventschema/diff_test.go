package eventschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/events/eventschema"
)

// secret stands in generated values and foreign field names; no error may hold it.
const secret = "S3CR3T"

var types = []events.Type{
	events.TypeMemoryWritten, events.TypeMemoryCompacted, events.TypeMemoryConsolidated, events.TypeCommitmentFired,
	events.TypeWorkspaceUpdated, events.TypeProposalCreated, events.TypeProposalActivated,
}

// bases are full documents of the types, in their order.
var bases = [][]field{
	{{"memoryRef", `"r"`}, {"memoryId", `"m"`}, {"nodeId", `"n"`}, {"agentId", `"a"`}, {"tags", `["", "t"]`}},
	{
		{"memoryRef", `"r"`}, {"outputId", `"o"`}, {"sourceIds", `["a", "b"]`}, {"sourceCount", `2`}, {"trigger", `"both"`},
		{"byteSize", `0`}, {"distillation", `{"tokenBudget":1,"tokensUsed":0,"indexUpdated":true}`},
	},
	{{"memoryRef", `"r"`}, {"inputCount", `3`}, {"outputCount", `2`}, {"mergedIds", `["a"]`}, {"trigger", `"scheduled"`}},
	{{"commitmentId", `"c"`}, {"memoryRef", `"r"`}, {"memoryId", `"m"`}, {"condition", `"time"`}, {"enqueuedRunId", `"r"`}},
	{{"path", `"p"`}, {"version", `1`}},
	{{"proposalId", `"p"`}, {"kind", `"automation"`}, {"sourceRunIds", `[]`}, {"duplicateOf", `null`}},
	{{"proposalId", `"p"`}, {"kind", `"agent-pack"`}, {"approvalId", `null`}, {"installedArtifactRef", `"ref"`}},
}

type field struct{ name, value string }

// values are the texts that a field may get instead of its own.
var values = []string{
	`null`, `true`, `false`, `{}`, `[]`, `[[]]`, `""`, `" "`, `"` + secret + `"`, `["` + secret + `"]`, `[""]`, `["a",""]`, `[null]`, `[1]`,
	`0`, `-0`, `1`, `1.0`, `1e2`, `1E+2`, `10e-1`, `0.5`, `1.5`, `-1`, `-0.0`, `1e-400`, `1e400`, `-1e400`, `1e300`, `1e3000000`,
	`1.00000000000000000001`, `9007199254740991`, `9007199254740991.0`, `9007199254740991.4`, `9007199254740991.5`, `9007199254740992`,
	`9.007199254740992e15`, `9007199254740993`, `-9007199254740991`, `-9007199254740992`, `99999999999999999999`, `01`, `+1`, `.5`, `1.`, `0x1`, `NaN`,
	`"both"`, `"host-managed"`, `"Host-managed"`, `"scheduled"`, `"predicate"`, `"agent-pack"`, `"agent-pack "`, `"\u0062oth"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\\ude00"`, `"\\ud83d"`, `"\ud83dx\ude00"`, `"\u0000"`, "\"\x00\"", "\"\t\"", "\"\xff\"", `"é"`, `"\x"`, `"\/\b\f\n\r\t"`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":[9007199254740993]}}`, `{"` + secret + `":"` + secret + `"}`,
	`{"tokenBudget":1,"tokensUsed":0}`, `{"tokenBudget":0,"tokensUsed":0}`, `{"tokenBudget":1,"tokensUsed":-1}`, `{"tokenBudget":1e1,"tokensUsed":1.0}`,
	`{"tokenBudget":1}`, `{"tokenBudget":1,"tokensUsed":0,"` + secret + `":0}`, `{"tokenBudget":1,"tokensUsed":0,"indexUpdated":null}`,
	`{"tokenBudget":1,"tokensUsed":0,"indexUpdated":0}`, `{"tokenBudget":1,"tokensUsed":0,"tokensUsed":0}`, `{"TokenBudget":1,"tokensUsed":0}`,
	strings.Repeat("[", 99) + strings.Repeat("]", 99), strings.Repeat("[", 100) + strings.Repeat("]", 100),
	strings.Repeat(`{"a":`, 99) + `1` + strings.Repeat("}", 99), strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat("}", 100),
}

// mutant makes a document that is valid but for some changes, and says how many
// there are.
func mutant(rng *rand.Rand, typ int) ([]byte, int) {
	fields := append([]field(nil), bases[typ]...)
	changes := rng.IntN(3)
	pick := func() int { return rng.IntN(len(fields)) }
	for range changes {
		if len(fields) == 0 {
			break
		}
		switch rng.IntN(8) {
		case 0, 1, 2:
			fields[pick()].value = values[rng.IntN(len(values))]
		case 3:
			i := pick()
			fields = append(fields[:i], fields[i+1:]...)
		case 4:
			fields = append(fields, fields[pick()])
		case 5:
			i := pick()
			fields[i].name = strings.ToUpper(fields[i].name[:1]) + fields[i].name[1:]
		case 6:
			fields = append(fields, field{secret + fmt.Sprint(rng.IntN(2)), values[rng.IntN(len(values))]})
		case 7:
			i := pick()
			fields[i].name = fmt.Sprintf(`\u%04x`, fields[i].name[0]) + fields[i].name[1:]
		}
	}
	rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return join(fields, rng.IntN(2) == 0), changes
}

func join(fields []field, spaces bool) []byte {
	comma, colon := ",", ":"
	if spaces {
		comma, colon = " ,\n", " :\t"
	}
	var parts []string
	for _, f := range fields {
		parts = append(parts, `"`+f.name+`"`+colon+f.value)
	}
	return []byte("{" + strings.Join(parts, comma) + "}")
}

// agree fails unless the schema and the hand-written code have the same opinion of
// a document; it returns that opinion.
func agree(t *testing.T, typ events.Type, raw []byte) bool {
	t.Helper()
	before := bytes.Clone(raw)
	schemaErr := eventschema.Validate(typ, raw)
	p, err := events.Decode(typ, raw)
	if (schemaErr == nil) != (err == nil) {
		t.Fatalf("%s %q:\nschema: %v\n  code: %v", typ, raw, schemaErr, err)
	}
	for _, err := range []error{schemaErr, err} {
		if err != nil && (!errors.Is(err, events.ErrInvalid) || strings.Contains(err.Error(), secret)) {
			t.Fatalf("%s %q: a bad error: %v", typ, raw, err)
		}
	}
	if !bytes.Equal(raw, before) {
		t.Fatal("the document was changed")
	}
	if err != nil {
		return false
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("%s %q: decoded, but not valid: %v", typ, raw, err)
	}
	again, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	p2, err := events.Decode(typ, again)
	if err != nil || eventschema.Validate(typ, again) != nil || !reflect.DeepEqual(p, p2) {
		t.Fatalf("%s %q does not survive a round trip: %q %v", typ, raw, again, err)
	}
	return true
}

// E2: the schema and the code that does its work on the way to a sink agree.
func TestE2_SchemaAgreesWithCode(t *testing.T) {
	docs := 10_000
	if testing.Short() {
		docs = 2_000
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		docs *= 100
	}
	rng := rand.New(rand.NewPCG(2, 0))
	var accepted, refused int
	for range docs {
		typ := rng.IntN(len(types))
		raw, changes := mutant(rng, typ)
		if agree(t, types[typ], raw) {
			accepted++
		} else {
			refused++
			if changes == 0 {
				t.Fatalf("%s %s is valid", types[typ], raw)
			}
		}
	}
	if accepted < docs/4 || refused < docs/4 {
		t.Fatalf("the generator is lopsided: %d accepted, %d refused", accepted, refused)
	}
}

// Every value in every field of every type, and every type's document as another's.
func TestE2_SchemaAgreesWithCodeEverywhere(t *testing.T) {
	for i, base := range bases {
		for j := range base {
			for _, value := range values {
				fields := append([]field(nil), base...)
				fields[j].value = value
				agree(t, types[i], join(fields, false))
			}
		}
		for _, typ := range types {
			agree(t, typ, join(base, true))
		}
		for _, raw := range append(values, "", " ", "\ufeff{}", "{", "}", "{}{}", "{} x", "null", "[{}]", `{"a"}`, `{,}`) {
			agree(t, types[i], []byte(raw))
		}
	}
	for _, n := range []int{events.MaxDocBytes, events.MaxDocBytes + 1} {
		raw := join(bases[0], false)
		raw = append(raw, bytes.Repeat([]byte(" "), n-len(raw))...)
		if agree(t, types[0], raw) != (n == events.MaxDocBytes) {
			t.Fatalf("the limit of %d bytes does not hold", events.MaxDocBytes)
		}
	}
}

func FuzzSchemaAgreesWithCode(f *testing.F) {
	for i, base := range bases {
		f.Add(uint8(i), join(base, true))
		for _, value := range values {
			f.Add(uint8(i), []byte(value))
		}
	}
	rng := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		typ := rng.IntN(len(types))
		raw, _ := mutant(rng, typ)
		f.Add(uint8(typ), raw)
	}
	f.Fuzz(func(t *testing.T, typ uint8, raw []byte) {
		if bytes.Contains(raw, []byte(secret)) {
			// The schema's own names may be part of what the fuzzer makes of it.
			raw = bytes.ReplaceAll(raw, []byte(secret), []byte("s"))
		}
		agree(t, types[int(typ)%len(types)], raw)
	})
}
