package crashload

import (
	"context"

	"github.com/openwop/agentmemory/memory/driver"
)

// recorder is a store whose mutations of documents are written down: what each is to make
// of them before the store gets it, and their revisions after the store has acknowledged
// it.
type recorder struct {
	driver.Versioned
	store driver.Adapter
	log   *Log
}

func (r recorder) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if len(m.Documents) == 0 {
		return r.Versioned.Apply(ctx, tenant, m)
	}
	n := note{What: swap, Tenant: tenant}
	for _, x := range m.Documents {
		x.Value = []byte(sum(string(x.Value)))
		n.Swaps = append(n.Swaps, x)
	}
	n, err := r.log.intend(r.log.swaps, n)
	if err != nil {
		return driver.Applied{}, err
	}
	made, err := r.Versioned.Apply(ctx, tenant, m)
	if broken := r.log.swaps.conclude(n, note{Revs: made.Revs}, err); broken != nil {
		return driver.Applied{}, broken
	}
	return made, err
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
	case *driver.Scanner:
		*t, ok = driver.As[driver.Scanner](r.store)
	}
	return ok
}
