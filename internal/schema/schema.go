package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Schemas are the JSON Schemas (draft 2020-12) of a package, compiled when the
// first document comes.
type Schemas struct {
	compiled func() (map[string]schema, error)
}

type schema struct {
	compiled *jsonschema.Schema
	text     any
}

// New returns the schemas of files: schemas/NAME.json has the name NAME.
func New(files fs.ReadFileFS) *Schemas {
	return &Schemas{sync.OnceValues(func() (map[string]schema, error) { return compile(files) })}
}

func compile(files fs.ReadFileFS) (map[string]schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	// Without this the library reads any file or address that a reference names.
	c.LoadURL = func(string) (io.ReadCloser, error) {
		return nil, errors.New("schema: only embedded schemas are loaded")
	}
	names, err := fs.Glob(files, "schemas/*.json")
	if err != nil {
		return nil, err
	}
	schemas := make(map[string]schema, len(names))
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		url := "embedded:///" + name
		if err := c.AddResource(url, bytes.NewReader(raw)); err != nil {
			return nil, err
		}
		var s schema
		if s.compiled, err = c.Compile(url); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &s.text); err != nil {
			return nil, err
		}
		schemas[strings.TrimSuffix(path.Base(name), ".json")] = s
	}
	return schemas, nil
}

// Violation is one rule that a document breaks.
type Violation struct {
	// Path is a JSON pointer into the document; for a field that is required and
	// missing it points to where the field would be.
	Path string
	// Rule is the schema's keyword.
	Rule string
	// Kind is the JSON type of what is at Path, or "absent".
	Kind string
}

// ErrUnfit is returned for a document on which the schema library fails.
var ErrUnfit = errors.New("schema: made the validator fail")

// Validate returns the rules of the schema of that name that a decoded document
// breaks, sorted by path and rule. The error is [ErrUnfit] or about the embedded
// schemas, which would be a fault of the package that has them.
func (s *Schemas) Validate(name string, doc any) (broken []Violation, err error) {
	schemas, err := s.compiled()
	if err != nil {
		return nil, fmt.Errorf("an embedded schema: %w", err)
	}
	rules, ok := schemas[name]
	if !ok {
		return nil, errors.New("there is no embedded schema of that name")
	}
	defer func() {
		if recover() != nil {
			broken, err = nil, ErrUnfit
		}
	}()
	err = rules.compiled.Validate(doc)
	if err == nil {
		return nil, nil
	}
	var root *jsonschema.ValidationError
	if !errors.As(err, &root) {
		return nil, ErrUnfit
	}
	broken = leaves(nil, root, rules.text, doc)
	slices.SortFunc(broken, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule))
	})
	return slices.Compact(broken), nil
}

// leaves collects the errors that have no causes. It does not use their messages,
// which may quote the document.
func leaves(broken []Violation, e *jsonschema.ValidationError, rules, doc any) []Violation {
	for _, cause := range e.Causes {
		broken = leaves(broken, cause, rules, doc)
	}
	if len(e.Causes) > 0 {
		return broken
	}
	v := Violation{Path: e.InstanceLocation, Rule: path.Base(e.KeywordLocation)}
	at, _ := resolve(doc, e.InstanceLocation)
	v.Kind = kind(at)
	names, _ := resolve(rules, e.KeywordLocation)
	required, _ := names.([]any)
	object, _ := at.(map[string]any)
	if v.Rule != "required" || required == nil || object == nil {
		return append(broken, v)
	}
	for _, name := range required {
		name, _ := name.(string)
		if _, ok := object[name]; !ok {
			broken = append(broken, Violation{v.Path + "/" + name, v.Rule, "absent"})
		}
	}
	return broken
}

// resolve follows a JSON pointer.
func resolve(doc any, pointer string) (any, bool) {
	for _, name := range strings.Split(pointer, "/")[1:] {
		switch at := doc.(type) {
		case map[string]any:
			v, ok := at[name]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			doc = at[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number, float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
