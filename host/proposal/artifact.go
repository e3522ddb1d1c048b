package proposal

import (
	"bytes"
	"encoding/json"
	"regexp"
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

// jsonText is a string in JSON.
var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// rewrite returns well-formed JSON without white space and needless escapes, in which change was
// applied to every text: names and values.
func rewrite(raw []byte, change func(string) (string, error)) ([]byte, error) {
	var compact bytes.Buffer
	err := json.Compact(&compact, raw)
	out := jsonText.ReplaceAllFunc(compact.Bytes(), func(quoted []byte) []byte {
		text := ""
		if err == nil {
			err = json.Unmarshal(quoted, &text)
		}
		if err == nil {
			text, err = change(text)
		}
		if err == nil {
			quoted, err = encode(text)
		}
		return quoted
	})
	return out, err
}

// encode returns the JSON form of a value in which <, > and & stand as they are.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
