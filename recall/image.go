package recall

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// imageKind is the kind of the documents by which the index of a ref survives its process: pages that
// name, as their group, the image that they are of. They are content of the whole ref, so that any
// erasure and any purge in it removes them in its own mutation.
const imageKind = "recall.image"

// rules counts the rules by which texts are taken apart and the forms of images. An image with another
// number is not read, and not written over if the number is higher.
const rules = 5

// image names an image.
type image struct {
	rules, entries int
	sum            uint32 // of the pages
	view           string // the name of the newest view that it shows
}

const imageName = "%d %d %d %q"

func (m image) group() string {
	return fmt.Sprintf(imageName, m.rules, m.entries, m.sum, m.view)
}

// imageOf reads what group wrote; of anything else, rules is zero.
func imageOf(group string) (m image) {
	if _, err := fmt.Sscanf(group, imageName, &m.rules, &m.entries, &m.sum, &m.view); err != nil {
		return image{}
	}
	return m
}

// columns is what an image has of an index. Its entries are numbered as they stand.
type columns struct {
	IDs              string // with separator behind each
	Created, Expires []int64
	Merged           []int32
	Lengths          []float32
	Lists            lists
}

const separator = "\n" // which no id has

// symbols writes bytes as text, as a document of content must be, in which a redactor finds no word and no
// shape of a secret: it has one letter.
var symbols = base64.NewEncoding("x\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f" +
	" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").WithPadding(base64.NoPadding)

// lists are postings by the digests of their terms. A posting is how many entries it is behind the one
// before, and its weight.
type lists struct {
	Digests []uint64 // in ascending order
	Ends    []uint32
	packed  []byte
}

// digestOf is what is known of a term in an image. The ref is the salt.
func digestOf(s memory.Scope, term string) uint64 {
	sum := sha256.Sum256([]byte(s.Tenant + "\x00" + s.Ref + "\x00" + term))
	return binary.BigEndian.Uint64(sum[:])
}

// add adds a list, whose digest is higher than those before, unless it is empty.
func (l *lists) add(digest uint64, list []posting) {
	next := uint32(0)
	for _, p := range list {
		small := min(uint64(p.weight), 3)
		if l.packed = binary.AppendUvarint(l.packed, uint64(p.doc-next)<<2|small); small == 3 {
			l.packed = binary.AppendUvarint(l.packed, uint64(p.weight))
		}
		next = p.doc + 1
	}
	if len(list) > 0 {
		l.Digests, l.Ends = append(l.Digests, digest), append(l.Ends, uint32(len(l.packed)))
	}
}

// at returns the k-th list.
func (l *lists) at(k int) (list []posting) {
	packed := l.packed[:l.Ends[k]]
	if k > 0 {
		packed = packed[l.Ends[k-1]:]
	}
	number := func() uint64 {
		n, size := binary.Uvarint(packed)
		packed = packed[size:]
		return n
	}
	for next := uint32(0); len(packed) > 0; next++ {
		n := number()
		next += uint32(n >> 2)
		weight := n & 3
		if weight == 3 {
			weight = number()
		}
		list = append(list, posting{next, float32(weight)})
	}
	return list
}

// without returns the lists without some postings.
func (l *lists) without(gone func(posting) bool) (kept lists) {
	for k, digest := range l.Digests {
		kept.add(digest, slices.DeleteFunc(l.at(k), gone))
	}
	return kept
}

// encode returns the image of the entries of an index that the newest view shows, and how many those are: the
// columns, and behind them what is packed.
func (x *index) encode() (raw []byte, entries int, err error) {
	var c columns
	var ids []string
	numbers := make([]uint32, len(x.docs)) // in the image
	for n, d := range x.docs {
		if d.live {
			numbers[n] = uint32(len(ids))
			ids, c.Lengths, c.Merged = append(ids, d.id), append(c.Lengths, x.lengths[n]), append(c.Merged, d.merged)
			c.Created, c.Expires = append(c.Created, d.created), append(c.Expires, d.expires)
		}
	}
	all := map[uint64][]posting{}
	for k, digest := range x.image.Digests {
		all[digest] = x.image.at(k)
	}
	for t, list := range x.terms {
		all[digestOf(x.scope, t)] = list
	}
	for _, digest := range slices.Sorted(maps.Keys(all)) {
		var live []posting
		for _, p := range all[digest] {
			if x.docs[p.doc].live {
				live = append(live, posting{numbers[p.doc], p.weight})
			}
		}
		c.Lists.add(digest, live)
	}
	c.IDs = strings.Join(append(ids, ""), separator)
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(&c)
	return append(b.Bytes(), c.Lists.packed...), len(ids), err
}

// decode makes an index of what encode returned.
func (x *index) decode(raw []byte) error {
	var c columns
	r := bytes.NewReader(raw)
	if err := gob.NewDecoder(r).Decode(&c); err != nil {
		return err
	}
	c.Lists.packed = raw[len(raw)-r.Len():]
	ids := strings.Split(c.IDs, separator)
	ids = ids[:len(ids)-1]
	x.docs, x.lengths = make([]doc, len(ids)), c.Lengths
	x.image, x.imaged = c.Lists, uint32(len(ids))
	for n, id := range ids {
		x.docs[n] = doc{id: id, created: c.Created[n], expires: c.Expires[n], live: true, merged: c.Merged[n]}
	}
	x.bytes += int64(len(ids)*perDoc + len(c.Lists.packed) + 12*len(c.Lists.Digests))
	return nil
}

// loadImage reads the index of which a ref has the image, and the name of the newest view that it
// shows; nil if there is none that this process can read.
func loadImage(ctx context.Context, v *memory.View) (x *index, view string) {
	var group string
	var raw []byte
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind}) {
		if err != nil || len(raw) > 0 && d.Group != group {
			return nil, ""
		}
		if raw, err = symbols.AppendDecode(raw, d.Value); err != nil {
			return nil, ""
		}
		group = d.Group
	}
	x, of := newIndex(v.Scope()), imageOf(group)
	if of.rules != rules || of.sum != crc32.ChecksumIEEE(raw) || x.decode(raw) != nil {
		return nil, ""
	}
	return x, of.view
}

// keepImage writes the image of a ref, if it is worth it.
func (p *upkeep) keepImage(ctx context.Context, v *memory.View, name string, done *progress) error {
	if name == "" || done.imaged == name || time.Now().Before(done.resting) {
		return nil // the store does not tell what has changed, or nothing has
	}
	if due, err := imageIsDue(ctx, v); err != nil {
		return err
	} else if !due {
		done.imaged = name
		return nil
	}
	began := time.Now()
	// An image has no text, and so nothing that a redactor could take out.
	err := p.bank.Pass(ctx, memory.JobConfig{ID: "recall-image", Tenant: v.Scope().Tenant, Redactor: wordless{}}, func(job *memory.Job) error {
		return p.writeImage(ctx, job, v)
	})
	done.resting = time.Now().Add(imageRest * time.Since(began))
	if errors.Is(err, memory.ErrConflict) {
		return nil // something was erased, or another process writes it
	}
	return err
}

// wordless is the redactor of a pass that writes numbers and digests only.
type wordless struct{}

func (wordless) Redact(text string) (string, error)        { return text, nil }
func (wordless) RedactDerived(text string) (string, error) { return text, nil }

// An image is written of a ref that has some entries, if so much has changed since the last one. What
// is erased and purged often does not have it written all the time.
var imageMin = 256

const imageRest = 20 // times as long as the writing took

// imageIsDue reports whether a ref needs another image.
func imageIsDue(ctx context.Context, v *memory.View) (due bool, err error) {
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind, Bare: true}) {
		m := imageOf(d.Group)
		if err != nil || m.rules > rules {
			return false, err
		}
		if m.rules < rules {
			break
		}
		_, later, _, err := v.Differs(ctx, m.view)
		if errors.Is(err, memory.ErrSnapshotUnavailable) {
			return true, nil
		}
		return len(later.Put)+len(later.Retired)+len(later.Restored) >= max(imageMin, m.entries/64), err
	}
	entries := 0
	for _, err := range v.Entries(ctx) {
		if entries++; err != nil || entries == imageMin {
			return err == nil, err
		}
	}
	return false, nil
}

// pageBytes is what is in a page, which fits into a document when it is written in symbols.
var pageBytes = driver.MaxDocumentBytes / 4 * 3

// writeImage writes the image of a ref. Its documents are there, without a value at first, before the
// ref is read: an erasure from then on removes them, and the values are refused.
func (p *upkeep) writeImage(ctx context.Context, job *memory.Job, v *memory.View) error {
	at := v.Scope()
	var pages []driver.DocumentSwap // that there are
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind, Bare: true}) {
		if err != nil {
			return err
		}
		pages = append(pages, driver.DocumentSwap{Document: d})
	}
	c := &cached{}
	for need := 1; ; {
		have := len(pages)
		for n := have; n < need; n++ {
			d := driver.Document{Scope: at, Class: driver.Content, Kind: imageKind, Key: fmt.Sprintf("%05d", n), Whole: true}
			pages = append(pages, driver.DocumentSwap{Document: d})
		}
		if have < need {
			revs, err := swap(ctx, job, at.Ref, pages[have:])
			if err != nil {
				return err
			}
			for n, rev := range revs {
				pages[have+n].Rev = rev
			}
		}
		raw, m, err := c.newImage(ctx, v)
		if err != nil {
			return err
		}
		values := slices.Collect(slices.Chunk(raw, pageBytes))
		if need = len(values); need > len(pages) {
			continue
		}
		p.written += m.entries
		for n := range pages {
			if pages[n].Act, pages[n].Group = driver.Remove, m.group(); n < need {
				pages[n].Act, pages[n].Value = driver.Set, symbols.AppendEncode(nil, values[n])
			}
		}
		_, err = swap(ctx, job, at.Ref, pages)
		return err
	}
}

// newImage brings an index up to date, and returns its image and that one's name.
func (c *cached) newImage(ctx context.Context, v *memory.View) (raw []byte, m image, err error) {
	v, name, err := v.Newest(ctx)
	if err == nil {
		err = c.bringTo(ctx, v, name, nil)
	}
	if err != nil {
		return nil, m, err
	}
	raw, entries, err := c.index.encode()
	return raw, image{rules, entries, crc32.ChecksumIEEE(raw), name}, err
}
