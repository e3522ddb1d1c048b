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
	assert.Regexp(t, `(?m)^indexEmitted +no +the host declares no workspace +/memory/distillation/indexEmitted$`, m.Explain())
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`{}`, `{}`, ""},
		{`{"b":1,"a":{"x":[1,2]}}`, `{"a":{"x":[1,2]},"b":1}`, ""},
		{`{"a":1,"a-b":1}`, `{"a":{"c":1},"a-b":2}`, "- /a 1\n- /a-b 1\n+ /a-b 2\n+ /a/c 1\n"},
		{`{"a":{}}`, `{}`, "- /a {}\n"},
		{`{}`, `{"a":null}`, "+ /a null\n"},
		{`{"a/b~c\"":1}`, `{}`, `- /a~1b~0c\" 1` + "\n"},
		{`{"agents":{"commitments":{"supported":true}}}`, `{"agents":{"commitments":{"supported":true,"fireConditions":["predicate"]}}}`,
			"- commitments: yes, time\n+ commitments: yes, predicate\n+ /agents/commitments/fireConditions [\"predicate\"]\n"},
	} {
		assert.Equal(t, c.want, capability.Diff(parse(t, c.before), parse(t, c.after)), c.after)
	}
	var zero capability.Model
	assert.Empty(t, capability.Diff(&zero, parse(t, `{}`)))

	// A foreign document cannot play tricks on a terminal.
	text := capability.Diff(&zero, parse(t, `{"\u001b[2J\n":"\u009b2J\u202e\udb40\udc41\u0007\n"}`))
	assert.Equal(t, 1, strings.Count(text, "\n"))
	assert.Equal(t, `+ /\u001b[2J\n "\u009b2J\u202e\udb40\udc41\u0007\n"`, strings.TrimSpace(text))
}
