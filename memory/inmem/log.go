package inmem

import (
	"math"
	"slices"
	"sort"
)

// chunkSize bounds a chunk: large enough that a list rarely changes chunks and
// that skipping one pays, small enough that an insertion in the middle is cheap.
const chunkSize = 512

// log holds records in order, oldest first, in chunks that a reader can skip as
// a whole. New records are nearly always the newest, so they go to the end.
type log struct {
	chunks   []chunk
	size     int
	lastDied uint64 // no record died later
}

// chunk is a part of a log. It is never empty. Its bounds hold for all its records
// and may be wider than need be.
type chunk struct {
	recs                   []*record
	firstBorn, lastBorn    uint64
	lastDied               uint64 // 0 if all are live
	minExpires, maxExpires int64
}

func newChunk(recs ...*record) chunk {
	c := chunk{recs: recs, firstBorn: math.MaxUint64, minExpires: never}
	for _, r := range recs {
		c.widen(r)
	}
	return c
}

func (c *chunk) widen(r *record) {
	c.firstBorn = min(c.firstBorn, r.firstBorn())
	c.lastBorn = max(c.lastBorn, r.born)
	c.lastDied = max(c.lastDied, r.died)
	c.minExpires = min(c.minExpires, r.expires)
	c.maxExpires = max(c.maxExpires, r.expires)
}

// locate returns where in the log the position (created, id) is: before the
// record i of chunk c, and behind all older ones. i may be the chunk's length.
func (l *log) locate(created int64, id string) (c, i int) {
	c = max(0, sort.Search(len(l.chunks), func(c int) bool {
		return !l.chunks[c].recs[0].before(created, id)
	})-1)
	if c < len(l.chunks) {
		recs := l.chunks[c].recs
		i = sort.Search(len(recs), func(i int) bool { return !recs[i].before(created, id) })
	}
	return c, i
}

func (l *log) insert(r *record) {
	l.size++
	l.lastDied = max(l.lastDied, r.died)
	last := len(l.chunks) - 1
	c, i := last, 0
	if last >= 0 {
		i = len(l.chunks[last].recs)
		if newest := l.chunks[last].recs[i-1]; !newest.before(r.created, r.entry.ID) {
			c, i = l.locate(r.created, r.entry.ID)
		}
	}
	switch {
	case last < 0, c == last && i == chunkSize:
		l.chunks = append(l.chunks, newChunk(r))
		return
	case len(l.chunks[c].recs) == chunkSize:
		l.split(c)
		if half := len(l.chunks[c].recs); i > half {
			c, i = c+1, i-half
		}
	}
	ch := &l.chunks[c]
	ch.recs = slices.Insert(ch.recs, i, r)
	ch.widen(r)
}

func (l *log) split(c int) {
	recs := l.chunks[c].recs
	left, right := recs[:chunkSize/2], slices.Clone(recs[chunkSize/2:])
	clear(recs[chunkSize/2:])
	l.chunks[c] = newChunk(left...)
	l.chunks = slices.Insert(l.chunks, c+1, newChunk(right...))
}

// remove takes r out. Chunks that became small are joined, or a log that loses
// records here and there would become a long row of tiny chunks.
func (l *log) remove(r *record) {
	l.size--
	c, i := l.locate(r.created, r.entry.ID)
	if i == len(l.chunks[c].recs) {
		c, i = c+1, 0
	}
	ch := &l.chunks[c]
	ch.recs = slices.Delete(ch.recs, i, i+1)
	switch {
	case len(ch.recs) == 0:
		l.chunks = slices.Delete(l.chunks, c, c+1)
	case len(ch.recs) < chunkSize/4 && c > 0 && len(l.chunks[c-1].recs) < chunkSize/4:
		l.chunks[c-1] = newChunk(append(l.chunks[c-1].recs, ch.recs...)...)
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
}

// discard removes the records for which gone holds.
func (l *log) discard(gone func(*record) bool) {
	kept := log{chunks: l.chunks[:0]}
	for _, c := range l.chunks {
		n := len(c.recs)
		if c.recs = slices.DeleteFunc(c.recs, gone); len(c.recs) == 0 {
			continue
		}
		if len(c.recs) < n {
			c = newChunk(c.recs...)
		}
		kept.append(c)
	}
	clear(l.chunks[len(kept.chunks):])
	*l = kept
}

// append adds a chunk whose records are newer than all others.
func (l *log) append(c chunk) {
	l.size += len(c.recs)
	l.lastDied = max(l.lastDied, c.lastDied)
	last := len(l.chunks) - 1
	if last >= 0 && len(l.chunks[last].recs)+len(c.recs) <= chunkSize/2 {
		l.chunks[last] = newChunk(append(l.chunks[last].recs, c.recs...)...)
	} else {
		l.chunks = append(l.chunks, c)
	}
}

// hidden reports whether no record of c can be seen at version v and instant at.
func (c *chunk) hidden(v uint64, at int64) bool {
	return v < c.firstBorn || at >= c.maxExpires || 0 < c.lastDied && c.lastDied <= v
}

// cursor walks down a log, from newer to older.
type cursor struct {
	recs   []*record // the last of them is next
	chunks []chunk   // what comes then, the last of them first
}

// below starts behind the position p.
func (l *log) below(p position) cursor {
	if !p.set || len(l.chunks) == 0 {
		return cursor{chunks: l.chunks}
	}
	c, i := l.locate(p.created, p.id)
	return cursor{recs: l.chunks[c].recs[:i], chunks: l.chunks[:c]}
}

// next returns the next record that version v shows at the instant at, or nil.
func (k *cursor) next(v uint64, at int64) *record {
	for {
		for i := len(k.recs) - 1; i >= 0; i-- {
			if r := k.recs[i]; r.visible(v, at) {
				k.recs = k.recs[:i]
				return r
			}
		}
		if !k.turn(v, at) {
			return nil
		}
	}
}

// turn goes to the next chunk that may have something to show.
func (k *cursor) turn(v uint64, at int64) bool {
	k.recs = nil
	for c := len(k.chunks) - 1; c >= 0; c-- {
		if ch := &k.chunks[c]; !ch.hidden(v, at) {
			k.recs, k.chunks = ch.recs, k.chunks[:c]
			return true
		}
	}
	k.chunks = nil
	return false
}
