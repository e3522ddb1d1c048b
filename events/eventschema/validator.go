package eventschema

import (
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/jsonguard"
	"github.com/openwop/agentmemory/internal/schema"
)

var schemas = schema.New(files)

// decode reads a document for the validator.
func decode(raw []byte) (any, error) { return jsonguard.Decode(raw, events.MaxDocBytes) }

// validate checks a decoded document against the schema of that name.
func validate(name string, t events.Type, doc any) error {
	broken, err := schemas.Validate(name, doc)
	switch {
	case errors.Is(err, schema.ErrUnfit):
		return &events.InvalidError{Type: t, Rule: "made the validator fail"}
	case err != nil:
		return fmt.Errorf("eventschema: %w", err)
	case len(broken) == 0:
		return nil
	}
	// No schema here describes a field that it does not name, so the path has no
	// foreign name in it.
	return &events.InvalidError{Type: t, Path: broken[0].Path, Rule: "breaks the schema's " + broken[0].Rule}
}
