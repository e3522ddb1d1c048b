package driver

import (
	"context"
	"time"
)

// Version names a state of one tenant's memory. It is opaque, valid UTF-8, and only
// equality means anything outside the store. A mutation makes a new version unless it is
// [Mutation.Unversioned], and so does a put or a delete that changes anything.
type Version string

// Versioned is a store whose List can be read as it was, see [Query].Version. Run views and
// their tokens are built on it.
//
// Versions are exact: reading at a version gives the same entries for ever,
// whatever is committed later, but for expiry, erasure and purging. A version of
// another tenant, of a history that was lost (by a restored backup, or a standby that
// had not got it), or behind the purge horizon is [ErrSnapshotUnavailable], whoever
// did or did not tell the store: see [Mark].
type Versioned interface {
	Transactor

	// Version returns the version that the tenant's memory has now. It copies
	// nothing.
	Version(ctx context.Context, tenant string) (Version, error)

	// Intact reports whether the scope can be read at v without a gap: whether no entry
	// that a List at v would have returned has been erased since. It stays false after a
	// purge has removed the erased entries' records. An entry that has merely expired is
	// no gap.
	Intact(ctx context.Context, s Scope, v Version) (bool, error)

	// Purge makes versions before v unavailable and removes what neither v nor a
	// later one can show: entries that were retired by v or earlier, those that
	// have expired at the instant at, and erased ones. The documents that were made of a
	// removed entry are removed with it, and, unless it was erased before, those of its whole
	// ref. Lineage that may still be
	// needed stays, see [Stored.Purgeable]. What was merged or superseded is kept until the entry at the end of its
	// chain of successors is itself removable (deleted by v or earlier, erased or expired).
	// A merged entry is kept until it has itself expired or was erased, also after the end
	// of its chain has, unless the chain leads through a superseded entry or ends in a
	// deleted one. No record goes while one that stays names it as its successor. Purge
	// returns the number of records removed. A version that cannot be read cannot be purged
	// to; the one before the first mutation can, and then what is expired or erased goes.
	Purge(ctx context.Context, tenant string, v Version, at time.Time) (int, error)
}
