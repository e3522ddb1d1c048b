package memory

import "context"

// Relay is the part of a round that delivers events.
func (b *Bank) Relay(ctx context.Context) (Maintained, error) { return b.relay(ctx) }
