package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// documentsScript is the number of the script after which carryOver runs.
const documentsScript = 3

// carryOver moves what SQL cannot into the tables that 0004_documents.sql has made.
func carryOver(c *sql.Conn) error {
	var incarnation string
	if err := c.QueryRowContext(background, `SELECT value FROM meta WHERE key = 'incarnation'`).Scan(&incarnation); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return carryLabels(c) },
		func() error { return carryArchives(c) },
		func() error { return carryPurgeMarks(c, incarnation) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf reads all rows of a statement.
func rowsOf(c *sql.Conn, text string, f func(scan func(dest ...any) error) error) error {
	rows, err := c.QueryContext(background, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func carryLabels(c *sql.Conn) error {
	insert, err := c.PrepareContext(background, `INSERT INTO labels (label, entry) VALUES (?, ?) ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	defer insert.Close()
	return rowsOf(c, `SELECT tenant, subject, entry FROM subjects`, func(scan func(...any) error) error {
		var tenant, subject string
		var entry int64
		if err := scan(&tenant, &subject, &entry); err != nil {
			return err
		}
		_, err := insert.ExecContext(background, labelOf(tenant, subject), entry)
		return err
	})
}

// carryArchives makes each archive a document of the entry that its tag names it in: of
// several the one that was not retired, or else the newest. One that no entry names is
// left behind.
func carryArchives(c *sql.Conn) error {
	type place struct{ tenant, ref, address string }
	type entry struct {
		key int64
		id  string
	}
	outputs := map[place]entry{}
	const tag = "archive:"
	err := rowsOf(c, `SELECT e.tenant, e.ref, e.id, e.entry, x.tags FROM entries e`+withText+`
		WHERE e.erased = 0 AND instr(x.tags, CAST('`+tag+`' AS BLOB)) ORDER BY e.died = 9223372036854775807, e.created, e.id`,
		func(scan func(...any) error) error {
			var at place
			var e entry
			var packed []byte
			if err := scan(&at.tenant, &at.ref, &e.id, &e.key, &packed); err != nil {
				return err
			}
			tags, _ := unpack(packed)
			for _, t := range tags {
				if address, ok := strings.CutPrefix(t, tag); ok {
					at.address = address
					outputs[at] = e
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return rowsOf(c, `SELECT tenant, ref, key, address FROM archive_keys ORDER BY tenant, ref, key`, func(scan func(...any) error) error {
		var at place
		var key, address []byte
		if err := scan(&at.tenant, &at.ref, &key, &address); err != nil {
			return err
		}
		at.address = "sha256:" + hex.EncodeToString(address)
		output, named := outputs[at]
		if !named {
			return nil
		}
		r, err := c.ExecContext(background, `INSERT INTO bodies (value) SELECT data FROM archives
			WHERE tenant = ? AND ref = ? AND address = ?`, at.tenant, at.ref, address)
		if err != nil {
			return err
		}
		body, err := inserted(r)
		if err == driver.ErrConflict { // a key without its archive
			return nil
		}
		if err != nil {
			return err
		}
		r, err = c.ExecContext(background, `INSERT INTO documents (tenant, ref, kind, key, class, grp, body, origin)
			VALUES (?, ?, 'distill/archive', ?, ?, ?, ?, ?)`,
			at.tenant, at.ref, "sha256:"+hex.EncodeToString(key), driver.Content, at.address, body, pack([]string{output.id}))
		if err != nil {
			return err
		}
		rev, err := inserted(r)
		if err != nil {
			return err
		}
		_, err = c.ExecContext(background, `INSERT INTO document_of (rev, entry) VALUES (?, ?)`, rev, output.key)
		return err
	})
}

// carryPurgeMarks gives marks to the versions that a purge may still go to, and writes the
// notes of them in the new form.
func carryPurgeMarks(c *sql.Conn, incarnation string) error {
	type note struct {
		Millis  int64  `json:"i"`
		Version string `json:"v"`
	}
	return rowsOf(c, `SELECT c.tenant, c.value, t.horizon, t.version FROM cells c JOIN tenants t ON t.tenant = c.tenant
		WHERE c.ref = '' AND c.name = 'purge'`, func(scan func(...any) error) error {
		var tenant string
		var value []byte
		var horizon, now int64
		if err := scan(&tenant, &value, &horizon, &now); err != nil {
			return err
		}
		var notes []note
		if json.Unmarshal(value, &notes) != nil {
			return nil // the next purge begins anew
		}
		sum := sha256.Sum256([]byte(incarnation + tenant)) // how every version of the tenant began
		head := base64.RawURLEncoding.EncodeToString(sum[:12]) + "."
		kept := []note{}
		for _, x := range notes {
			digits, ok := strings.CutPrefix(x.Version, head)
			n, err := strconv.ParseInt(digits, 10, 64)
			if !ok || err != nil || n < max(1, horizon) || n > now {
				continue // it cannot be read
			}
			if _, err := c.ExecContext(background, `INSERT INTO versions (tenant, version, mark) VALUES (?, ?, randomblob(10))
				ON CONFLICT DO NOTHING`, tenant, n); err != nil {
				return err
			}
			var mark []byte
			if err := c.QueryRowContext(background, `SELECT mark FROM versions WHERE tenant = ? AND version = ?`, tenant, n).Scan(&mark); err != nil {
				return err
			}
			kept = append(kept, note{x.Millis, string(driver.VersionOf(uint64(n), driver.Mark(mark)))})
		}
		text, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		_, err = c.ExecContext(background, `INSERT INTO documents (tenant, ref, kind, key, class, value)
			VALUES (?, '', 'memory/purge', 'marks', ?, ?)`, tenant, driver.Machinery, text)
		return err
	})
}
