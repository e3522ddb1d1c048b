package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// Archives is the store of archives.
func (db *DB) Archives() *Archives { return &Archives{db} }

// Archives keeps the archives of distillations. It is what [DB.Archives] returns. A
// call whose connection is lost is repeated.
type Archives struct{ db *DB }

var _ distill.ArchiveStore = (*Archives)(nil)

// Find returns the address that a key was kept under, or [memory.ErrNotFound].
func (a *Archives) Find(ctx context.Context, s memory.Scope, key distill.Digest) (distill.Digest, error) {
	const find = `SELECT address FROM agentmemory.archives WHERE tenant = $1 AND ref = $2 AND key = $3`
	found, err := a.bytes(ctx, s, find, key[:])
	if err != nil {
		return distill.Digest{}, err
	}
	return digest(found)
}

// Keep stores data unless the key has an archive already, and returns the address that
// the key has. A tenant above 256 bytes or a ref above 1024 is [memory.ErrValidation].
func (a *Archives) Keep(ctx context.Context, s memory.Scope, key distill.Digest, data []byte, at time.Time) (distill.Digest, error) {
	const keep = `
		INSERT INTO agentmemory.archives (tenant, ref, key, address, kept_at, data) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant, ref, key) DO UPDATE SET kept_at = excluded.kept_at RETURNING address`
	if err := ctx.Err(); err != nil {
		return distill.Digest{}, err
	}
	if !fits(s) {
		return distill.Digest{}, memory.ErrValidation
	}
	if data == nil {
		data = []byte{}
	}
	address := distill.DigestOf(data)
	var kept []byte
	err := a.db.write(ctx, tenantSetting(s.Tenant), idempotent, func(b *pgx.Batch) {
		b.Queue(keep, []byte(s.Tenant), keyOf(s.Ref), key[:], address[:], at.UnixMilli(), data).
			QueryRow(func(row pgx.Row) error { return row.Scan(&kept) })
	})
	if err != nil {
		return distill.Digest{}, err
	}
	return digest(kept)
}

// Load returns the bytes of an archive, [memory.ErrNotFound], or
// [distill.ErrArchive] if the database has other bytes than it was given.
func (a *Archives) Load(ctx context.Context, s memory.Scope, address distill.Digest) ([]byte, error) {
	const load = `SELECT data FROM agentmemory.archives WHERE tenant = $1 AND ref = $2 AND address = $3 LIMIT 1`
	data, err := a.bytes(ctx, s, load, address[:])
	if err != nil {
		return nil, err
	}
	if distill.DigestOf(data) != address {
		return nil, distill.ErrArchive
	}
	return data, nil
}

// Drop removes an archive and its key, unless it was kept at or after before.
func (a *Archives) Drop(ctx context.Context, s memory.Scope, address distill.Digest, before time.Time) error {
	const drop = `DELETE FROM agentmemory.archives WHERE tenant = $1 AND ref = $2 AND address = $3 AND kept_at < $4`
	limit := int64(never)
	if !before.IsZero() {
		limit = before.UnixMilli()
	}
	return a.db.write(ctx, tenantSetting(s.Tenant), idempotent, func(b *pgx.Batch) {
		b.Queue(drop, []byte(s.Tenant), keyOf(s.Ref), address[:], limit)
	})
}

// Archives yields what is kept for the scope, as it is when the loop begins.
func (a *Archives) Archives(ctx context.Context, s memory.Scope) iter.Seq2[distill.Kept, error] {
	const all = `
		SELECT address, max(kept_at) FROM agentmemory.archives WHERE tenant = $1 AND ref = $2 GROUP BY address`
	return func(yield func(distill.Kept, error) bool) {
		var kept []distill.Kept
		err := a.db.read(ctx, s.Tenant, func(b *pgx.Batch) {
			b.Queue(all, []byte(s.Tenant), keyOf(s.Ref)).Query(func(rows pgx.Rows) (err error) {
				kept, err = pgx.CollectRows(rows, scanKept)
				return err
			})
		})
		if err != nil {
			yield(distill.Kept{}, err)
			return
		}
		for _, k := range kept {
			if !yield(k, nil) {
				return
			}
		}
	}
}

func scanKept(row pgx.CollectableRow) (k distill.Kept, err error) {
	var address []byte
	var at int64
	if err := row.Scan(&address, &at); err != nil {
		return k, err
	}
	k.At = instant(at)
	k.Address, err = digest(address)
	return k, err
}

// bytes returns the one value of a statement about a scope and a digest.
func (a *Archives) bytes(ctx context.Context, s memory.Scope, sql string, d []byte) ([]byte, error) {
	var found [][]byte
	err := a.db.read(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(sql, []byte(s.Tenant), keyOf(s.Ref), d).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		})
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, memory.ErrNotFound
	}
	return found[0], nil
}

func digest(b []byte) (d distill.Digest, err error) {
	if copy(d[:], b) != len(d) || len(b) != len(d) {
		return d, distill.ErrArchive
	}
	return d, nil
}
