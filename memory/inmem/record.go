package inmem

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// record is an entry and what became of it. The entry itself is never changed, so that
// readers may read it after they left the lock; erasing puts another in its place.
type record struct {
	scope *scope
	entry *driver.Entry // its instants in whole milliseconds; only the id once it is erased or purged

	// The entry is live at the versions from born to before died, which is forever as
	// long as it lives. Before it was restored it was live at the earlier ones.
	born, died uint64
	earlier    spans

	successor *record // that it was merged into or superseded by
	state     driver.State
	erased    bool
}

const forever = math.MaxUint64

// newRecord makes a record of a copy of e, which shares its slices.
func newRecord(sc *scope, e driver.Entry, born uint64) *record {
	e.CreatedAt = time.UnixMilli(e.CreatedAt.UnixMilli()).UTC()
	if !e.ExpiresAt.IsZero() {
		e.ExpiresAt = time.UnixMilli(e.ExpiresAt.UnixMilli()).UTC()
	}
	return &record{scope: sc, entry: &e, born: born, died: forever}
}

// liveAt reports whether r can be read now, at the instant at.
func (r *record) liveAt(at time.Time) bool {
	return r.died == forever && r.entry.LiveAt(at) && !r.erased
}

// visible reports whether r, which is not erased, was not retired at version v and has
// not expired at the instant at.
func (r *record) visible(v uint64, at time.Time) bool {
	return r.entry.LiveAt(at) && (r.born <= v && v < r.died || r.earlier.contain(v))
}

// record returns r as its readers see it.
func (r *record) record() driver.Record {
	rec := driver.Record{
		Scope: driver.Scope{Tenant: r.scope.tenant.name, Ref: r.scope.ref},
		Entry: *r.entry, State: r.state, Erased: r.erased,
	}
	if r.successor != nil {
		rec.For = r.successor.entry.ID
	}
	return rec
}

// byAge orders the records of a scope oldest first, the reverse of a list.
func byAge(a, b *record) int {
	return cmp.Or(a.entry.CreatedAt.Compare(b.entry.CreatedAt), strings.Compare(a.entry.ID, b.entry.ID))
}
