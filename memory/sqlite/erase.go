package sqlite

import (
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

const (
	// addErased adds to the versions at which something of a ref is missed. Of spans that end
	// together the longest says all.
	addErased = `INSERT INTO erased_spans (tenant, ref, since, until)
		SELECT ?1, ` + name0 + `, j.value ->> 1, j.value ->> 2 FROM json_each(?2) j WHERE j.value ->> 1 < j.value ->> 2
		ON CONFLICT DO UPDATE SET since = min(since, excluded.since)`
	removeLabels = `DELETE FROM labels WHERE (ref, id, created, label) IN (SELECT ` + name0 + `, ` + name1 + `, j.value ->> 2, unhex(j.value ->> 3) FROM json_each(?) j)`
	eraseEntries = `UPDATE entries SET died = 0, former = NULL WHERE tenant = ?1 AND (ref, id) IN (SELECT ` + name0 + `, ` + name1 + ` FROM json_each(?2) j)`
	eraseTexts   = `UPDATE texts SET head = NULL, content = '' WHERE entry IN (SELECT value FROM json_each(?))`
)

// erase removes the text of entries and the documents made of them, and records at which
// versions they are missed.
func (c *change) erase(entries []*row) {
	if len(entries) == 0 {
		return
	}
	var missed [][3]any
	var places []driver.Located
	for _, r := range entries {
		for _, s := range append(r.former, span{r.life[0], min(r.life[1], c.version)}) {
			missed = append(missed, [3]any{inHex(r.Ref), s[0], s[1]})
		}
		places = append(places, r.Located())
	}
	c.exec(addErased, c.tenant, inJSON(missed))
	made := c.removeMade(c.tenant, entries)
	for i := range c.documents {
		if slices.Contains(made, c.documents[i].rev) {
			c.documents[i] = storedDocument{}
		}
	}
	c.erased = true
	c.exec(removeLabels, labelsOf(c.tenant, entries...))
	c.exec(eraseTexts, keysOf(entries))
	c.exec(eraseEntries, c.tenant, placesIn(places))
}

// keysOf are the keys of entries, in JSON.
func keysOf(entries []*row) string {
	keys := make([]int64, len(entries))
	for i, r := range entries {
		keys[i] = r.key
	}
	return inJSON(keys)
}
