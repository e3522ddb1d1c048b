package sqlite

import (
	"cmp"
	"database/sql"
	"slices"
)

const (
	removeLabels = `DELETE FROM labels WHERE (label, entry) IN (SELECT unhex(j.value ->> 0), j.value ->> 1 FROM json_each(?) j)`
	eraseTexts   = `UPDATE texts SET head = NULL, content = '' WHERE entry IN (SELECT value FROM json_each(?))`
)

// erase removes the text of entries and the documents made of them, and records at which
// versions they are missed.
func (c *change) erase(entries []*row) {
	if len(entries) == 0 {
		return
	}
	missed := map[string][]span{}
	var keys []int64
	for _, r := range entries {
		missed[r.Ref] = append(append(missed[r.Ref], span{r.life[0], min(r.life[1], c.version)}), r.former...)
		keys = append(keys, r.key)
		r.life[1], r.former = 0, nil
	}
	for ref, spans := range missed {
		c.recordErased(ref, mergeSpans(spans))
	}
	c.removeMade(keys)
	c.erased = true
	c.exec(removeLabels, labelsOf(c.tenant, entries...))
	c.exec(eraseTexts, inJSON(keys))
}

// recordErased adds spans that are apart to those at which an entry of a ref is missed. These stay
// apart from each other: those that touch are joined.
func (c *change) recordErased(ref string, spans []span) {
	var touched []span
	var begins []int64 // of the touched
	for _, s := range spans {
		// Spans that are apart end in the order in which they begin, so that the first
		// one that does not touch s is the last to look at.
		c.query(func(rows *sql.Rows) (bool, error) {
			var x span
			if err := rows.Scan(&x[0], &x[1]); err != nil || x[1] < s[0] {
				return false, wrap(readFailed, err)
			}
			touched, begins = append(touched, x), append(begins, x[0])
			return true, nil
		}, `SELECT since, until FROM erased_spans WHERE tenant = ? AND ref = ? AND since <= ? ORDER BY since DESC`, c.tenant, ref, s[1])
	}
	if len(touched) > 0 {
		c.exec(`DELETE FROM erased_spans WHERE tenant = ? AND ref = ? AND since IN (SELECT value FROM json_each(?))`, c.tenant, ref, inJSON(begins))
	}
	if spans = mergeSpans(append(touched, spans...)); len(spans) > 0 {
		c.exec(`INSERT INTO erased_spans (tenant, ref, since, until) SELECT ?, ?, j.value ->> 0, j.value ->> 1 FROM json_each(?) j`,
			c.tenant, ref, inJSON(spans))
	}
}

// mergeSpans returns what spans cover, as spans that are apart and ascend.
func mergeSpans(spans []span) (apart []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a[0], b[0]) })
	for _, s := range spans {
		last := len(apart) - 1
		switch {
		case s[0] >= s[1]:
		case last >= 0 && s[0] <= apart[last][1]:
			apart[last][1] = max(apart[last][1], s[1])
		default:
			apart = append(apart, s)
		}
	}
	return apart
}
