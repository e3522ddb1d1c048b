package memory_test

import (
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// chars counts characters, as the protocol's "chars" does.
type chars struct{}

func (chars) Name() string          { return "chars" }
func (chars) Count(text string) int { return utf8.RuneCountInString(text) }

// S5: the rules of RFC 0113 word by word, over the list without a budget.
func TestS5_BudgetsHoldExactly(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.TokenCounter = chars{} })
	r := rand.New(rand.NewPCG(1, 5))
	job := h.job("acme")
	for range 700 {
		text := ""
		for range r.IntN(30) {
			text += string([]rune("aé日😀")[r.IntN(4)])
		}
		put(t, job, "m", text)
		h.clock.Advance(time.Second)
	}
	run := h.run("r", "acme")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	for name, reader := range map[string]memory.Reader{"live": h.Reader("acme"), "run": run.Memory(), "token": asOf} {
		all, err := reader.List(ctx, "m", memory.ListOptions{Limit: memory.MaxListLimit})
		require.NoError(t, err)
		require.Len(t, all, 700)
		for range seeds(200) {
			o := memory.ListOptions{TokenBudget: 1 + r.IntN(12000), Limit: r.IntN(900)}
			if r.IntN(2) == 0 {
				o.TokenBudget = 1 + r.IntN(60)
			}
			limit := o.Limit
			if limit == 0 {
				limit = memory.DefaultListLimit
			}
			want, used := []memory.Entry{}, 0
			for _, e := range all {
				n := utf8.RuneCountInString(e.Content)
				if n > o.TokenBudget {
					continue
				}
				if used+n > o.TokenBudget || len(want) == limit {
					break
				}
				used += n
				want = append(want, e)
			}
			got, err := reader.List(ctx, "m", o)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s %+v", name, o)
		}
		_, err = reader.List(ctx, "m", memory.ListOptions{TokenBudget: -1})
		require.ErrorIs(t, err, memory.ErrValidation)
		none, err := reader.List(ctx, "foreign", memory.ListOptions{TokenBudget: 5})
		require.NoError(t, err)
		require.Equal(t, []memory.Entry{}, none)
	}
	_, err = newHost(t).Reader("acme").List(ctx, "m", memory.ListOptions{TokenBudget: 1})
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

// panicky counts until it does not.
type panicky struct{ chars }

func (panicky) Count(string) int { panic("at a secret") }

func TestM2_ATokenCounterThatPanicsIsContained(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.TokenCounter = panicky{} })
	put(t, h.job("acme"), "m", "x")
	_, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{TokenBudget: 10})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "secret")
}
