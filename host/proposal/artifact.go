package proposal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/jsonguard"
)

// object refuses what is no JSON object of at most that many bytes. A name that is twice in an
// object, in any case of its letters, is refused: who validates might read one, and who
// runs it the other.
func object(raw []byte, most int) error {
	value, err := jsonguard.Decode(raw, most)
	if err != nil {
		return &ArtifactError{Rule: "it " + err.Error()}
	}
	if _, ok := value.(map[string]any); !ok {
		return &ArtifactError{Rule: "it is not an object"}
	}
	if ambiguous(value) {
		return &ArtifactError{Rule: "two names in an object differ only in case"}
	}
	return nil
}

// ambiguous reports whether two names in an object are one to encoding/json.
func ambiguous(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, ambiguous)
	case map[string]any:
		seen := map[string]bool{}
		for name, inner := range v {
			folded := strings.ToLower(strings.ToUpper(name))
			if seen[folded] || ambiguous(inner) {
				return true
			}
			seen[folded] = true
		}
	}
	return false
}

// rewrite returns well-formed JSON without white space and needless escapes, in which change was
// applied to every text: names and values.
func rewrite(raw []byte, change func(string) (string, error)) ([]byte, error) {
	w := &rewriter{dec: json.NewDecoder(bytes.NewReader(raw)), change: change}
	w.dec.UseNumber()
	err := w.value()
	return w.out.Bytes(), err
}

type rewriter struct {
	dec    *json.Decoder
	out    bytes.Buffer
	change func(string) (string, error)
}

func (w *rewriter) value() error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return w.group(t)
	case string:
		return w.text(t)
	case json.Number:
		w.out.WriteString(string(t))
		return nil
	default: // true, false, null
		raw, err := json.Marshal(t)
		w.out.Write(raw)
		return err
	}
}

// group rewrites what is in an object or a list that has been opened.
func (w *rewriter) group(open json.Delim) error {
	w.out.WriteByte(byte(open))
	for first := true; w.dec.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		if open == '{' {
			if err := w.value(); err != nil { // the name
				return err
			}
			w.out.WriteByte(':')
		}
		if err := w.value(); err != nil {
			return err
		}
	}
	w.out.WriteByte(byte(open) + 2) // '}' after '{', ']' after '['
	_, err := w.dec.Token()
	return err
}

func (w *rewriter) text(s string) error {
	s, err := w.change(s)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(s)
	w.out.Truncate(w.out.Len() - 1) // the encoder's line end
	return err
}
