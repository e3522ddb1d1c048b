package adaptertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// reach notes in which states the parts of a store's mutations meet entries.
type reach struct {
	store    *inmem.Store
	restored map[driver.Located]bool
	met      map[string]bool
}

func (r *reach) meets(part string, l driver.Located, at time.Time) {
	recs, _ := r.store.Lookup(ctx, l.Scope, []string{l.ID})
	state := "absent"
	if len(recs) > 0 {
		switch rec := &recs[0]; {
		case rec.Erased:
			state = "erased"
		case rec.State != driver.Live:
			state = rec.State.String()
		case !rec.Entry.LiveAt(at):
			state = "expired"
		case r.restored[l]:
			state = "restored"
		default:
			state = "live"
		}
	}
	r.met[part+" of "+state] = true
}

func (r *reach) see(c *Call) {
	switch c.Method {
	case "Put":
		r.meets("put", driver.Located{Scope: c.given[0].(driver.Scope), ID: c.given[1].(driver.Entry).ID}, time.Time{})
	case "Delete":
		r.meets("delete", driver.Located{Scope: c.given[0].(driver.Scope), ID: c.given[1].(string)}, c.given[2].(time.Time))
	case "Apply":
		m := c.given[1].(driver.Mutation)
		for part, places := range map[string][]driver.Located{"expect live": m.Live, "restore": m.Restore, "erase": m.Erase} {
			for _, l := range places {
				r.meets(part, l, m.At)
			}
		}
		for _, p := range m.Put {
			r.meets("put", driver.Located{Scope: p.Scope, ID: p.Entry.ID}, m.At)
		}
		for _, x := range m.Retire {
			r.meets("retire", x.Located, m.At)
			if x.For != "" {
				r.meets("succeed", driver.Located{Scope: x.Scope, ID: x.For}, m.At)
			}
		}
		for _, x := range m.Documents {
			for _, id := range x.Of {
				r.meets("make a document", driver.Located{Scope: x.Scope, ID: id}, m.At)
			}
		}
		for _, l := range m.Restore {
			r.restored[l] = true
		}
	}
}

// Each part of a mutation meets entries in each state in some generated sequence of -short, with one of three
// seeds.
func TestT1_TheGeneratorReachesEachState(t *testing.T) {
	met := map[string]bool{}
	generated := []string{"IDEMPOTENCE/again", "BATCH/parts", "DOCUMENT/steps", "FORGET/erased", "VIEW/lives", "MODEL/short", "MODEL/random"}
	for seed := range uint64(3) {
		report, err := Config{Seed: seed, Short: true, New: func(context.Context) (driver.Adapter, error) {
			r := &reach{inmem.New(), map[driver.Located]bool{}, met}
			return Inject(r.store, func(ctx context.Context, c *Call, next func(context.Context) error) error {
				r.see(c)
				return next(ctx)
			}), nil
		}}.check(ctx, cases(generated...))
		require.NoError(t, err)
		require.True(t, report.OK(), report)
	}
	for _, part := range []string{"put", "delete", "expect live", "retire", "succeed", "restore", "erase", "make a document"} {
		for _, state := range []string{"absent", "live", "expired", "deleted", "merged", "superseded", "erased", "restored"} {
			assert.True(t, met[part+" of "+state], "%s of %s", part, state)
		}
	}
}
