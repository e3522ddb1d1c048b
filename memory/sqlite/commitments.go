package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

var _ commitment.Store = (*Commitments)(nil)

// Commitments is the [commitment.Store] in a database. Any number of engines, in any
// number of processes, may share it.
type Commitments struct{ db *DB }

// Commitments returns the commitments in the database.
func (db *DB) Commitments() *Commitments { return &Commitments{db} }

const (
	commitmentColumns = `tenant, id, rev, ref, memory, at, every, spec, predicate, zone, once, armed, state, reason, heir,
		canceled, complete, due, mark, position, digest, claim_instant, claim_position, claim_tries, waiting, fence, lease,
		fired, run`
	armCommitment = `INSERT INTO commitments (` + commitmentColumns + `, awaits)
		VALUES (?1, ?2, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
			?25, ?26, ?27, ?28, ?29, ?30)
		ON CONFLICT DO NOTHING`
	swapCommitment = `UPDATE commitments SET rev = rev + 1, ref = ?4, memory = ?5, at = ?6, every = ?7, spec = ?8, predicate = ?9,
		zone = ?10, once = ?11, armed = ?12, state = ?13, reason = ?14, heir = ?15, canceled = ?16, complete = ?17, due = ?18,
		mark = ?19, position = ?20, digest = ?21, claim_instant = ?22, claim_position = ?23, claim_tries = ?24, waiting = ?25,
		fence = ?26, lease = ?27, fired = ?28, run = ?29, awaits = ?30
		WHERE tenant = ?1 AND id = ?2 AND rev = ?3`

	getCommitment  = `SELECT ` + commitmentColumns + ` FROM commitments WHERE tenant = ? AND id = ?`
	dueCommitments = `SELECT ` + commitmentColumns + ` FROM commitments INDEXED BY commitments_due
		WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ? + 0`
	commitmentsOf = `SELECT ` + commitmentColumns + ` FROM commitments
		WHERE tenant = ?1 AND id >= ?2 ORDER BY id LIMIT ?3 + 0`
	commitmentsAwaiting = `SELECT ` + commitmentColumns + ` FROM commitments INDEXED BY commitments_awaits
		WHERE tenant = ?1 AND awaits = ?4 AND id >= ?2 ORDER BY id LIMIT ?3 + 0`
)

// optional is an instant that may not be set, and then is NULL.
type optional struct{ *time.Time }

// Scan implements [sql.Scanner].
func (o optional) Scan(v any) error {
	*o.Time = time.Time{}
	switch ms := v.(type) {
	case nil:
	case int64:
		*o.Time = instant(ms)
	default:
		return errors.New("not an instant")
	}
	return nil
}

func optionalMillis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// Swap implements [commitment.Store] by one conditional statement.
func (s *Commitments) Swap(ctx context.Context, c commitment.Commitment) (int64, error) {
	waiting := []byte(nil)
	if len(c.Waiting) > 0 {
		var err error
		if waiting, err = json.Marshal(c.Waiting); err != nil {
			return 0, wrap(writeFailed, err)
		}
	}
	var awaits any
	if c.Arm.Predicate != "" && !c.State.Final() {
		awaits = c.Arm.Predicate
	}
	text := swapCommitment
	if c.Rev == 0 {
		text = armCommitment
	}
	err := s.db.write(ctx, func(t *tx) error {
		done, err := t.changed(text, c.Tenant, c.ID, c.Rev, c.Ref, c.MemoryID,
			optionalMillis(c.Arm.At), int64(c.Arm.Every), c.Arm.Spec, c.Arm.Predicate, c.Arm.Zone, c.Arm.Once,
			optionalMillis(c.ArmedAt), string(c.State), string(c.Reason), c.Heir, c.Canceled, c.Complete,
			optionalMillis(c.Due), optionalMillis(c.Mark), c.Position, c.Digest,
			optionalMillis(c.Claim.Instant), c.Claim.Position, c.Claim.Tries, string(waiting),
			c.Fence, optionalMillis(c.Lease), c.Fired, c.RunID, awaits)
		if err == nil && !done {
			err = memory.ErrConflict
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return c.Rev + 1, nil
}

func scanCommitment(rows *sql.Rows) (c commitment.Commitment, err error) {
	var waiting string
	err = rows.Scan(&c.Tenant, &c.ID, &c.Rev, &c.Ref, &c.MemoryID,
		optional{&c.Arm.At}, &c.Arm.Every, &c.Arm.Spec, &c.Arm.Predicate, &c.Arm.Zone, &c.Arm.Once,
		optional{&c.ArmedAt}, &c.State, &c.Reason, &c.Heir, &c.Canceled, &c.Complete,
		optional{&c.Due}, optional{&c.Mark}, &c.Position, &c.Digest,
		optional{&c.Claim.Instant}, &c.Claim.Position, &c.Claim.Tries, &waiting,
		&c.Fence, optional{&c.Lease}, &c.Fired, &c.RunID)
	if err == nil && waiting != "" {
		err = json.Unmarshal([]byte(waiting), &c.Waiting)
	}
	return c, wrap(readFailed, err)
}

// commitments reads what a statement selects.
func (db *DB) commitments(ctx context.Context, text string, args ...any) (found []commitment.Commitment, err error) {
	err = db.query(ctx, func(rows *sql.Rows) (bool, error) {
		c, err := scanCommitment(rows)
		found = append(found, c)
		return true, err
	}, text, args...)
	return found, err
}

// Get implements [commitment.Store].
func (s *Commitments) Get(ctx context.Context, tenant, id string) (commitment.Commitment, error) {
	found, err := s.db.commitments(ctx, getCommitment, tenant, id)
	if err == nil && len(found) == 0 {
		err = memory.ErrNotFound
	}
	if err != nil {
		return commitment.Commitment{}, err
	}
	return found[0], nil
}

// Due implements [commitment.Store] by an index of what is armed for an instant.
func (s *Commitments) Due(ctx context.Context, now time.Time, limit int) ([]commitment.Commitment, error) {
	return s.db.commitments(ctx, dueCommitments, now.UnixMilli(), max(0, limit))
}

// OfTenant implements [commitment.Store]. It reads 512 commitments at a time.
func (s *Commitments) OfTenant(ctx context.Context, tenant, predicate string) iter.Seq2[commitment.Commitment, error] {
	return func(yield func(commitment.Commitment, error) bool) {
		for next := ""; ; {
			text, args := commitmentsOf, []any{tenant, next, ahead}
			if predicate != "" {
				text, args = commitmentsAwaiting, append(args, predicate)
			}
			page, err := s.db.commitments(ctx, text, args...)
			if err != nil {
				yield(commitment.Commitment{}, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < ahead {
				return
			}
			next = page[len(page)-1].ID + "\x00"
		}
	}
}
