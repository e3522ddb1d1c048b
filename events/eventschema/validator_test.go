package eventschema

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/openwop/agentmemory/events"
)

// The schema library panics on a number that no big.Rat can hold. Nothing of the
// kind gets through the canonical form; should it, it is a refusal.
func TestPanicIsARefusal(t *testing.T) {
	err := validate("workspace.updated", events.TypeWorkspaceUpdated,
		map[string]any{"path": "p", "version": json.Number("1e3000000000")})
	if !errors.Is(err, events.ErrInvalid) {
		t.Error(err)
	}
}
