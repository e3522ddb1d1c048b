package proposal

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Rewriting with no change keeps the value, and says it without white space and needless escapes.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,true,null,"\u0073<é\n"],"b":{}}`, `{}`, `{"a":[[],[{}]],"":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if object(raw, 1<<12) != nil {
			return
		}
		out, err := rewrite(raw, func(s string) (string, error) { return s, nil })
		if err != nil {
			t.Fatal(err)
		}
		var before, after any
		read(t, raw, &before)
		read(t, out, &after)
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%s became %s", raw, out)
		}
		again, err := rewrite(out, func(s string) (string, error) { return s, nil })
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s became %s", out, again)
		}
		gone, err := rewrite(raw, func(string) (string, error) { return "x", nil })
		known := func(r rune) rune {
			if strings.ContainsRune(`{}[],:"x0123456789.E+-truefalsn`, r) {
				return -1
			}
			return r
		}
		if err != nil || strings.Map(known, string(gone)) != "" {
			t.Fatalf("%s became %s", raw, gone)
		}
	})
}

func read(t *testing.T, raw []byte, v any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}
