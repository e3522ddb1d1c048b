package capability_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/openwop/agentmemory/capability"
)

func TestExplainHasEveryLine(t *testing.T) {
	table := derive(t, everything(t)).Explain()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	assert.Len(t, lines, 1+8+2+2+1)
	for i, d := range capability.Dimensions() {
		assert.True(t, strings.HasPrefix(lines[i+1], string(d)+" "), lines[i+1])
	}
	assert.NotContains(t, table, " no ")
	assert.Contains(t, lines[13], "core, read, write and long-term-durability")
}

// An operator reads why the index is not claimed.
func TestA1_ExplainSaysWhyTheIndexIsNotClaimed(t *testing.T) {
	in := everything(t)
	in.Declare, in.ScheduledDistillation = []byte(`{}`), false
	m := derive(t, in)
	assert.Regexp(t, `(?m)^indexEmitted +no +the host declares no workspace: if it serves files, declare workspace.supported +/memory/distillation/indexEmitted$`, m.Explain())
}
