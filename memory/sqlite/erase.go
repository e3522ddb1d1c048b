package sqlite

const (
	// addErased adds to the versions at which something of a ref is missed. Of spans that end
	// together the longest says all.
	addErased = `INSERT INTO erased_spans (tenant, ref, since, until)
		SELECT ?1, ` + name0 + `, j.value ->> 1, j.value ->> 2 FROM json_each(?2) j WHERE j.value ->> 1 < j.value ->> 2
		ON CONFLICT DO UPDATE SET since = min(since, excluded.since)`
	removeLabels = `DELETE FROM labels WHERE (label, entry) IN (SELECT unhex(j.value ->> 0), j.value ->> 1 FROM json_each(?) j)`
	eraseTexts   = `UPDATE texts SET head = NULL, content = '' WHERE entry IN (SELECT value FROM json_each(?))`
)

// erase removes the text of entries and the documents made of them, and records at which
// versions they are missed.
func (c *change) erase(entries []*row) {
	if len(entries) == 0 {
		return
	}
	var missed [][3]any
	var keys []int64
	for _, r := range entries {
		for _, s := range append(r.former, span{r.life[0], min(r.life[1], c.version)}) {
			missed = append(missed, [3]any{inHex(r.Ref), s[0], s[1]})
		}
		keys = append(keys, r.key)
		r.life[1], r.former = 0, nil
	}
	c.exec(addErased, c.tenant, inJSON(missed))
	c.removeMade(keys)
	c.erased = true
	c.exec(removeLabels, labelsOf(c.tenant, entries...))
	c.exec(eraseTexts, inJSON(keys))
}
