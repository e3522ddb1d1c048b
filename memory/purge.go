package memory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// The document of a tenant that remembers when which version was current, so that a
// purge can name a version that is older than the horizon.
const (
	purgeKind = "memory/purge"
	purgeKey  = "marks"
)

type purgeMark struct {
	Millis  int64          `json:"i"`
	Version driver.Version `json:"v"`
	Done    bool           `json:"d,omitempty"` // has been purged to
}

const (
	// maxPurgeMarks bounds the marks of a horizon. Calls between two of them add none.
	maxPurgeMarks = 64
	// idleMarks is how many notes a horizon has of a tenant that nothing is written to, so
	// that it costs little to have many of them.
	idleMarks = 4
	// clockSkew is how far the clocks of processes that share a store may differ
	// before a token could miss an entry that expired and was purged.
	clockSkew = time.Hour
)

// Purge removes what no view within the bank's horizon can show, and returns how many records
// that were: versions older than the horizon, and entries deleted or expired before it. A host
// that runs [Bank.Keep] calls it only if the store does not offer driver.Tenants.
//
// What was merged is kept until it has expired or was forgotten itself, with what it was merged
// into: see [Bank.Forget]. Runs and tokens from before the horizon become
// [ErrSnapshotUnavailable]. The store must be Versioned.
//
// Each tenant needs a call at least once in a horizon. The first call removes nothing: it
// records the version that the tenant has, as later ones do a 64th of the horizon apart. A later
// one purges up to the newest recorded version that is older than the horizon. After a restore
// that made the old versions unavailable it purges nothing until a version recorded since is that
// old. The clocks of processes that share a store must agree within an hour.
func (b *Bank) Purge(ctx context.Context, tenant string) (n int, err error) {
	ctx, span := b.begin(ctx, telemetry.Purge)
	defer span.Done(&err)
	if err := checkTenant(tenant); err != nil {
		return 0, err
	}
	if b.versions == nil {
		return 0, fail(ErrNotProvided, "purging needs a store that is driver.Versioned")
	}
	if err := b.changeable("purging"); err != nil {
		return 0, err
	}
	n, err = b.purge(ctx, tenant, true)
	span.Add(telemetry.Purged.Of(n))
	return n, err
}

// purge is Purge. In a round of maintenance, which is not on demand, it adds marks only if one
// is due, and does not purge to one mark twice.
func (b *Bank) purge(ctx context.Context, tenant string, onDemand bool) (int, error) {
	for {
		behind, err := b.markPurge(ctx, tenant, onDemand)
		if errors.Is(err, ErrConflict) {
			continue // another process noted first
		}
		if err != nil || behind == nil {
			return 0, err
		}
		n, err := b.versions.Purge(ctx, tenant, behind.Version, time.UnixMilli(behind.Millis).Add(-clockSkew).UTC())
		if errors.Is(err, ErrSnapshotUnavailable) {
			return 0, nil // the note is from before a restore, or another process has purged further
		}
		return n, shape(err)
	}
}

// markPurge adds a mark for now and returns the newest one behind the horizon, if
// there is one.
func (b *Bank) markPurge(ctx context.Context, tenant string, onDemand bool) (*purgeMark, error) {
	note := driver.Document{Scope: Scope{Tenant: tenant}, Kind: purgeKind, Key: purgeKey}
	for d, err := range b.machinery(ctx, tenant, driver.DocumentQuery{Kind: purgeKind, Key: purgeKey}) {
		if err != nil {
			return nil, err
		}
		note = d
	}
	var marks []purgeMark
	if note.Rev != 0 {
		if err := json.Unmarshal(note.Value, &marks); err != nil {
			return nil, failWith(ErrInternal, "the notes of purges are damaged", err)
		}
	}
	if err := b.checkClock(); err != nil {
		return nil, err
	}
	now := b.Now()
	noted := len(marks)
	marks = slices.DeleteFunc(marks, func(m purgeMark) bool { // of a clock that leapt
		return m.Millis > now.Add(clockSkew).UnixMilli()
	})
	changed := len(marks) < noted
	due, err := b.markDue(ctx, tenant, marks, now, onDemand)
	if err != nil {
		return nil, err
	}
	if due {
		// A version of its own: tokens stand on one for as long as it is the latest, and none
		// that can still be read may be from before the instant by which entries have
		// expired.
		made, err := b.tx.Apply(ctx, tenant, driver.Mutation{At: now})
		if err != nil {
			return nil, shape(err)
		}
		now = b.Now()
		marks = append(marks, purgeMark{Millis: now.UnixMilli(), Version: made.Version})
		changed = true
	}
	var behind *purgeMark
	for len(marks) > 0 && marks[0].Millis <= now.Add(-b.cfg.Horizon).UnixMilli() {
		behind, marks = &marks[0], marks[1:]
	}
	kept := marks
	if behind != nil {
		if behind.Done && !onDemand {
			behind = nil
		} else {
			changed = true
		}
	}
	if !changed {
		return nil, nil
	}
	if behind != nil {
		done := *behind
		done.Done = true
		kept = append([]purgeMark{done}, marks...)
	}
	if note.Value, err = json.Marshal(kept); err != nil {
		return nil, failWith(ErrInternal, "the notes of purges are no JSON", err)
	}
	_, err = b.swap(ctx, tenant, driver.DocumentSwap{Document: note})
	return behind, err
}

// markDue reports whether a mark of a tenant is to be added.
func (b *Bank) markDue(ctx context.Context, tenant string, marks []purgeMark, now time.Time, onDemand bool) (bool, error) {
	if len(marks) == 0 {
		return true, nil
	}
	last := marks[len(marks)-1]
	since, horizon := now.UnixMilli()-last.Millis, b.cfg.Horizon.Milliseconds()
	switch {
	case since < horizon/maxPurgeMarks:
		return false, nil
	case onDemand || since >= horizon/idleMarks:
		return true, nil
	}
	current, err := b.versions.Version(ctx, tenant)
	return current != last.Version, shape(err)
}
