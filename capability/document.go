package capability

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/jsonguard"
	"github.com/openwop/agentmemory/internal/schema"
)

//go:embed schemas
var files embed.FS

var schemas = schema.New(files)

// MaxDocumentBytes is the length of the longest document that is read.
const MaxDocumentBytes = 256 << 10

// wrapper is the object around the families that older hosts have.
const wrapper = "capabilities"

// families are those that the model reads. The first two have schemas, and are in the order of
// their violations.
var families = []string{"agents", "memory", "multiAgent", "scheduling", "workspace"}

type object = map[string]any

// document is a discovery document with its families at the root. Fields are named
// by paths such as "memory/search/supported", without escapes: no field that is
// looked for needs any.
type document struct {
	root object
	// wrapped are the families that were read from the wrapper.
	wrapped []string
	// missing says of fields that are absent in a derived document what is missing.
	missing map[string]string
}

// read checks a document and moves its families to the root.
func read(raw []byte) (*document, error) {
	value, err := jsonguard.Decode(raw, MaxDocumentBytes)
	if err != nil {
		return nil, &DocumentError{Problem: err.Error()}
	}
	root, ok := value.(object)
	if !ok {
		return nil, &DocumentError{Problem: "is not a JSON object"}
	}
	d := &document{root: root}
	d.unwrap()
	return d, d.check()
}

// unwrap lifts each family that only the wrapper has.
func (d *document) unwrap() {
	inner, ok := d.root[wrapper].(object)
	if !ok {
		return
	}
	for _, name := range families {
		_, atRoot := d.root[name]
		if family, ok := inner[name]; ok && !atRoot {
			d.root[name] = family
			d.wrapped = append(d.wrapped, name)
			delete(inner, name)
		}
	}
	if len(inner) == 0 && len(d.wrapped) > 0 {
		delete(d.root, wrapper)
	}
}

// check validates the families that have schemas.
func (d *document) check() error {
	var found []Violation
	for _, name := range families[:2] {
		family, ok := d.root[name]
		if !ok {
			continue
		}
		broken, err := schemas.Validate(name, family)
		if errors.Is(err, schema.ErrUnfit) {
			return &DocumentError{Problem: "cannot be validated"}
		}
		if err != nil {
			return fmt.Errorf("capability: %w", err)
		}
		for _, v := range broken {
			found = append(found, Violation{d.pointer(name) + v.Path, v.Rule, v.Kind})
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &DocumentError{Violations: found}
}

// pointer is the JSON pointer to a field in the document as it was read.
func (d *document) pointer(path string) string {
	family, _, _ := strings.Cut(path, "/")
	if slices.Contains(d.wrapped, family) {
		return "/" + wrapper + "/" + path
	}
	return "/" + path
}

func (d *document) at(path string) (any, bool) {
	var value any = d.root
	for name := range strings.SplitSeq(path, "/") {
		o, ok := value.(object)
		if !ok {
			return nil, false
		}
		if value, ok = o[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

// put sets a field and makes the objects around it.
func (d *document) put(path string, value any) {
	o := d.root
	names := strings.Split(path, "/")
	last := len(names) - 1
	for _, name := range names[:last] {
		next, ok := o[name].(object)
		if !ok {
			next = object{}
			o[name] = next
		}
		o = next
	}
	o[names[last]] = value
}

// get returns a field that is of a type.
func get[T any](d *document, path string) (T, bool) {
	value, _ := d.at(path)
	v, ok := value.(T)
	return v, ok
}

func (d *document) isTrue(path string) bool {
	value, _ := get[bool](d, path)
	return value
}

// texts returns the strings of a field that is a list.
func (d *document) texts(path string) (list []string) {
	items, _ := get[[]any](d, path)
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// lacks says in one line why a flag is not true.
func (d *document) lacks(path string) string {
	name := strings.ReplaceAll(path, "/", ".")
	if missing := d.missingAt(path); missing != "" {
		return missing
	}
	switch value, ok := d.at(path); {
	case !ok:
		return name + " is absent"
	case value == false:
		return name + " is false"
	}
	return name + " is not a boolean"
}

// missingAt returns what is missing for a field, or for the block that would hold it.
func (d *document) missingAt(path string) string {
	for ; path != ""; path = parent(path) {
		if missing := d.missing[path]; missing != "" {
			return missing
		}
	}
	return ""
}

// parent is the path of the object that holds a field.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

func list[S ~string](items ...S) []any {
	var out []any
	for _, s := range items {
		out = append(out, string(s))
	}
	return out
}
