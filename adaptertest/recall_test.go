package adaptertest

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// ofRecall lets the cases of the law through.
func ofRecall(name string) bool { return strings.HasPrefix(name, "RECALL/") }

// The law finds stores that answer wrongly where a recall asks.
func TestRecallLawFindsBrokenStores(t *testing.T) {
	for name, defect := range map[string]func(*broken){
		"no defect": func(*broken) {},
		"lists another tenant's": func(b *broken) {
			b.from["list-at"] = func(s driver.Scope) []driver.Scope { return []driver.Scope{s, {Tenant: "globex", Ref: s.Ref}} }
			b.from["get-at"] = b.from["list-at"]
		},
		"does not tell what was put": func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				c, err := b.in.Changes(ctx, s, from, to)
				c.Put = nil
				return c, err
			}
		},
		"does not tell what was retired": func(b *broken) {
			b.changes = func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
				c, err := b.in.Changes(ctx, s, from, to)
				c.Retired = nil
				return c, err
			}
		},
		"keeps documents of what it erases": func(b *broken) {
			var kept []driver.Document
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				for _, x := range m.Documents {
					if x.Class == driver.Content {
						kept = append(kept, x.Document)
					}
				}
				return b.in.Apply(ctx, tenant, m)
			}
			documents := b.documents
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				return func(yield func(driver.Document, error) bool) {
					for d, err := range documents(ctx, q) {
						if !yield(d, err) {
							return
						}
					}
					for _, d := range kept {
						if d.Tenant == q.Tenant && d.Ref == q.Ref && q.Kind == "" && !yield(d, nil) {
							return
						}
					}
				}
			}
		},
	} {
		report, err := configOf(defect).check(ctx, ofRecall)
		require.NoError(t, err)
		require.Equal(t, name == "no defect", report.OK(), "%s: %v", name, report)
	}
}
