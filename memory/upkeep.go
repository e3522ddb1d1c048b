package memory

import (
	"context"
	"fmt"
	"sync"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// UntilDue is the kind of machinery that [Bank.Maintain] removes once its Due has passed, such as
// the journals of passes. Its keys begin with the name of the engine that keeps it.
const UntilDue = "memory/until-due"

// Upkeep is what an engine needs from time to time.
type Upkeep struct {
	// Kind names the kind of engine, of which a bank has one.
	Kind string
	// Config is what tells another engine from the same one, as fmt's %#v shows it: pointers by
	// their address. It holds no functions, which cannot be compared.
	Config any
	// Round is called in each round of [Bank.Maintain], and does what is due, of all tenants. It
	// has no time but the context's, and reads no more than it does.
	Round func(ctx context.Context) error
}

// upkeeps are those of the engines that were made over a bank.
type upkeeps struct {
	mu  sync.Mutex
	all []Upkeep
}

// Register adds an engine's upkeep to the rounds of [Bank.Maintain]. An engine calls it when it is
// made. A second one of the same kind and configuration changes nothing, and one of another
// configuration fails with [ErrConflict].
func (e Engines) Register(u Upkeep) error {
	if u.Kind == "" || u.Round == nil {
		return fail(ErrValidation, "Upkeep.Kind or Upkeep.Round is not set")
	}
	k := &e.bank.keeper.duties
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, first := range k.all {
		if first.Kind != u.Kind {
			continue
		}
		if fmt.Sprintf("%#v", first.Config) != fmt.Sprintf("%#v", u.Config) {
			return fail(ErrConflict, "the bank has an engine of this kind with another configuration: use that one, or make another bank")
		}
		return nil
	}
	k.all = append(k.all, u)
	return nil
}

// round does a round of each engine, and returns what went wrong.
func (k *upkeeps) round(ctx context.Context) (failed []error) {
	k.mu.Lock()
	all := k.all[:len(k.all):len(k.all)]
	k.mu.Unlock()
	for _, u := range all {
		part := "the upkeep of " + u.Kind
		_, err := hostcall.Call(ctx, part, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, u.Round(ctx) })
		if hostcall.Misbehaved(err) {
			err = hostFailed(ctx, part, err)
		}
		failed = append(failed, err)
	}
	return failed
}
