package otel_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// actor performs random operations on a world, and writes down what came of each without the names that a
// bank issues.
type actor struct {
	*world
	runs   []*memory.Run
	tokens []memory.Token
	ids    []string
	passes int
	seen   []string
}

// note writes down entries by what they say and when they were first seen.
func (a *actor) note(op string, err error, entries ...memory.Entry) {
	line := fmt.Sprintf("%s %s", op, memory.CodeOf(err))
	for _, e := range entries {
		line += fmt.Sprintf(" [%d %q %q %v %v]", a.number(e.ID), e.Content, e.Tags, e.CreatedAt, e.ExpiresAt)
	}
	a.seen = append(a.seen, line)
}

func (a *actor) number(id string) int {
	for i, known := range a.ids {
		if known == id {
			return i
		}
	}
	a.ids = append(a.ids, id)
	return len(a.ids) - 1
}

func (a *actor) run(random *rand.Rand) *memory.Run { return a.runs[random.IntN(len(a.runs))] }

func (a *actor) start(owner string, resume memory.Token) {
	r, err := a.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("run-", len(a.runs)), Tenant: owner, Redactor: a.vault(), Resume: resume})
	if a.note("start", err); err == nil {
		a.runs = append(a.runs, r)
	}
}

// step performs one operation. It draws the same numbers in every world.
func (a *actor) step(random *rand.Rand) {
	refs := []string{"a", "b", "../a"}
	at := refs[random.IntN(len(refs))]
	owner := []string{tenant, "other"}[random.IntN(2)]
	run := a.run(random)
	pick := random.IntN(1 << 30)
	id := "nothing"
	if len(a.ids) > 0 {
		id = a.ids[pick%len(a.ids)]
	}
	switch random.IntN(15) {
	case 0, 1, 2, 3:
		d := memory.Draft{Content: fmt.Sprintf("note %d", random.IntN(6)), Tags: []string{"t"}, Subjects: []string{fmt.Sprint("s", pick%3)}}
		if pick%3 == 0 {
			d.Content += " with " + secret
			d.Tags = append(d.Tags, secret)
		}
		if pick%4 == 0 {
			d.TTL = time.Duration(pick%50) * time.Minute
		}
		if pick%5 == 0 {
			d.Key = fmt.Sprint("key-", pick%3)
		}
		e, err := run.Put(ctx, at, d)
		if err != nil {
			e = memory.Entry{}
		}
		a.note("put", err, e)
	case 4:
		entries, err := run.Memory().List(ctx, at, memory.ListOptions{Limit: pick % 5})
		a.note("list", err, entries...)
	case 5:
		entries, err := a.bank.Reader(owner).List(ctx, at, memory.ListOptions{})
		a.note("live", err, entries...)
	case 6:
		e, err := run.Memory().Get(ctx, at, id)
		a.note("get", err, e)
	case 7:
		hits, err := a.bank.Search(ctx, owner, at, memory.Search{Text: "note 1"})
		for _, h := range hits {
			a.note("hit", err, h.Entry)
		}
		a.note("search live", err)
	case 8:
		hits, err := run.Search(ctx, at, memory.Search{Text: "note 2"})
		for _, h := range hits {
			a.note("hit", err, h.Entry)
		}
		a.note("search", err)
	case 9:
		deleted, err := run.Delete(ctx, at, id)
		a.note(fmt.Sprint("delete ", deleted), err)
	case 10:
		done, err := a.bank.Forget(ctx, owner, fmt.Sprint("s", pick%3))
		a.note(fmt.Sprint("forget ", len(done.Erased), len(done.Restored)), err)
	case 11:
		if token, err := run.Token(ctx); err == nil {
			a.tokens = append(a.tokens, token)
		}
		a.advance(time.Duration(pick%20) * time.Minute)
	case 12:
		if len(a.tokens) == 0 {
			return
		}
		token := a.tokens[pick%len(a.tokens)]
		a.start(owner, token)
		if then, err := a.bank.AsOf(ctx, owner, token); err == nil {
			entries, err := then.List(ctx, at, memory.ListOptions{})
			a.note("then", err, entries...)
		}
	case 13:
		a.start(owner, "")
	case 14:
		a.passes++
		err := a.bank.Pass(ctx, memory.JobConfig{ID: fmt.Sprint("pass-", a.passes), Tenant: owner, Redactor: a.vault()}, func(j *memory.Job) error {
			if pick%2 == 0 {
				_, err := a.reconciler.Run(ctx, j, at, consolidate.Options{})
				return err
			}
			_, err := a.distiller.Compact(ctx, j, at, distill.Options{}) // an archive's address is made from ids, which differ
			return err
		})
		done, failed := a.bank.Maintain(ctx)
		a.note(fmt.Sprint("pass ", done.Delivered, done.Purged), err)
		a.note("maintain", failed)
	}
}

// A bank does the same with a tracer and without one: isolation of tenants (CTI-1), redaction (SR-1),
// expiry, views and keys of idempotence among it.
func TestTheSameWithATracer(t *testing.T) {
	lines := map[string]int{}
	for seed := range uint64(12) {
		actors := []*actor{{world: newWorld(t, false)}, {world: newWorld(t, true)}}
		for _, a := range actors {
			random := rand.New(rand.NewPCG(seed, 24))
			a.start(tenant, "")
			a.start("other", "")
			for range 250 {
				a.step(random)
			}
		}
		require.Equal(t, actors[1].seen, actors[0].seen, "seed %d", seed)
		for _, line := range actors[0].seen {
			require.NotContains(t, line, secret)
			op, _, _ := strings.Cut(line, " [")
			lines[op]++
		}
		require.NotEmpty(t, actors[0].ended())
		require.Empty(t, actors[1].ended())
	}
	for _, op := range []string{
		"put ", "put validation_error", "put conflict", "get ", "get not_found", "list ", "live ", "search ", "hit ",
		"delete true ", "forget 1 0 ", "then ", "start ", "start replay_memory_snapshot_unavailable", "pass 0 0 ", "maintain ",
	} {
		require.Positive(t, lines[op], "%q of %v", op, lines)
	}
}
