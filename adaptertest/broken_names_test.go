package adaptertest

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// foldedDefects find documents by a group that only looks like theirs, and take the logs of
// tenants whose names begin alike.
func foldedDefects() []defect {
	replace := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	cut := func(n int) func(string) string { return func(s string) string { return s[:min(n, len(s))] } }
	all := []defect{{"drops the logs of tenants whose names begin alike, if they hold entries", "CTI-1/names-tenant", func(b *broken) {
		var lost memo[string, bool]
		b.drop = func(ctx context.Context, tenant string, limit int) (bool, error) {
			for _, s := range b.known(func(s driver.Scope) bool { return strings.HasPrefix(s.Tenant, tenant) }) {
				lost.set(s.Tenant, true)
			}
			return b.in.DropTenant(ctx, tenant, limit)
		}
		b.readLog = func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
			if lost.get(tenant) {
				return nil, ctx.Err()
			}
			return b.in.Read(ctx, tenant, run, from, limit)
		}
	}}}
	for name, fold := range map[string]func(string) string{
		"accents":                    replace("é", "e", "e\u0301", "e"),
		"kinds of spaces":            replace("\u00a0", " "),
		"escapes":                    replace("%20", " ", "%2F", "/"),
		"wide letters":               replace("\uff41", "a"),
		"paths":                      replace("/../", "/", "/./", "/", "//", "/"),
		"the last byte of the limit": cut(driver.MaxKeyBytes - 1),
		"the word null":              func(s string) string { return strings.TrimPrefix(strings.ToLower(s), "null") },
	} {
		all = append(all, defect{"takes groups for each other but for " + name, "CTI-1/names-group", func(b *broken) {
			b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
				wanted := q.Group
				q.Group = ""
				found, err := collect(b.in.Documents(ctx, q))
				return sequence(slices.DeleteFunc(found, func(d driver.Document) bool { return wanted != "" && fold(d.Group) != fold(wanted) }), err)
			}
		}})
	}
	return all
}

// textDefects convert a text that they keep.
func textDefects() []defect {
	var all []defect
	for name, pair := range map[string][2]string{
		"no-break spaces": {"\u00a0", " "}, "soft hyphens": {"\u00ad", ""}, "noncharacters": {"\uffff", "\ufffd"}, "escapes": {"%20", " "},
	} {
		convert := func(text string) string { return strings.ReplaceAll(text, pair[0], pair[1]) }
		all = append(all,
			defect{"puts content without " + name, "RECORD/texts", changed(func(e driver.Entry) driver.Entry { e.Content = convert(e.Content); return e })},
			defect{"puts runs without " + name, "RECORD/texts", changed(func(e driver.Entry) driver.Entry { e.RunID = convert(e.RunID); return e })},
			defect{"keeps nodes of events without " + name, "RECORD/texts", mutated(func(_ *broken, m *driver.Mutation) {
				m.Events = slices.Clone(m.Events)
				for i := range m.Events {
					m.Events[i].NodeID = convert(m.Events[i].NodeID)
				}
			})})
	}
	return append(all, defect{"goes on behind a cursor by the first 100 bytes of ids", "ORDER/cursor-ties", func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			found, err := b.in.List(ctx, s, q)
			return slices.DeleteFunc(slices.Clone(found), func(e driver.Entry) bool {
				return e.CreatedAt.Equal(q.After.CreatedAt) && e.ID[:min(len(e.ID), 100)] == q.After.ID[:min(len(q.After.ID), 100)]
			}), err
		}
	}})
}
