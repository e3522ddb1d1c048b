package eventschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/openwop/agentmemory/events"
)

// This file is the only one that knows the schema library.

// compiled are the schemas by name. The error would be a fault of this package.
var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	return compile(files)
})

func compile(files fs.ReadFileFS) (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	// Without this the library reads whatever a reference names.
	c.LoadURL = func(string) (io.ReadCloser, error) {
		return nil, errors.New("eventschema: only embedded schemas are loaded")
	}
	names, err := fs.Glob(files, "schemas/*.json")
	if err != nil {
		return nil, err
	}
	schemas := make(map[string]*jsonschema.Schema, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		url := "embedded:///" + name
		if err := c.AddResource(url, bytes.NewReader(text)); err != nil {
			return nil, err
		}
		schema, err := c.Compile(url)
		if err != nil {
			return nil, err
		}
		schemas[strings.TrimSuffix(path.Base(name), ".json")] = schema
	}
	return schemas, nil
}

// validate checks a decoded document against the schema of that name. The library
// panics on some input, so a panic counts as a refusal.
func validate(name string, t events.Type, doc any) (err error) {
	defer func() {
		if recover() != nil {
			err = &events.InvalidError{Type: t, Rule: "made the validator fail"}
		}
	}()
	schemas, err := compiled()
	if err != nil {
		return fmt.Errorf("eventschema: an embedded schema: %w", err)
	}
	err = schemas[name].Validate(doc)
	if err == nil {
		return nil
	}
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return &events.InvalidError{Type: t, Rule: "cannot be validated"}
	}
	for len(broken.Causes) > 0 {
		broken = broken.Causes[0]
	}
	// The message may quote the value. The location has no foreign field name in it:
	// no schema here looks into a field that it does not name.
	return &events.InvalidError{
		Type: t, Path: broken.InstanceLocation,
		Rule: "breaks the schema's " + path.Base(broken.KeywordLocation),
	}
}
