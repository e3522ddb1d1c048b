package eino_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/eino"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// oracle is what a run must see, in the plainest words: texts by id.
type oracle struct {
	all, sees map[string]string
	subject   map[string]string // by id
	n         int
}

// TestM6_AnyRunSeesWhatAModelOfItSees lets an agent work at random while others do, interrupts it now and then and resumes
// it in another process, and compares all that it recalls with the model.
func TestM6_AnyRunSeesWhatAModelOfItSees(t *testing.T) {
	resumed := 0
	seeds := uint64(25)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			store := inmem.New()
			o := &oracle{all: map[string]string{}, sees: map[string]string{}, subject: map[string]string{}}
			h := newHost(t, store)
			setup := func(h *host) {
				h.tools = []tool.BaseTool{pauses{}}
				h.configure(eino.Config{Ref: ref, RecallTokens: 1 << 20})
			}
			setup(h)
			text := func() (string, string) {
				o.n++
				return fmt.Sprintf("Tea number %d.", o.n), fmt.Sprintf("person:%d", random.IntN(4))
			}
			theirs := func() {
				content, subject := text()
				e := h.Put("acme", memory.Draft{Content: content, Subjects: []string{subject}})
				o.all[e.ID], o.subject[e.ID] = content, subject
			}
			for range random.IntN(6) {
				theirs()
			}
			maps.Copy(o.sees, o.all)

			pick := func(of map[string]string) string {
				ids := slices.Sorted(maps.Keys(of))
				if len(ids) == 0 {
					return "mem_none"
				}
				return ids[random.IntN(len(ids))]
			}
			kind, id, content, subject := "", "", "", ""
			recalls, resumes := 0, 0
			settle := func(messages []*schema.Message) {
				result := messages[len(messages)-1].Content
				switch kind {
				case "remember":
					e := remembered(t, result)
					o.all[e.ID], o.sees[e.ID], o.subject[e.ID] = content, content, subject
				case "delete":
					_, seen := o.sees[id]
					assert.Equal(t, fmt.Sprintf(`{"deleted":%v}`, seen), result)
					delete(o.sees, id)
				case "recall":
					recalls++
					var answer struct {
						Hits []struct{ ID, Content string }
					}
					require.NoError(t, json.Unmarshal([]byte(result), &answer))
					got := map[string]string{}
					for _, hit := range answer.Hits {
						got[hit.ID] = hit.Content
					}
					assert.Equal(t, o.sees, got)
				}
				kind = ""
			}
			step := func(messages []*schema.Message) *schema.Message {
				settle(messages)
				switch random.IntN(6) { // others
				case 0, 1:
					theirs()
				case 2:
					gone := pick(o.all)
					require.NoError(t, h.Pass(t.Context(), memory.JobConfig{ID: "others", Tenant: "acme", Redactor: redact.New(redact.Config{})},
						func(j *memory.Job) error { _, err := j.Delete(t.Context(), ref, gone); return err }))
				case 3:
					if random.IntN(3) == 0 {
						who := fmt.Sprintf("person:%d", random.IntN(4))
						_, err := h.Forget(t.Context(), "acme", who)
						require.NoError(t, err)
						for id := range o.subject {
							if o.subject[id] == who {
								delete(o.sees, id)
								delete(o.all, id)
							}
						}
					}
				}
				o.n++
				call := fmt.Sprint("call-", o.n)
				switch random.IntN(8) { // the agent
				case 0, 1:
					kind = "remember"
					content, subject = text()
					return calls(call, "memory_remember", "content", content, "subjects", []string{subject})(nil)
				case 2, 3:
					kind, id = "delete", pick(o.all)
					return calls(call, "memory_delete", "id", id)(nil)
				case 4:
					return calls(call, "confirm")(nil)
				}
				kind = "recall"
				return calls(call, "memory_recall", "query", "tea", "limit", 100)(nil)
			}
			steps := slices.Repeat([]func([]*schema.Message) *schema.Message{step}, 30)
			steps = append(steps, func(messages []*schema.Message) *schema.Message {
				settle(messages)
				return schema.AssistantMessage("Done.", nil)
			})
			m := script(steps...)
			out := h.ask("acme", "run-1", "Go on.", m)
			for ; out.interrupted != nil; resumes++ {
				require.NoError(t, out.err)
				rest := script(m.steps[len(m.seen):]...)
				next := newHost(t, store)
				next.points = h.points
				next.Advance(h.Now().Sub(next.Now()))
				setup(next)
				h, m = next, rest
				out = h.resume("acme", "run-1", m)
			}
			require.NoError(t, out.err)
			assert.Equal(t, "Done.", out.answer)
			assert.Positive(t, recalls)
			resumed += resumes
		})
	}
	assert.Greater(t, resumed, int(seeds))
}
