package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// toldDefects tell what is secret, or has been erased.
var toldDefects = []defect{
	{"prints what it holds", "SR-1/string", func(b *broken) {
		b.text = func() string {
			return fmt.Sprint(b.known(func(driver.Scope) bool { return true }), b.was.entries)
		}
	}},
	{"names the content in a conflict", "SR-1/errors-adapter", func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
			err := b.Store.Put(ctx, s, e)
			if err != nil {
				err = fmt.Errorf("put %q: %w", e.Content, err)
			}
			return err
		}
	}},
	{"names what is not valid", "DOCUMENT/refused-names", func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			made, err := b.Store.Apply(ctx, tenant, m)
			if errors.Is(err, driver.ErrValidation) {
				err = fmt.Errorf("%w: %v", err, m)
			}
			return made, err
		}
	}},
	{"says that another tenant has the id", "CTI-1/names-tenant", func(b *broken) {
		b.get = func(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
			e, err := b.Store.Get(ctx, s, id, at)
			for _, other := range b.known(func(o driver.Scope) bool { return o.Tenant != s.Tenant }) {
				if _, foreign := b.Store.Get(ctx, other, id, at); err != nil && foreign == nil {
					return e, fmt.Errorf("not yours: %w", err)
				}
			}
			return e, err
		}
	}},
	{"keeps the digest of what was erased", "SR-1/erased", lingering(func(d driver.Document) bool { return strings.Contains(string(d.Value), canary) })},
	{"keeps the text in old versions", "SR-1/erased", listed(func(b *broken, s driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry {
		if q.Version == "" {
			return found
		}
		return append(found, b.others(s, found, func(r driver.Record) bool { return r.Erased && r.State == driver.Deleted })...)
	})},
	{"has an index that an erasure does not reach", "FORGET/erased", listed(func(b *broken, s driver.Scope, _ driver.Query, found []driver.Entry) []driver.Entry {
		return append(found, b.others(s, found, func(r driver.Record) bool { return r.Erased })...)
	})},
	{"writes back the text that a scrub took out", "SR-1/late-secret", changed(func(e driver.Entry) driver.Entry {
		e.Content = strings.ReplaceAll(e.Content, "[REDACTED:k]", "[redacted]")
		return e
	})},
}
