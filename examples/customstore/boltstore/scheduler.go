package boltstore

import (
	"context"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Scheduler = (*Store)(nil)

// Due returns the documents of a kind, of all tenants, that are due at the instant at.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) (docs []driver.Document, err error) {
	err = st.view(ctx, func(t *tx) error {
		prefix := key(kind)
		for k, found := range t.ascend(byDue, prefix, prefix) {
			if len(docs) >= limit || string(k) >= string(with(prefix, millis(at)+1, "")) {
				break
			}
			docs = append(docs, *t.document(found, false))
		}
		return nil
	})
	return docs, err
}
