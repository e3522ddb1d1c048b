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

// upkeep is what an engine needs from time to time.
type upkeep struct {
	kind, config string
	round        func(context.Context) error
}

// upkeeps are those of the engines that were made over a bank.
type upkeeps struct {
	mu  sync.Mutex
	all []upkeep
}

// Register adds what an engine needs from time to time to the rounds of [Bank.Maintain]. An engine
// calls it when it is made.
//
// A bank has one engine of a kind. Another one whose config is the same as fmt's %#v shows it,
// pointers by their address, changes nothing, and one with a different config fails with
// [ErrConflict]; config must hold no functions, which cannot be compared. Each round calls round,
// which does what is due, of all tenants, and no more; it has no time but the context's.
func (e Engines) Register(kind string, config any, round func(context.Context) error) error {
	if kind == "" || round == nil {
		return fail(ErrValidation, "the kind of the engine is empty, or its round is nil")
	}
	u := upkeep{kind, fmt.Sprintf("%#v", config), round}
	k := &e.bank.keeper.duties
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, first := range k.all {
		if first.kind == kind && first.config != u.config {
			return fail(ErrConflict, "the bank has an engine of this kind with another configuration: use that one, or make another bank")
		}
		if first.kind == kind {
			return nil
		}
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
		part := "the upkeep of " + u.kind
		_, err := hostcall.Call(ctx, part, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, u.round(ctx) })
		if hostcall.Misbehaved(err) {
			err = hostFailed(ctx, part, err)
		}
		failed = append(failed, err)
	}
	return failed
}
