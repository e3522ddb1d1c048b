package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/text"
	"github.com/openwop/agentmemory/memory"
)

// index is what is known of one ref: which entries have which terms, and which of them the
// newest view shows. Entries never change, so what was indexed once stays right.
type index struct {
	scope   memory.Scope
	docs    []doc
	lengths []float32            // of the entries, in words
	number  map[string]uint32    // of an entry, by its id; nil until numberOf needs it
	terms   map[string][]posting // in ascending order of entries
	bytes   int64

	image  lists    // of the first entries, until a term is asked for
	imaged uint32   // how many entries those are
	times  []uint32 // the entries, the oldest first; see inTime

	vectors    map[string]vector // by the id of the entry, which the index may not have
	dimensions int               // of the vectors, if there are any
	waiting    map[string]words  // other words of entries that the index does not have, by their ids
	batches    map[string]int    // that the index has of a kind of document that a model makes

	last *snapshot // of the newest view, at some instant
}

// doc is an entry.
type doc struct {
	id      string
	created int64 // milliseconds
	expires int64 // milliseconds; 0 for never
	live    bool  // the newest view shows it, unless it has expired
	merged  int32 // how many entries a merge made it of

	otherwise int64 // since when its other words count in views; 0 without any
}

// words are other words for an entry that the index does not have.
type words struct {
	since int64
	text  string
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

// otherPrefix stands before a word among the other words for an entry.
const otherPrefix = "\x05"

// tagWeight is how much a word in a tag counts, against one of the content.
const tagWeight = 2

func newIndex(s memory.Scope) *index {
	return &index{scope: s, terms: map[string][]posting{}, vectors: map[string]vector{}, waiting: map[string]words{}, batches: map[string]int{}}
}

// add takes in an entry that the index does not have, and returns its number.
func (x *index) add(e *memory.Entry) uint32 {
	if n, known := x.numberOf(e.ID); known {
		return n
	}
	n := uint32(len(x.docs))
	d := doc{id: strings.Clone(e.ID), created: e.CreatedAt.UnixMilli(), expires: millis(e.ExpiresAt)}
	if !e.Compacted() {
		d.merged = int32(len(e.Sources))
	}
	count := map[string]float32{}
	length := countTerms(count, "", e.Content, 1)
	for _, tag := range e.Tags {
		count[exactPrefix+tag] = 0 // for the filter: it weighs nothing
		length += countTerms(count, "", tag, tagWeight)
	}
	for _, subject := range e.Subjects {
		count[subjectPrefix+subject] = 0
		for _, t := range text.Terms(subject) {
			if len(t) > 2 && !strings.ContainsAny(t, "0123456789") { // it may be a name
				count[namePrefix+t] = 0
			}
		}
	}
	countTerms(count, datePrefix, e.CreatedAt.UTC().Format("Monday 2 January 2006"), 0)
	x.post(n, count)
	x.docs, x.lengths = append(x.docs, d), append(x.lengths, length)
	if x.last != nil {
		x.last.shown = append(x.last.shown, false)
	}
	x.number[d.id] = n
	x.bytes += perDoc
	x.addWords(d.id, x.waiting[d.id])
	delete(x.waiting, d.id)
	return n
}

// countTerms counts the terms of a text with a weight, and returns how many there are.
func countTerms(count map[string]float32, prefix, s string, weight float32) float32 {
	terms := text.Terms(s)
	for _, t := range terms {
		count[prefix+t] += weight
	}
	return float32(len(terms))
}

// post adds an entry to the postings of its terms.
func (x *index) post(n uint32, count map[string]float32) {
	for t, weight := range count {
		list := x.postings(t)
		if len(list) == 0 {
			t = strings.Clone(t)
			x.bytes += int64(len(t)) + perTerm
		}
		x.terms[t] = append(list, posting{n, weight})
	}
	x.bytes += int64(len(count)) * perPosting
}

// addWords takes in other words for an entry, once, or keeps them until the index has the entry.
func (x *index) addWords(id string, w words) {
	n, known := x.numberOf(id)
	if !known {
		x.waiting[id] = w
	} else if x.docs[n].otherwise == 0 {
		count := map[string]float32{}
		countTerms(count, otherPrefix, w.text, 1)
		x.docs[n].otherwise = w.since
		x.post(n, count)
	}
}

// numberOf returns the number of an entry. Most questions of a process that has read an image need none.
func (x *index) numberOf(id string) (n uint32, known bool) {
	if x.number == nil {
		x.number = make(map[string]uint32, len(x.docs))
		for n, d := range x.docs {
			x.number[d.id] = uint32(n)
		}
	}
	n, known = x.number[id]
	return n, known
}

// What things take, estimated: with the room that slices and maps grow ahead.
const (
	perRef     = 1024 // also of one that holds nothing
	perTerm    = 64
	perDoc     = 128 // with its id
	perPosting = 12
	perVector  = 96 // beside its coordinates
)

// postings returns which entries have a term. What the image has of it is read when it is first asked for.
func (x *index) postings(term string) []posting {
	list, known := x.terms[term]
	if known || x.imaged == 0 {
		return list
	}
	k, found := slices.BinarySearch(x.image.Digests, digestOf(x.scope, term))
	if !found {
		return nil
	}
	list, term = x.image.at(k), strings.Clone(term)
	x.terms[term] = list
	x.bytes += int64(len(term)+len(list)*perPosting) + perTerm
	return list
}

// has reports whether an entry has a term.
func (x *index) has(n uint32, term string) bool {
	_, has := slices.BinarySearchFunc(x.postings(term), n, func(p posting, n uint32) int { return cmp.Compare(p.doc, n) })
	return has
}

// erase takes entries out. Their words and vectors stay in no index: they are removed at once.
func (x *index) erase(ids []string) {
	gone, imaged := map[uint32]bool{}, false
	for _, id := range ids {
		delete(x.vectors, id)
		delete(x.waiting, id)
		if n, known := x.numberOf(id); known {
			gone[n], imaged = true, imaged || n < x.imaged
			delete(x.number, id)
			x.setLive(n, false)
			x.docs[n] = doc{}
		}
	}
	if len(gone) == 0 {
		return
	}
	x.times = nil
	isGone := func(p posting) bool { return gone[p.doc] }
	if imaged {
		x.image = x.image.without(isGone)
	}
	for t, list := range x.terms {
		kept := slices.DeleteFunc(list, isGone)
		x.bytes -= int64(len(list)-len(kept)) * perPosting
		if x.terms[t] = kept; len(kept) == 0 {
			delete(x.terms, t)
			x.bytes -= int64(len(t)) + perTerm
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

// millis is an instant in milliseconds; 0 if it is zero.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (d *doc) expired(at int64) bool { return d.expires != 0 && at >= d.expires }

// newestSnapshot is what the newest view shows at an instant. Its shown is that of the index.
func (x *index) newestSnapshot(v *memory.View) *snapshot {
	at := v.At().UnixMilli()
	if x.last == nil || at < x.last.at || at >= x.last.until {
		x.last = &snapshot{index: x, at: at, until: math.MaxInt64, shown: make([]bool, len(x.docs))}
		for n := range x.docs {
			x.setLive(uint32(n), x.docs[n].live)
		}
	}
	s := *x.last
	s.at, s.opened = at, millis(v.Opened())
	return &s
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

// otherwise returns which entries have a word among their other words that the view knows.
func (s *snapshot) otherwise(term string) []posting {
	list := s.postings(otherPrefix + term)
	if s.opened == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(p posting) bool { return !s.knows(s.docs[p.doc].otherwise) })
}
