package recall

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A page is text, as a document of content must be, without a letter or a digit but in the ids of its
// entries: a redactor finds no word and no shape of a secret in it. Terms are known in it by
// digests, for which the ref is the salt.

// packedTerms are the postings of some entries by the digests of their terms.
type packedTerms struct {
	first   uint32 // entry
	behind  uint32 // the last one
	digests string // in ascending order
	starts  []uint32
	lists   string
}

// symbols write numbers, five bits by each: the last of a number is of the first 32.
const symbols = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f" +
	" !\"#$%&'()*+,-./;<=>?@[\\]^_`{|}~"

const noSymbol = 64

var symbolValues = func() (values [256]byte) {
	for i := range values {
		values[i] = noSymbol
	}
	for i := range len(symbols) {
		values[symbols[i]] = byte(i)
	}
	return values
}()

func appendNumber(b []byte, n uint64) []byte { return append(appendHigh(b, n>>5), symbols[n&31]) }

func appendHigh(b []byte, n uint64) []byte {
	if n == 0 {
		return b
	}
	return append(appendHigh(b, n>>5), symbols[32+n&31])
}

// zigzag writes a number that may be below zero.
func zigzag(n int64) uint64 { return uint64(n<<1 ^ n>>63) }

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// packedReader reads what was packed. Once something does not fit, all that follows is zero.
type packedReader struct {
	s       string
	damaged bool
}

func (r *packedReader) number() (n uint64) {
	for i := range len(r.s) {
		v := symbolValues[r.s[i]]
		n = n<<5 | uint64(v&31)
		if v < 32 {
			r.s = r.s[i+1:]
			return n
		}
		if v == noSymbol {
			break
		}
	}
	r.s, r.damaged = "", true
	return 0
}

func (r *packedReader) text(size uint64) (text string) {
	if size > uint64(len(r.s)) {
		r.s, r.damaged = "", true
		return ""
	}
	text, r.s = r.s[:size], r.s[size:]
	return text
}

// digestSize is the length of a digest: of 60 bits.
const digestSize = 12

func digestOf(s memory.Scope, term string) string {
	sum := sha256.Sum256([]byte(s.Tenant + "\x00" + s.Ref + "\x00" + term))
	for i := range digestSize {
		sum[i] = symbols[sum[i]&31]
	}
	return string(sum[:digestSize])
}

// pageBytes bounds what a page takes, as its entries are estimated, so that it fits into a document.
var pageBytes = driver.MaxDocumentBytes

// pages returns the pages that hold the live entries of an index, of which no question was asked, and
// how many those are.
func (x *index) pages() (pages [][]byte, entries int) {
	numbers := make([]uint32, len(x.docs)) // in the pages
	var live []uint32
	for n := range x.docs {
		if x.docs[n].live {
			numbers[n] = uint32(len(live))
			live = append(live, uint32(n))
		}
	}
	lists := make(map[string][]posting, len(x.terms))
	collect := func(digest string, list []posting) {
		for _, p := range list {
			if x.docs[p.doc].live {
				lists[digest] = append(lists[digest], posting{numbers[p.doc], p.weight})
			}
		}
	}
	for i := range x.packs {
		p := &x.packs[i]
		for k := range p.starts {
			collect(p.digest(k), p.appendList(nil, k))
		}
	}
	for t, list := range x.terms {
		collect(digestOf(x.scope, t), list)
	}
	for first, behind := 0, 0; behind < len(live) || len(pages) == 0; first = behind {
		for size := 0; behind < len(live) && (size < pageBytes || behind == first); behind++ {
			size += 200 + 20*int(x.lengths[live[behind]])
		}
		pages = append(pages, packTerms(x.packDocs(live[first:behind]), lists, uint32(first), uint32(behind)))
	}
	return pages, len(live)
}

func (x *index) packDocs(numbers []uint32) []byte {
	b := appendNumber(nil, uint64(len(numbers)))
	last := int64(0)
	for _, n := range numbers {
		d := &x.docs[n]
		expires := uint64(0)
		if d.expires != 0 {
			expires = 1 + zigzag(d.expires-d.created)
		}
		b = append(appendNumber(b, uint64(len(d.id))), d.id...)
		for _, n := range [...]uint64{zigzag(d.created - last), expires, uint64(d.merged), uint64(x.lengths[n])} {
			b = appendNumber(b, n)
		}
		last = d.created
	}
	return b
}

// packTerms appends what the lists have of the entries from first to before behind, as pages number
// them.
func packTerms(b []byte, all map[string][]posting, first, behind uint32) []byte {
	var digests, sizes, lists []byte
	count := uint64(0)
	for _, digest := range slices.Sorted(maps.Keys(all)) {
		start, next := len(lists), first
		for _, p := range all[digest] {
			if p.doc < first || p.doc >= behind {
				continue
			}
			small := min(uint64(p.weight), 3)
			if lists = appendNumber(lists, uint64(p.doc-next)<<2|small); small == 3 {
				lists = appendNumber(lists, uint64(p.weight))
			}
			next = p.doc + 1
		}
		if len(lists) > start {
			digests, sizes, count = append(digests, digest...), appendNumber(sizes, uint64(len(lists)-start)), count+1
		}
	}
	return slices.Concat(appendNumber(b, count), digests, sizes, lists)
}

// load adds the entries of a page to an index, as live ones; ok is false if it is damaged.
func (x *index) load(page string) (ok bool) {
	r := packedReader{s: page}
	first, last := uint32(len(x.docs)), int64(0)
	for range r.number() {
		d := doc{id: r.text(r.number()), live: true}
		d.created = last + unzigzag(r.number())
		last = d.created
		if expires := r.number(); expires != 0 {
			d.expires = d.created + unzigzag(expires-1)
		}
		d.merged = int32(r.number())
		if r.damaged {
			return false
		}
		x.number[d.id] = uint32(len(x.docs))
		x.times, x.sorted = append(x.times, uint32(len(x.docs))), false
		x.docs, x.lengths = append(x.docs, d), append(x.lengths, float32(r.number()))
		x.bytes += perDoc
	}
	p, ok := unpackTerms(&r, first, uint32(len(x.docs)))
	x.packs = append(x.packs, p)
	x.bytes += int64(len(page) + 4*len(p.starts))
	return ok
}

func unpackTerms(r *packedReader, first, behind uint32) (p packedTerms, ok bool) {
	terms := r.number()
	p = packedTerms{first: first, behind: behind, digests: r.text(digestSize * min(terms, uint64(len(r.s))))}
	p.starts = make([]uint32, len(p.digests)/digestSize)
	size := uint64(0)
	for i := range p.starts {
		p.starts[i] = uint32(size)
		size += r.number()
	}
	p.lists = r.text(size)
	return p, !r.damaged && r.s == ""
}

func (p *packedTerms) digest(k int) string { return p.digests[k*digestSize:][:digestSize] }

// appendList appends the k-th list.
func (p *packedTerms) appendList(list []posting, k int) []posting {
	end := uint32(len(p.lists))
	if k+1 < len(p.starts) {
		end = p.starts[k+1]
	}
	next := p.first
	for r := (packedReader{s: p.lists[p.starts[k]:end]}); r.s != ""; {
		n := r.number()
		weight := n & 3
		if weight == 3 {
			weight = r.number()
		}
		if n>>2 >= uint64(p.behind-next) { // it is damaged
			break
		}
		list = append(list, posting{next + uint32(n>>2), float32(weight)})
		next += uint32(n>>2) + 1
	}
	return list
}

// postings returns which entries have a term. What is packed of it is unpacked once.
func (x *index) postings(term string) []posting {
	if len(x.packs) == 0 || x.unpacked[term] {
		return x.terms[term]
	}
	digest := digestOf(x.scope, term)
	var list []posting
	for i := range x.packs {
		p := &x.packs[i]
		if k, found := sort.Find(len(p.starts), func(k int) int { return strings.Compare(digest, p.digest(k)) }); found {
			list = p.appendList(list, k)
		}
	}
	if len(list) == 0 {
		return x.terms[term]
	}
	if _, known := x.terms[term]; !known {
		x.bytes += int64(len(term)) + perTerm
	}
	x.bytes += int64(len(list)) * perPosting
	list = append(list, x.terms[term]...)
	x.terms[term], x.unpacked[term] = list, true
	return list
}

// erase takes the entries that are gone out of the lists.
func (p *packedTerms) erase(gone map[uint32]bool) {
	has := false
	for n := range gone {
		has = has || p.first <= n && n < p.behind
	}
	if !has {
		return
	}
	all := make(map[string][]posting, len(p.starts))
	for k := range p.starts {
		if kept := slices.DeleteFunc(p.appendList(nil, k), func(q posting) bool { return gone[q.doc] }); len(kept) > 0 {
			all[p.digest(k)] = kept
		}
	}
	*p, _ = unpackTerms(&packedReader{s: string(packTerms(nil, all, p.first, p.behind))}, p.first, p.behind)
}
