package capability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// What a host's author asks for in vain is named, with what to declare or to set.
func TestM2_MistakesAreNamed(t *testing.T) {
	bank, err := memory.New(inmem.New(), memory.Config{})
	require.NoError(t, err)
	derive := func(in capability.Inputs) error { in.Bank = bank; _, err := capability.Derive(in); return err }
	declare := func(doc string) error { return derive(capability.Inputs{Declare: []byte(doc)}) }
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"no JSON": {declare(`{`), capability.ErrDocument,
			"capability: invalid discovery document: it is not JSON in UTF-8"},
		"a list": {declare(`[]`), capability.ErrDocument,
			"capability: invalid discovery document: it is not a JSON object"},
		"an unknown dimension": {derive(capability.Inputs{Without: []capability.Dimension{"forgetting"}}), capability.ErrDimension,
			"capability: no such dimension: Dimensions has the names of all eight"},
		"a claim of write events": {declare(`{"memory":{"attribution":{"supported":true,"emitsWriteEvents":true}}}`), capability.ErrClaim,
			"capability: the host would claim more than it has: /memory/attribution/supported: the bank announces no writes: set memory.Config.WriteEvents"},
		"a claim of budgets": {declare(`{"memory":{"injectionBudget":{"supported":true,"tokenCounter":"chars"}}}`), capability.ErrClaim,
			"capability: the host would claim more than it has: /memory/injectionBudget/supported: the bank has no token counter: set memory.Config.TokenCounter"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
	parsed, err := capability.Parse([]byte(`{"agents":{"memoryBackends":["long-term"]}}`))
	require.NoError(t, err)
	require.Equal(t, "multiAgent.executionModel.version is absent: declare 2 if runs replay memory reads", parsed.Status(capability.Replay).Why)
}
