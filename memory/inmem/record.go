package inmem

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// record is an entry and what became of it. The entry itself is never changed, so that
// readers may look at it after they left the lock; erasing puts another in its place.
type record struct {
	scope   *scope
	entry   *driver.Entry // has only the id once it is erased or purged
	created int64         // milliseconds
	expires int64         // milliseconds; never for an entry that does not expire

	// The entry is live at the versions from born to before died, which is forever as
	// long as it lives. Before it was restored it was live at the earlier ones.
	born, died uint64
	earlier    spans

	successor *record // that it was merged into or superseded by
	state     driver.State
	erased    bool
	purged    bool
}

const (
	never   = math.MaxInt64
	forever = math.MaxUint64
)

// newRecord makes a record of a copy of e, which shares its slices.
func newRecord(sc *scope, e driver.Entry, born uint64) *record {
	r := &record{scope: sc, entry: &e, created: e.CreatedAt.UnixMilli(), expires: never, born: born, died: forever}
	e.CreatedAt = time.UnixMilli(r.created).UTC()
	if !e.ExpiresAt.IsZero() {
		r.expires = e.ExpiresAt.UnixMilli()
		e.ExpiresAt = time.UnixMilli(r.expires).UTC()
	}
	return r
}

// liveAt reports whether r can be read now, at the instant at.
func (r *record) liveAt(at int64) bool { return r.died == forever && at < r.expires && !r.erased }

// visible reports whether r, which is not erased, was not retired at version v and has
// not expired at the instant at.
func (r *record) visible(v uint64, at int64) bool {
	return at < r.expires && (r.born <= v && v < r.died || r.earlier.contain(v))
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
	return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.entry.ID, b.entry.ID))
}

// bySuccessor orders retired records of a scope by the id of their successor.
func bySuccessor(a, b *record) int {
	return cmp.Or(strings.Compare(a.successor.entry.ID, b.successor.entry.ID), strings.Compare(a.entry.ID, b.entry.ID))
}

// labelled is a record under one of its subject labels.
type labelled struct {
	label string
	rec   *record
}

func byLabel(a, b labelled) int {
	return cmp.Or(strings.Compare(a.label, b.label), strings.Compare(a.rec.scope.ref, b.rec.scope.ref),
		strings.Compare(a.rec.entry.ID, b.rec.entry.ID))
}
