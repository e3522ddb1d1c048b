package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/internal/text"
	"github.com/openwop/agentmemory/memory"
)

// index is what is known of one ref: which entries have which terms, and which of them the
// newest view shows. Entries never change, so what was indexed once stays right.
type index struct {
	docs    []doc
	lengths []float32            // of the entries, in words
	number  map[string]uint32    // of an entry, by its id
	terms   map[string][]posting // in ascending order of entries, but for what is packed
	bytes   int64

	times  []uint32 // the entries, the oldest first if sorted
	sorted bool

	scope    memory.Scope
	packs    []packedTerms   // of the pages that were loaded, which come first
	unpacked map[string]bool // terms that have everything that was packed

	vectors    []vector          // by entry; it may be shorter
	waiting    map[string]vector // of entries that the index does not have
	dimensions int               // of the vectors, if there are any
	batches    int               // of vectors that the index has

	last *snapshot // of the newest view, at some instant
}

// doc is an entry.
type doc struct {
	id      string
	created int64 // milliseconds
	expires int64 // milliseconds; 0 for never
	live    bool  // the newest view shows it, unless it has expired
	merged  int32 // how many entries a merge made it of
}

// posting is how much of a term an entry has.
type posting struct {
	doc    uint32
	weight float32
}

// exactPrefix stands before a tag as it is, which no word begins with.
const exactPrefix = "\x02"

// subjectPrefix stands before a subject, namePrefix before each of its words, and datePrefix before the
// words of the day on which an entry was made.
const (
	subjectPrefix = "\x01"
	namePrefix    = "\x03"
	datePrefix    = "\x04"
)

// tagWeight is how much a word in a tag counts, against one of the content.
const tagWeight = 2

func newIndex(s memory.Scope) *index {
	return &index{scope: s, number: map[string]uint32{}, terms: map[string][]posting{}, unpacked: map[string]bool{}, waiting: map[string]vector{}}
}

// add takes in an entry that the index does not have, and returns its number.
func (x *index) add(e *memory.Entry) uint32 {
	if n, known := x.number[e.ID]; known {
		return n
	}
	n := uint32(len(x.docs))
	d := doc{id: strings.Clone(e.ID), created: e.CreatedAt.UnixMilli()}
	if !e.ExpiresAt.IsZero() {
		d.expires = e.ExpiresAt.UnixMilli()
	}
	if !e.Compacted() {
		d.merged = int32(len(e.Sources))
	}
	count, length := map[string]float32{}, float32(0)
	for t := range text.Terms(e.Content) {
		count[t]++
		length++
	}
	for _, tag := range e.Tags {
		for t := range text.Terms(tag) {
			count[t] += tagWeight
			length++
		}
	}
	for _, tag := range e.Tags {
		count[exactPrefix+tag] = 0 // for the filter: it weighs nothing
	}
	for _, subject := range e.Subjects {
		count[subjectPrefix+subject] = 0
		for t := range text.Terms(subject) {
			if len(t) > 2 && !strings.ContainsAny(t, "0123456789") { // it may be a name
				count[namePrefix+t] = 0
			}
		}
	}
	for t := range text.Terms(e.CreatedAt.UTC().Format("Monday 2 January 2006")) {
		count[datePrefix+t] = 0
	}
	for t, weight := range count {
		list, known := x.terms[t]
		if !known {
			t = strings.Clone(t)
			x.bytes += int64(len(t)) + perTerm
		}
		x.terms[t] = append(list, posting{n, weight})
	}
	x.docs, x.lengths = append(x.docs, d), append(x.lengths, length)
	x.sorted = x.sorted && (len(x.times) == 0 || x.older(x.times[len(x.times)-1], n) < 0)
	x.times = append(x.times, n)
	if x.last != nil {
		x.last.shown = append(x.last.shown, false)
	}
	x.number[d.id] = n
	x.bytes += int64(len(d.id)) + perDoc + int64(len(count))*perPosting
	if v, waits := x.waiting[d.id]; waits {
		delete(x.waiting, d.id)
		x.bytes -= int64(len(v.coords)) + perVector
		x.setVector(d.id, v)
	}
	return n
}

// What things take, estimated: with the room that slices and maps grow ahead.
const (
	perRef     = 1024 // also of one that holds nothing
	perTerm    = 64
	perDoc     = 96
	perPosting = 12
	perVector  = 48 // beside its coordinates
)

// erase takes entries out. Their words and vectors stay in no index: they are removed at once.
func (x *index) erase(ids []string) {
	gone := map[uint32]bool{}
	for _, id := range ids {
		if v, waits := x.waiting[id]; waits {
			delete(x.waiting, id)
			x.bytes -= int64(len(v.coords)) + perVector
		}
		if n, known := x.number[id]; known {
			gone[n] = true
			delete(x.number, id)
			x.setLive(n, false)
			x.docs[n] = doc{}
			x.bytes -= int64(len(id))
			if int(n) < len(x.vectors) {
				x.bytes -= int64(len(x.vectors[n].coords))
				x.vectors[n] = vector{}
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for i := range x.packs {
		x.packs[i].erase(gone)
	}
	x.times = slices.DeleteFunc(x.times, func(n uint32) bool { return gone[n] })
	for t, list := range x.terms {
		kept := slices.DeleteFunc(list, func(p posting) bool { return gone[p.doc] })
		x.bytes -= int64(len(list)-len(kept)) * perPosting
		if len(kept) == 0 {
			delete(x.terms, t)
			x.bytes -= int64(len(t)) + perTerm
		} else {
			x.terms[t] = kept
		}
	}
}

// setLive notes whether the newest view shows an entry, unless it has expired.
func (x *index) setLive(n uint32, live bool) {
	d := &x.docs[n]
	d.live = live
	if x.last == nil {
		return
	}
	now := live && !d.expired(x.last.at)
	x.last.show(n, now)
	if now && d.expires != 0 {
		x.last.until = min(x.last.until, d.expires)
	}
}

// snapshot is what a view shows of an index.
type snapshot struct {
	*index
	at     int64
	opened int64  // when the view was, for its vectors; 0 for live memory
	until  int64  // the next instant at which one of them expires
	shown  []bool // by entry
	n      int    // how many are shown
	length float64
}

func (d *doc) expired(at int64) bool { return d.expires != 0 && at >= d.expires }

// newestSnapshot is what the newest view shows at an instant.
func (x *index) newestSnapshot(v *memory.View) *snapshot {
	at, opened := v.At().UnixMilli(), int64(0)
	if !v.Opened().IsZero() {
		opened = v.Opened().UnixMilli()
	}
	if last := x.last; last != nil && last.at <= at && at < last.until {
		s := *last
		s.at, s.opened = at, opened
		return &s
	}
	s := &snapshot{index: x, at: at, opened: opened, until: math.MaxInt64, shown: make([]bool, len(x.docs))}
	for n := range x.docs {
		d := &x.docs[n]
		if !d.live || d.expired(at) {
			continue
		}
		if d.expires != 0 {
			s.until = min(s.until, d.expires)
		}
		s.show(uint32(n), true)
	}
	x.last = s
	return s
}

// with returns the same snapshot, but for some entries.
func (s *snapshot) with(shown map[uint32]bool) *snapshot {
	other := *s
	other.shown = slices.Clone(s.shown)
	for n, is := range shown {
		other.show(n, is)
	}
	return &other
}

func (s *snapshot) show(n uint32, is bool) {
	if s.shown[n] == is {
		return
	}
	s.shown[n] = is
	if is {
		s.n++
		s.length += float64(s.lengths[n])
	} else {
		s.n--
		s.length -= float64(s.lengths[n])
	}
}
