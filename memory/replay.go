package memory

import (
	"context"
	"sync"

	"github.com/openwop/agentmemory/events"
)

// Replay makes a [Run] repeat a recorded one (RFC 0041, RFC 0057 §D). Its reads
// come from Reads. A Put writes nothing: it returns the entry under the recorded
// id and instant, and its recorded event goes to the bank's sink in a new envelope.
// A Delete deletes nothing.
type Replay struct {
	// Events are the recorded run's events. Those that are not memory.written are
	// passed over: a host re-emits them with [events.Replay] as it comes to them.
	Events []events.RunEvent
	// Reads answers the reads: [ReplayReads], or [Bank.AsOf] for a fork at one
	// position.
	Reads Reader
}

// replayer hands out the recorded writes of each ref in their order.
type replayer struct {
	writer
	reads Reader

	mu   sync.Mutex
	left map[string][]events.RunEvent // by ref
}

func newReplayer(w writer, r *Replay) (*replayer, error) {
	if r.Reads == nil {
		return nil, fail(ErrValidation, "a replay needs a reader")
	}
	p := &replayer{writer: w, reads: r.Reads, left: map[string][]events.RunEvent{}}
	for _, ev := range r.Events {
		if written, ok := ev.Payload.(events.MemoryWritten); ok {
			p.left[written.MemoryRef] = append(p.left[written.MemoryRef], ev)
		}
	}
	return p, nil
}

// put makes the entry of a draft as of the recorded write, with the identity that it had
// then, and re-emits its event.
func (p *replayer) put(ctx context.Context, ref string, d Draft) (Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.left[ref]
	if len(left) == 0 {
		return Entry{}, fail(ErrDiverged, "no such write was recorded")
	}
	e, err := p.entry(d, false, left[0].Time)
	if err != nil {
		return Entry{}, err
	}
	if sink := p.bank.cfg.Sink; sink != nil {
		again := events.Replay(left[:1], p.runID)
		if err := events.Emit(ctx, sink, again...); err != nil {
			return Entry{}, failWith(ErrInternal, "the sink failed", err)
		}
	}
	p.left[ref] = left[1:]
	e.ID, e.RunID = left[0].Payload.(events.MemoryWritten).MemoryID, left[0].RunID
	e.CreatedAt = left[0].Time
	return e, nil
}
