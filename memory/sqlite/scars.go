package sqlite

import (
	"cmp"
	"database/sql"
	"slices"
)

// span is the versions from one to before another.
type span struct{ from, to int64 }

// recordErased adds spans to those at which an entry of a ref is missed. The spans of a ref stay
// apart from each other: those that touch are joined.
func (c *change) recordErased(ref string, spans []span) error {
	for _, s := range mergeSpans(spans) {
		// Spans that are apart end in the order in which they begin, so that the first
		// one that does not touch s is the last to look at.
		var touched []span
		err := c.tx.query(func(rows *sql.Rows) (bool, error) {
			var x span
			if err := rows.Scan(&x.from, &x.to); err != nil {
				return false, wrap(readFailed, err)
			}
			if x.to < s.from {
				return false, nil
			}
			touched = append(touched, x)
			return true, nil
		}, `SELECT since, until FROM scars WHERE tenant = ? AND ref = ? AND since <= ? ORDER BY since DESC`, c.tenant, ref, s.to)
		if err != nil {
			return err
		}
		for _, x := range touched {
			if _, err := c.tx.exec(`DELETE FROM scars WHERE tenant = ? AND ref = ? AND since = ?`, c.tenant, ref, x.from); err != nil {
				return err
			}
			s = span{min(s.from, x.from), max(s.to, x.to)}
		}
		if _, err := c.tx.exec(`INSERT INTO scars (tenant, ref, since, until) VALUES (?, ?, ?, ?)`, c.tenant, ref, s.from, s.to); err != nil {
			return err
		}
	}
	return nil
}

// mergeSpans returns what spans cover, as spans that are apart and ascend.
func mergeSpans(spans []span) (apart []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		last := len(apart) - 1
		switch {
		case s.from >= s.to:
		case last >= 0 && s.from <= apart[last].to:
			apart[last].to = max(apart[last].to, s.to)
		default:
			apart = append(apart, s)
		}
	}
	return apart
}
