package inmem

import (
	"context"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// position is a place in a list; the zero value is before the first entry.
type position struct {
	set     bool
	created int64
	id      string
}

func positionOf(c memory.Cursor) position {
	if c.IsZero() {
		return position{}
	}
	return position{true, c.CreatedAt.UnixMilli(), c.ID}
}

// pageSize is the number of records that a reader takes at a time under the lock.
const pageSize = 128

// pager reads the visible records of a scope page by page. The lock is free
// between pages; all pages are of one version.
type pager struct {
	tenant *tenant // nil if there is none
	ref    string
	at     int64
	behind position
	filter filter
	left   int // how many records are wanted still; negative: all
	// pinned is set once the version is: at the first page if the reader wants
	// the latest one.
	pinned  bool
	version uint64

	done bool
	err  error // why it ended early
	size int   // the scope has no more visible records than this
}

// start prepares p to read s from behind a position.
func (p *pager) start(st *Store, s memory.Scope, at int64, behind position, limit int) {
	p.tenant, p.ref, p.at, p.behind, p.left = st.tenant(s.Tenant), s.Ref, at, behind, limit
	if limit <= 0 {
		p.left = -1
	}
}

// pin makes p read at version v of the tenant.
func (p *pager) pin(st *Store, tenant string, v memory.Version) error {
	var mark storerules.Mark
	if p.tenant != nil {
		mark = p.tenant.mark
	} else {
		mark = st.mark(tenant)
	}
	n, err := mark.Number(v)
	if err == nil && p.tenant == nil && n != 0 {
		err = memory.ErrSnapshotUnavailable
	}
	p.pinned, p.version = true, n
	return err
}

// next puts the next records that match into buf and returns them, oldest first:
// a reader walks each page from its end. There are none at the end of the list.
// When it fails it sets p.err and returns one record, of an empty entry. (A pager
// with a buffer of its own would have to be on the heap.)
func (p *pager) next(ctx context.Context, buf *[pageSize]*record) []*record {
	for !p.done && p.left != 0 {
		if p.err = ctx.Err(); p.err != nil || p.tenant == nil {
			break
		}
		dst := buf[:]
		if p.filter.none() && 0 < p.left && p.left < len(dst) {
			dst = dst[:p.left]
		}
		page := p.fill(dst)
		if p.err != nil {
			break
		}
		if len(page) < len(dst) {
			p.done = true
		} else {
			p.behind = position{true, page[0].created, page[0].entry.ID}
		}
		if page = p.narrow(page); len(page) > 0 {
			p.left -= len(page) // if negative, it stays so
			return page
		}
	}
	if p.done || p.err == nil {
		return nil
	}
	p.done = true
	buf[0] = blank
	return buf[:1]
}

var blank = new(record)

// missed takes note that a record of the page was erased meanwhile, so that a page
// is shorter than its limit only at the end of the list.
func (p *pager) missed() {
	if p.left >= 0 {
		p.left++
	}
}

// narrow keeps the records that match the filter, as many as are wanted.
func (p *pager) narrow(page []*record) []*record {
	if p.filter.none() {
		return page
	}
	free := len(page)
	for i := len(page) - 1; i >= 0 && len(page)-free != p.left; i-- {
		r := page[i]
		if p.filter.ends(r) {
			p.done = true
			break
		}
		if p.filter.match(&r.entry) {
			free--
			page[free] = r
		}
	}
	return page[free:]
}

// expect returns how many entries there will be at most, given the first page.
func (p *pager) expect(first int) int {
	switch {
	case p.done || p.left == 0 || !p.filter.none():
		return first
	case p.left > 0:
		return min(first+p.left, p.size)
	}
	return p.size
}

// fill takes records of the scope, whether they match or not.
func (p *pager) fill(dst []*record) []*record {
	t := p.tenant
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !p.pinned {
		p.pinned, p.version = true, t.version
	}
	if p.err = t.available(p.version); p.err != nil {
		return nil
	}
	sc := t.scopes[p.ref]
	if sc == nil {
		return nil
	}
	p.size = sc.live.size
	if sc.past.lastDied > p.version {
		p.size += sc.past.size
	}
	return sc.read(dst, p.behind, p.version, p.at)
}

// read fills dst, from the back, with the visible records behind a position.
func (sc *scope) read(dst []*record, behind position, v uint64, at int64) []*record {
	live := sc.live.below(behind)
	if sc.past.lastDied <= v {
		return live.fill(dst, v, at)
	}
	past := sc.past.below(behind)
	a, b := live.next(v, at), past.next(v, at)
	free := len(dst)
	for free > 0 && (a != nil || b != nil) {
		free--
		if b == nil || a != nil && b.before(a.created, a.entry.ID) {
			dst[free], a = a, live.next(v, at)
		} else {
			dst[free], b = b, past.next(v, at)
		}
	}
	return dst[free:]
}
