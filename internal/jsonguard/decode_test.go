package jsonguard

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

func TestDecode(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ doc, want string }{
		{`{"a":[1.0,9007199254740991,true,null,"é"]}`, ""},
		{deep(maxDepth), ""},
		{deep(maxDepth + 1), "nests too deep"},
		{`[` + strings.Repeat(" ", 1000) + `]`, "is longer than 1000 bytes"},
		{`9007199254740992`, "has an integer beyond 2^53-1"},
		{`1e400`, "has a number that is no double"},
		{`{"a":1,"\u0061":2}`, "has a field twice"},
		{`"\ud83d"`, "has a lone surrogate"},
		{"\"\xff\"", "is not JSON in UTF-8"},
		{`{} {}`, "is not JSON in UTF-8"},
		{``, "is not JSON in UTF-8"},
	} {
		_, err := Decode([]byte(c.doc), 1000)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%.40s: got %v, want %q", c.doc, err, c.want)
		}
	}
	doc, err := Decode([]byte(`{"a":[1.50,"x"]}`), 100)
	if err != nil || !slices.Equal(doc.(map[string]any)["a"].([]any), []any{1.5, "x"}) {
		t.Errorf("got %v, %v", doc, err)
	}
}

// parts are what documents are made of here: what is easy to read wrongly.
var parts = []string{
	`null`, `true`, `0`, `-0`, `1.0`, `1e2`, `-1.5E+3`, `1e-400`, `1e400`, `9007199254740991`, `-9007199254740992`, `9007199254740993.0`, `01`, `1.`,
	`""`, `"a"`, `"\u0061"`, `"\\"`, `"\\\""`, `"{:,\":9007199254740993"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\\ud83d"`,
	`"\ud83d\\ude00"`, "\"\xff\"", "\"\xed\xa0\x80\"", `"\ufffd"`, `"é"`, "\"\t\"", `{}`, `[]`,
}

func document(rng *rand.Rand, depth int) string {
	n := rng.IntN(4)
	items := make([]string, n)
	switch kind := rng.IntN(4); {
	case kind == 0 && depth > 0:
		for i := range items {
			items[i] = document(rng, depth-1)
		}
		return "[" + strings.Join(items, " ,") + "]"
	case kind == 1 && depth > 0:
		for i := range items {
			names := []string{`"a"`, `"b"`, `"A"`, `"\u0061"`, `""`, `":"`, `"\u003a"`, `"c\\"`}
			items[i] = names[rng.IntN(len(names))] + ": " + document(rng, depth-1)
		}
		return "{" + strings.Join(items, ",") + "}"
	}
	return parts[rng.IntN(len(parts))]
}

// agree compares with the canonicaliser of RFC 8785, which refuses the same documents but for
// integers that it would round, and gives the others the same value.
func agree(t *testing.T, raw []byte) (read bool) {
	t.Helper()
	value, err := Decode(raw, 1<<20)
	canonical, other := jcs.Transform(raw)
	switch {
	case err != nil && slices.Contains([]string{"has an integer beyond 2^53-1", "nests too deep", "is not JSON in UTF-8"}, err.Error()):
		return false
	case (err == nil) != (other == nil):
		t.Fatalf("%q: got %v, want %v", raw, err, other)
	case err != nil:
		return false
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if again, err = jcs.Transform(again); err != nil || string(again) != string(canonical) {
		t.Fatalf("%q: got %s, %v, want %s", raw, again, err, canonical)
	}
	return true
}

func TestDecodeAgreesWithCanonicaliser(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 785))
	read := 0
	for range 20_000 {
		if agree(t, []byte(document(rng, 3))) {
			read++
		}
	}
	if read < 5000 || read > 15_000 {
		t.Fatalf("the generator is lopsided: %d of 20,000 documents were read", read)
	}
}

func FuzzDecodeAgreesWithCanonicaliser(f *testing.F) {
	for _, part := range parts {
		f.Add([]byte(part))
		f.Add([]byte(`{"a":[` + part + `],"a":1}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { agree(t, raw) })
}
