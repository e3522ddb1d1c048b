package inmem

import (
	"context"

	"github.com/openwop/agentmemory/events"
)

// Emit puts events into the log of their runs, all or none. It makes no version.
func (st *Store) Emit(ctx context.Context, recs ...events.Record) error {
	return st.log.Emit(ctx, recs...)
}

// Read returns events of a run from a sequence on, see [events.RunLog].
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	return st.log.Read(ctx, tenant, runID, from, limit)
}
