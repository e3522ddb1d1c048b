package sqlite

import (
	"database/sql"

	"github.com/openwop/agentmemory/memory/driver"
)

// commit writes what a mutation whose conditions hold does to entries, field by field.
func (c *change) commit(m *driver.Mutation) error {
	for i := range m.Put {
		if _, err := c.put(m.Put[i].Ref, &m.Put[i].Entry); err != nil {
			return err
		}
	}
	for _, x := range m.Retire {
		_, err := c.tx.exec(`UPDATE entries SET died = ?, state = ?, successor = ? WHERE tenant = ? AND ref = ? AND id = ?`,
			c.version, x.State, x.For, c.tenant, x.Ref, x.ID)
		if err != nil {
			return err
		}
		c.journal.add(actRetired, x.Ref, x.ID)
	}
	for _, l := range m.Restore {
		if err := c.restore(l.Ref, l.ID); err != nil {
			return err
		}
	}
	erase := map[string][]string{}
	for _, l := range m.Erase {
		erase[l.Ref] = append(erase[l.Ref], l.ID)
	}
	for ref, ids := range erase {
		if err := c.erase(ref, ids); err != nil {
			return err
		}
	}
	return nil
}

// put inserts an entry and reports whether it was not there. Another one under its
// id, or an erased one, is [driver.ErrConflict].
func (c *change) put(ref string, e *driver.Entry) (fresh bool, err error) {
	key, err := c.tx.insert(`INSERT INTO entries (tenant, ref, id, created, expires, born, size) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.tenant, ref, e.ID, e.CreatedAt.UnixMilli(), expiry(e.ExpiresAt), c.version, len(e.Content))
	if err == driver.ErrConflict {
		found, err := c.find(ref, []string{e.ID})
		if h := found[e.ID]; err == nil && (h.Erased || !h.Entry.Equal(e)) {
			err = driver.ErrConflict
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	// The key is beyond that of every text.
	fields := [4][]byte{[]byte(e.RunID), pack(e.Tags), pack(e.Subjects), pack(e.Sources)}
	head := headOf(e.ID, e.CreatedAt.UnixMilli(), expiry(e.ExpiresAt), fields, e.Content)
	if _, err = c.tx.exec(addWords, key, head, e.Content); err != nil {
		return false, err
	}
	for _, subject := range e.Subjects {
		if _, err := c.tx.exec(addLabel, labelOf(c.tenant, subject), key); err != nil {
			return false, err
		}
	}
	c.journal.add(actPut, ref, e.ID)
	return true, nil
}

const addWords = `INSERT INTO texts (entry, head, content) VALUES (?, ?, ?)`

const addLabel = `INSERT INTO labels (label, entry) VALUES (?, ?) ON CONFLICT DO NOTHING`

// restore begins a new life of an entry.
func (c *change) restore(ref, id string) error {
	_, err := c.tx.exec(`INSERT INTO former (entry, born, died)
		SELECT entry, born, died FROM entries WHERE tenant = ? AND ref = ? AND id = ? AND born < died`, c.tenant, ref, id)
	if err != nil {
		return err
	}
	c.journal.add(actRestored, ref, id)
	_, err = c.tx.exec(`UPDATE entries SET born = ?, died = 9223372036854775807, state = 0, successor = ''
		WHERE tenant = ? AND ref = ? AND id = ?`, c.version, c.tenant, ref, id)
	return err
}

// erase removes the text of records of a ref, and records at which versions they are missed.
func (c *change) erase(ref string, ids []string) error {
	found, err := c.find(ref, ids)
	if err != nil {
		return err
	}
	var keys []int64
	var missed []span
	for id, h := range found {
		if h.Erased {
			continue
		}
		c.journal.add(actErased, ref, id)
		keys, missed = append(keys, h.key), append(missed, span{h.born, min(h.died, c.version)})
		if err := c.tx.unlabel(c.tenant, h.key, h.Entry.Subjects); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	list := keyList(keys)
	before, err := collect(c.tx.query, func(rows *sql.Rows) (s span, err error) { return s, wrap(readFailed, rows.Scan(&s.from, &s.to)) },
		`SELECT born, died FROM former WHERE entry IN (SELECT value FROM json_each(?))`, list)
	if err == nil {
		err = c.recordErased(ref, append(missed, before...))
	}
	if err == nil {
		err = c.tx.removeMadeOf(list)
	}
	if err != nil {
		return err
	}
	c.tx.erased = true
	return c.tx.execAll(list, `UPDATE entries SET erased = 1, died = 0 WHERE entry IN (SELECT value FROM json_each(?))`,
		`UPDATE texts SET head = NULL, content = '' WHERE entry IN (SELECT value FROM json_each(?))`)
}

// unlabel takes an entry out of the index of subjects.
func (t *tx) unlabel(tenant string, key int64, subjects []string) error {
	for _, subject := range subjects {
		if _, err := t.exec(`DELETE FROM labels WHERE label = ? AND entry = ?`, labelOf(tenant, subject), key); err != nil {
			return err
		}
	}
	return nil
}
