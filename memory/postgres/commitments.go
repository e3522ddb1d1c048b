package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// Commitments is the store of commitments.
func (db *DB) Commitments() *Commitments { return &Commitments{db} }

// Commitments keeps commitments. It is what [DB.Commitments] returns.
type Commitments struct{ db *DB }

var _ commitment.Store = (*Commitments)(nil)

const commitmentColumns = `tenant, id, rev, ref, memory_id, arm_at, arm_every, arm_spec, arm_predicate, arm_zone, arm_once,
	armed_at, state, reason, heir, canceled, complete, due, mark, position, digest, claim_instant, claim_position, claim_tries,
	waiting, fence, lease, fired, run_id, final`

const commitmentParameters = `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
	$21, $22, $23, $24, $25, $26, $27, $28, $29, $30`

// commitmentRow is c in the order of the columns.
func commitmentRow(c *commitment.Commitment) []any {
	var due any
	if !c.Due.IsZero() {
		due = c.Due.UnixMilli()
	}
	return []any{
		[]byte(c.Tenant), []byte(c.ID), c.Rev + 1, []byte(c.Ref), []byte(c.MemoryID),
		c.Arm.At.UnixMilli(), int64(c.Arm.Every), []byte(c.Arm.Spec), []byte(c.Arm.Predicate), []byte(c.Arm.Zone), c.Arm.Once,
		c.ArmedAt.UnixMilli(), []byte(c.State), []byte(c.Reason), []byte(c.Heir), c.Canceled, c.Complete,
		due, c.Mark.UnixMilli(), c.Position, []byte(c.Digest), c.Claim.Instant.UnixMilli(), c.Claim.Position, int64(c.Claim.Tries),
		c.Waiting, c.Fence, c.Lease.UnixMilli(), int64(c.Fired), []byte(c.RunID), c.State.Final(),
	}
}

func scanCommitment(row pgx.CollectableRow) (c commitment.Commitment, err error) {
	var at, every, armed, mark, claim, tries, lease, fired int64
	var due *int64
	var final bool
	err = row.Scan(
		(*name)(&c.Tenant), (*name)(&c.ID), &c.Rev, (*name)(&c.Ref), (*name)(&c.MemoryID),
		&at, &every, (*name)(&c.Arm.Spec), (*name)(&c.Arm.Predicate), (*name)(&c.Arm.Zone), &c.Arm.Once,
		&armed, (*name)(&c.State), (*name)(&c.Reason), (*name)(&c.Heir), &c.Canceled, &c.Complete,
		&due, &mark, &c.Position, (*name)(&c.Digest), &claim, &c.Claim.Position, &tries,
		&c.Waiting, &c.Fence, &lease, &fired, (*name)(&c.RunID), &final,
	)
	c.Arm.At, c.Arm.Every, c.ArmedAt = instant(at), time.Duration(every), instant(armed)
	c.Mark, c.Claim.Instant, c.Lease = instant(mark), instant(claim), instant(lease)
	c.Claim.Tries, c.Fired = int(tries), int(fired)
	if due != nil {
		c.Due = instant(*due)
	}
	return c, err
}

func collectCommitments(found *[]commitment.Commitment) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*found, err = pgx.AppendRows((*found)[:0], rows, scanCommitment)
		return err
	}
}

// Get returns a commitment, or [memory.ErrNotFound].
func (st *Commitments) Get(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
	const get = `SELECT ` + commitmentColumns + ` FROM agentmemory.commitments WHERE tenant = $1 AND id = $2`
	var found []commitment.Commitment
	err := st.db.read(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(get, []byte(tenant), []byte(id)).Query(collectCommitments(&found))
	})
	switch {
	case err != nil:
		return commitment.Commitment{}, err
	case len(found) == 0:
		return commitment.Commitment{}, memory.ErrNotFound
	}
	return found[0], nil
}

// Swap puts c in place of the commitment whose revision is c.Rev, in one conditional
// statement. If the connection is lost meanwhile the error is [ErrOutcomeUnknown]. A
// tenant above 256 bytes or an id above 1500 is [memory.ErrValidation].
func (st *Commitments) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	const insert = `INSERT INTO agentmemory.commitments (` + commitmentColumns + `) VALUES (` + commitmentParameters + `) ON CONFLICT DO NOTHING`
	const update = `UPDATE agentmemory.commitments SET (` + commitmentColumns + `) = (` + commitmentParameters + `)
		WHERE tenant = $1 AND id = $2 AND rev = $3 - 1`
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	switch {
	case len(c.Tenant) > maxTenant || len(c.ID) > maxID:
		return 0, memory.ErrValidation
	case c.Rev < 0:
		return 0, memory.ErrConflict
	}
	sql := update
	if c.Rev == 0 {
		sql = insert
	}
	swapped := false
	err := st.db.write(ctx, tenantSetting(c.Tenant), unsent, func(b *pgx.Batch) {
		b.Queue(sql, commitmentRow(&c)...).Exec(affects(&swapped))
	})
	switch {
	case err != nil:
		return 0, err
	case !swapped:
		return 0, memory.ErrConflict
	}
	return c.Rev + 1, nil
}

// Due returns commitments of all tenants whose Due is set and not after now, by Due
// ascending.
func (st *Commitments) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	const due = `SELECT ` + commitmentColumns + ` FROM agentmemory.commitments
		WHERE due IS NOT NULL AND due <= $1 ORDER BY due, tenant, id LIMIT $2`
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []commitment.Commitment
	err := repeat(ctx, idempotent, func() error {
		return st.db.send(ctx, st.db.pool, everyTenant, func(b *pgx.Batch) {
			b.Queue(due, now.UnixMilli(), max(limit, 0)).Query(collectCommitments(&found))
		})
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, nil
}

// OfTenant yields the commitments of a tenant in the order of their ids, or those that
// wait for a predicate, a page at a time. The loop may call the store.
func (st *Commitments) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	const (
		all = `SELECT ` + commitmentColumns + ` FROM agentmemory.commitments
			WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT 256`
		waiting = `SELECT ` + commitmentColumns + ` FROM agentmemory.commitments
			WHERE tenant = $1 AND id > $2 AND arm_predicate = $3 AND NOT final AND arm_predicate <> '' ORDER BY id LIMIT 256`
	)
	return func(yield func(commitment.Commitment, error) bool) {
		behind := []byte{}
		for {
			var found []commitment.Commitment
			err := st.db.read(ctx, tenant, func(b *pgx.Batch) {
				if predicate == "" {
					b.Queue(all, []byte(tenant), behind).Query(collectCommitments(&found))
				} else {
					b.Queue(waiting, []byte(tenant), behind, []byte(predicate)).Query(collectCommitments(&found))
				}
			})
			if err != nil {
				yield(commitment.Commitment{}, err)
				return
			}
			for _, c := range found {
				if !yield(c, nil) {
					return
				}
			}
			if len(found) < 256 {
				return
			}
			behind = []byte(found[len(found)-1].ID)
		}
	}
}
