package crashload

import (
	"context"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// recorder is a store whose mutations are written down: what each is to change before the
// store gets it, and what came of it after the store has answered.
type recorder struct {
	driver.Versioned
	store driver.Adapter
	log   *Log
}

func (r recorder) Apply(ctx context.Context, tenant string, m driver.Mutation) (made driver.Applied, err error) {
	n := note{What: mutate, Tenant: tenant, Ends: m.Retire, Restores: m.Restore, Erases: m.Erase}
	for _, p := range m.Put {
		n.Puts = append(n.Puts, summed{driver.Located{Scope: p.Scope, ID: p.Entry.ID}, sumOfEntry(&p.Entry)})
	}
	for _, x := range m.Documents {
		x.Value = []byte(sum(string(x.Value)))
		n.Swaps = append(n.Swaps, x)
	}
	for _, rec := range m.Events {
		d, err := deliveryOf(rec)
		if err != nil {
			return made, err
		}
		n.Events = append(n.Events, d)
	}
	err = r.log.perform(r.log.mutations, n, func(note) (note, error) {
		made, err = r.Versioned.Apply(ctx, tenant, m)
		return note{Revs: made.Revs}, err
	})
	return made, err
}

func (r recorder) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (hit bool, err error) {
	n := note{What: mutate, Tenant: s.Tenant, Ends: []driver.Retirement{{Located: driver.Located{Scope: s, ID: id}, State: driver.Deleted}}}
	err = r.log.perform(r.log.mutations, n, func(note) (note, error) {
		hit, err = r.Versioned.Delete(ctx, s, id, at)
		return note{Missed: !hit}, err
	})
	return hit, err
}

// sumOfEntry is over what an entry says.
func sumOfEntry(e *driver.Entry) string {
	return sum(e.Content, e.RunID, strings.Join(e.Tags, "\x00"), strings.Join(e.Subjects, "\x00"), strings.Join(e.Sources, "\x00"))
}

// As offers those abilities of the store that the load uses.
func (r recorder) As(target any) (ok bool) {
	switch t := target.(type) {
	case *driver.Transactor:
		*t, ok = r, true
	case *driver.Versioned:
		*t, ok = r, true
	case *driver.Scheduler:
		*t, ok = driver.As[driver.Scheduler](r.store)
	}
	return ok
}
