package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// Search returns the live entries that match q by [driver.Search.Matches], newest
// first. A limit of 0 means all. It reads the scope from the new end, within the
// bounds of q, and the database drops what cannot match; there is no index of words.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
	p := searchOf(s, q)
	for {
		var found []driver.Entry
		var err error
		for e, stop := range st.scan(ctx, s, p, q.Matches) {
			if stop != nil {
				found, err = nil, stop
				break
			}
			found = append(found, e)
		}
		if !errors.Is(err, driver.ErrSnapshotUnavailable) { // else a purge has passed it
			return found, err
		}
	}
}

func searchOf(s driver.Scope, q driver.Search) page {
	p := pageOf(s, driver.Query{Limit: q.Limit, At: q.At})
	if len(q.Tags) > 0 {
		p.nothing = slices.ContainsFunc(q.Tags, func(t string) bool { return !isText(t) })
		p.filter(`e.tags @> $?`, q.Tags)
	}
	if !q.Since.IsZero() {
		p.filter(`e.created_at >= $?`, q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		p.filter(`e.created_at < $?`, q.Until.UnixMilli())
	}
	if text := strings.ToLower(q.Text); text != "" && isText(text) {
		// Of ASCII the database makes the same lower case; the rest is left to Matches.
		p.filter(`(octet_length(e.content) > char_length(e.content) OR strpos(lower(e.content COLLATE "C"), $?) > 0)`, text)
	}
	return p
}
