package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// carryOver moves what SQL cannot into the tables that 0004_documents.sql has made.
func (t *tx) carryOver() error {
	for _, step := range []func() error{t.carryLabels, t.carryArchives, t.carryPurgeMarks, t.carryScars} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) carryLabels() error {
	return t.query(func(rows *sql.Rows) (bool, error) {
		var tenant, subject string
		var entry int64
		if err := rows.Scan(&tenant, &subject, &entry); err != nil {
			return false, err
		}
		_, err := t.exec(addLabel, labelOf(tenant, subject), entry)
		return true, err
	}, `SELECT tenant, subject, entry FROM subjects`)
}

// carryArchives makes each archive a document of the entry that names it in a tag: of
// several the one that was not retired, or else the newest. One that no entry names is
// left behind.
func (t *tx) carryArchives() error {
	type place struct{ tenant, ref, address string }
	type entry struct {
		key int64
		id  string
	}
	outputs := map[place]entry{}
	err := t.query(func(rows *sql.Rows) (bool, error) {
		var at place
		var e entry
		var packed []byte
		err := rows.Scan(&at.tenant, &at.ref, &e.id, &e.key, &packed)
		tags, _ := unpack(packed)
		for _, tag := range tags {
			if address, ok := strings.CutPrefix(tag, "archive:"); ok {
				at.address = address
				outputs[at] = e
			}
		}
		return true, err
	}, `SELECT e.tenant, e.ref, e.id, e.entry, x.tags FROM entries e`+withText+`
		ORDER BY e.died = 9223372036854775807, e.created, e.id`)
	if err != nil {
		return err
	}
	return t.query(func(rows *sql.Rows) (bool, error) {
		var at place
		var key, address []byte
		var archive int64
		if err := rows.Scan(&at.tenant, &at.ref, &key, &address, &archive); err != nil {
			return false, err
		}
		at.address = "sha256:" + hex.EncodeToString(address)
		output, named := outputs[at]
		if !named {
			return true, nil
		}
		body, err := t.insert(`INSERT INTO bodies (value) SELECT data FROM archives WHERE rowid = ?`, archive)
		if err != nil {
			return false, err
		}
		rev, err := t.insert(addText, at.tenant, at.ref, "distill/archive", "sha256:"+hex.EncodeToString(key), driver.Content,
			at.address, body, pack([]string{output.id}))
		if err == nil {
			_, err = t.exec(`INSERT INTO document_of (rev, entry) VALUES (?, ?)`, rev, output.key)
		}
		return true, err
	}, `SELECT k.tenant, k.ref, k.key, k.address, a.rowid FROM archive_keys k
		JOIN archives a ON a.tenant = k.tenant AND a.ref = k.ref AND a.address = k.address`)
}

// carryPurgeMarks gives marks to the versions that a purge may still go to, and writes the
// notes of them in the new form.
func (t *tx) carryPurgeMarks() error {
	var incarnation string
	if err := t.get([]any{&incarnation}, `SELECT value FROM meta WHERE key = 'incarnation'`); err != nil {
		return err
	}
	type note struct {
		Millis  int64  `json:"i"`
		Version string `json:"v"`
	}
	return t.query(func(rows *sql.Rows) (bool, error) {
		var tenant string
		var value []byte
		var horizon, now int64
		if err := rows.Scan(&tenant, &value, &horizon, &now); err != nil {
			return false, err
		}
		var notes []note
		if json.Unmarshal(value, &notes) != nil {
			return true, nil // the next purge begins anew
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
			var mark []byte // the newest version has one
			err = t.get([]any{&mark}, `INSERT INTO versions (tenant, version, mark) VALUES (?, ?, randomblob(10))
				ON CONFLICT DO UPDATE SET mark = mark RETURNING mark`, tenant, n)
			if err != nil {
				return false, err
			}
			kept = append(kept, note{x.Millis, string(driver.Mark(mark).Version(uint64(n)))})
		}
		text, err := json.Marshal(kept)
		if err == nil {
			_, err = t.exec(setMachinery, tenant, "", "memory/purge", "marks", "", nil, text, 0)
		}
		return true, err
	}, `SELECT c.tenant, c.value, t.horizon, t.version FROM cells c JOIN tenants t ON t.tenant = c.tenant
		WHERE c.ref = '' AND c.name = 'purge'`)
}

// carryScars notes for each ref of a tenant what was erased in any of them, at the versions
// that can be read still. Spans at others would be as many as there are refs and erasures.
func (t *tx) carryScars() error {
	_, err := t.exec(`INSERT INTO scars SELECT s.tenant, r.ref, s.since, s.until
		FROM old_scars s JOIN (SELECT DISTINCT tenant, ref FROM entries) r ON r.tenant = s.tenant
		WHERE EXISTS (SELECT 1 FROM versions v WHERE v.tenant = s.tenant AND v.version >= s.since AND v.version < s.until)`)
	return err
}

// carrySums stores all texts and values anew, with a checksum each. A document that was a
// cell with a name longer than any key gets a digest of it for a key.
func (t *tx) carrySums() error {
	err := t.query(func(rows *sql.Rows) (bool, error) {
		var entry int64
		var e driver.Entry
		var created, expires int64
		var tags, subjects, sources sql.RawBytes
		var erased bool
		if err := rows.Scan(&entry, &e.ID, &created, &expires, &erased, &e.RunID, &tags, &subjects, &sources, &e.Content); err != nil {
			return false, err
		}
		var head []byte
		if !erased {
			head = headOf(e.ID, created, expires, [4][]byte{[]byte(e.RunID), tags, subjects, sources}, e.Content)
		}
		_, err := t.exec(addWords, entry, head, e.Content)
		return true, err
	}, `SELECT e.entry, e.id, e.created, e.expires, e.erased, x.run, x.tags, x.subjects, x.sources, x.content
		FROM old_texts x CROSS JOIN entries e ON e.entry = x.entry ORDER BY x.entry`)
	if err != nil {
		return err
	}
	err = t.query(func(rows *sql.Rows) (bool, error) {
		var body int64
		var subjects, value []byte
		if err := rows.Scan(&body, &subjects, &value); err != nil {
			return false, err
		}
		_, err := t.exec(`INSERT INTO bodies (body, subjects, value) VALUES (?, ?, ?)`, body, subjects, summed(value))
		return true, err
	}, `SELECT body, subjects, value FROM old_bodies WHERE value IS NOT NULL ORDER BY body`)
	if err != nil {
		return err
	}
	return t.query(func(rows *sql.Rows) (bool, error) {
		var rev int64
		var key string
		var value []byte
		if err := rows.Scan(&rev, &key, &value); err != nil {
			return false, err
		}
		if len(key) > driver.MaxKeyBytes {
			key = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key)))
		}
		_, err := t.exec(`UPDATE documents SET key = ?, value = ? WHERE rev = ?`, key, summed(value), rev)
		return true, err
	}, `SELECT rev, key, value FROM documents WHERE class = 0`)
}
