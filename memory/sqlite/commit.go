package sqlite

import (
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/internal/storerules"
)

// commit writes a mutation whose conditions hold, field by field.
func (c *change) commit(m *memory.Mutation) error {
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
	}
	for _, l := range m.Restore {
		if err := c.restore(l.Ref, l.ID); err != nil {
			return err
		}
	}
	for _, l := range m.Erase {
		if err := c.erase(l.Ref, l.ID); err != nil {
			return err
		}
	}
	for _, s := range m.Cells {
		if err := c.swap(s); err != nil {
			return err
		}
	}
	return nil
}

// put inserts an entry and reports whether it was not there. Another one under its
// id, or an erased one, is [memory.ErrConflict].
func (c *change) put(ref string, e *memory.Entry) (fresh bool, err error) {
	r, err := c.tx.exec(`INSERT INTO entries (tenant, ref, id, created, expires, born, run, tags, subjects, sources, content)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.tenant, ref, e.ID, e.CreatedAt.UnixMilli(), expiry(e.ExpiresAt), c.version, e.RunID,
		pack(e.Tags), pack(e.Subjects), pack(e.Sources), e.Content)
	if err != nil {
		return false, err
	}
	if n, err := r.RowsAffected(); err != nil {
		return false, wrap(writeFailed, err)
	} else if n == 0 {
		h, err := c.find(ref, e.ID)
		if err == nil && (h.Erased || !storerules.Same(h.Entry, e)) {
			err = memory.ErrConflict
		}
		return false, err
	}
	if len(e.Subjects) == 0 {
		return true, nil
	}
	key, err := r.LastInsertId()
	if err != nil {
		return false, wrap(writeFailed, err)
	}
	for _, label := range e.Subjects {
		if _, err := c.tx.exec(`INSERT INTO subjects (tenant, subject, entry) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, c.tenant, label, key); err != nil {
			return false, err
		}
	}
	return true, nil
}

// restore begins a new life of an entry.
func (c *change) restore(ref, id string) error {
	_, err := c.tx.exec(`INSERT INTO former (entry, born, died)
		SELECT entry, born, died FROM entries WHERE tenant = ? AND ref = ? AND id = ? AND born < died`, c.tenant, ref, id)
	if err != nil {
		return err
	}
	_, err = c.tx.exec(`UPDATE entries SET born = ?, died = 9223372036854775807, state = 0, successor = ''
		WHERE tenant = ? AND ref = ? AND id = ?`, c.version, c.tenant, ref, id)
	return err
}

// erase makes a stub of a record, and notes at which versions it is missed.
func (c *change) erase(ref, id string) error {
	h, err := c.find(ref, id)
	if err != nil || h.Entry == nil || h.Erased {
		return err
	}
	spans, err := c.formerSpans(h.key)
	if err != nil {
		return err
	}
	for _, s := range append(spans, span{h.born, min(h.died, c.version)}) {
		if err := c.scar(s); err != nil {
			return err
		}
	}
	if err := c.tx.unlabel(c.tenant, h.key, h.Entry.Subjects); err != nil {
		return err
	}
	if _, err := c.tx.exec(`DELETE FROM former WHERE entry = ?`, h.key); err != nil {
		return err
	}
	_, err = c.tx.exec(`UPDATE entries SET erased = 1, born = 0, died = 0, created = 0, expires = 0, run = '',
		tags = NULL, subjects = NULL, sources = NULL, content = '' WHERE entry = ?`, h.key)
	c.tx.erased = memoryTables
	return err
}

// unlabel takes an entry out of the index of subjects.
func (t *tx) unlabel(tenant string, key int64, labels []string) error {
	for _, label := range labels {
		if _, err := t.exec(`DELETE FROM subjects WHERE tenant = ? AND subject = ? AND entry = ?`, tenant, label, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) swap(s memory.CellSwap) error {
	if s.New == nil {
		_, err := c.tx.exec(`DELETE FROM cells WHERE tenant = ? AND ref = ? AND name = ?`, c.tenant, s.Ref, s.Name)
		return err
	}
	_, err := c.tx.exec(`INSERT INTO cells (tenant, ref, name, value) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`, c.tenant, s.Ref, s.Name, s.New)
	return err
}
