package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

var _ distill.ArchiveStore = (*Archives)(nil)

// Archives is the [distill.ArchiveStore] in a database.
type Archives struct{ db *DB }

// Archives returns the archives in the database.
func (db *DB) Archives() *Archives { return &Archives{db} }

const findArchive = `SELECT address FROM archive_keys WHERE tenant = ? AND ref = ? AND key = ?`

// Find returns the address that a key was kept under, or [memory.ErrNotFound].
func (a *Archives) Find(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
	var address []byte
	err := a.db.get(ctx, []any{&address}, findArchive, s.Tenant, s.Ref, key[:])
	return digest(address, err)
}

func digest(b []byte, err error) (d distill.Digest, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return d, memory.ErrNotFound
	}
	if err == nil && len(b) != len(d) {
		err = &failure{damaged, nil}
	}
	copy(d[:], b)
	return d, err
}

// Keep stores data under their digest unless the key has an archive already, and
// returns the address that the key has then. Either way that archive counts as kept
// at the instant at, to the millisecond.
func (a *Archives) Keep(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (address distill.Digest, err error) {
	return address, a.db.write(ctx, func(t *tx) error {
		var known []byte
		err := t.get([]any{&known}, findArchive, s.Tenant, s.Ref, key[:])
		if address, err = digest(known, err); err == nil {
			_, err = t.exec(`UPDATE archives SET at = ? WHERE tenant = ? AND ref = ? AND address = ?`, at.UnixMilli(), s.Tenant, s.Ref, address[:])
			return err
		}
		if !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		address = distill.DigestOf(data)
		_, err = t.exec(`INSERT INTO archives (tenant, ref, address, at, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET at = excluded.at, data = excluded.data`, s.Tenant, s.Ref, address[:], at.UnixMilli(), data)
		if err == nil {
			_, err = t.exec(`INSERT INTO archive_keys (tenant, ref, key, address) VALUES (?, ?, ?, ?)`, s.Tenant, s.Ref, key[:], address[:])
		}
		return err
	})
}

// Load returns the bytes of an archive, or [memory.ErrNotFound]. It verifies them:
// [distill.ErrArchive].
func (a *Archives) Load(ctx context.Context, s memory.Scope, address distill.Digest) ([]byte, error) {
	var data []byte
	err := a.db.get(ctx, []any{&data}, `SELECT data FROM archives WHERE tenant = ? AND ref = ? AND address = ?`, s.Tenant, s.Ref, address[:])
	if errors.Is(err, sql.ErrNoRows) {
		return nil, memory.ErrNotFound
	}
	if err == nil {
		err = distill.Verify(data, address)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Drop removes an archive and its key, from the file too, unless it was kept at or
// after before; a zero before removes it in any case.
func (a *Archives) Drop(ctx context.Context, s memory.Scope, address distill.Digest, before time.Time) error {
	limit := int64(math.MaxInt64)
	if !before.IsZero() {
		limit = before.UnixMilli()
	}
	return a.db.write(ctx, func(t *tx) error {
		dropped, err := t.changed(`DELETE FROM archives WHERE tenant = ? AND ref = ? AND address = ? AND at < ?`, s.Tenant, s.Ref, address[:], limit)
		if err != nil || !dropped {
			return err
		}
		t.erased = archiveTables
		_, err = t.exec(`DELETE FROM archive_keys WHERE tenant = ? AND ref = ? AND address = ?`, s.Tenant, s.Ref, address[:])
		return err
	})
}

// Archives yields what is kept for the scope. It reads 512 addresses at a time.
func (a *Archives) Archives(ctx context.Context, s memory.Scope) iter.Seq2[distill.Kept, error] {
	return func(yield func(distill.Kept, error) bool) {
		for last := []byte{}; ; {
			var page []distill.Kept
			err := a.db.query(ctx, func(rows *sql.Rows) (bool, error) {
				var address []byte
				var at int64
				if err := rows.Scan(&address, &at); err != nil {
					return false, wrap(readFailed, err)
				}
				d, err := digest(address, nil)
				page = append(page, distill.Kept{Address: d, At: instant(at)})
				return true, err
			}, `SELECT address, at FROM archives WHERE tenant = ? AND ref = ? AND address > ? ORDER BY address LIMIT ? + 0`, s.Tenant, s.Ref, last, ahead)
			if err != nil {
				yield(distill.Kept{}, err)
				return
			}
			for _, k := range page {
				if !yield(k, nil) {
					return
				}
			}
			if len(page) < ahead {
				return
			}
			last = append(last[:0], page[len(page)-1].Address[:]...)
		}
	}
}
