package sqlite

import "database/sql"

// span is the versions from one to before another.
type span struct{ from, to int64 }

// spans reads rows of two columns.
func (t *tx) spans(text string, args ...any) (found []span, err error) {
	err = t.query(func(rows *sql.Rows) (bool, error) {
		var s span
		err := rows.Scan(&s.from, &s.to)
		found = append(found, s)
		return true, wrap(readFailed, err)
	}, text, args...)
	return found, err
}

// formerSpans returns when an entry was live before it was restored.
func (c *change) formerSpans(key int64) ([]span, error) {
	return c.tx.spans(`SELECT born, died FROM former WHERE entry = ?`, key)
}

// scar adds a span to those at which something is missed, and joins it with what it
// touches.
func (c *change) scar(s span) error {
	if s.from >= s.to {
		return nil
	}
	touched, err := c.tx.spans(`SELECT since, until FROM scars WHERE tenant = ? AND since <= ? AND until >= ?`, c.tenant, s.to, s.from)
	if err != nil {
		return err
	}
	for _, x := range touched {
		if _, err := c.tx.exec(`DELETE FROM scars WHERE tenant = ? AND since = ?`, c.tenant, x.from); err != nil {
			return err
		}
		s = span{min(s.from, x.from), max(s.to, x.to)}
	}
	_, err = c.tx.exec(`INSERT INTO scars (tenant, since, until) VALUES (?, ?, ?)`, c.tenant, s.from, s.to)
	return err
}
