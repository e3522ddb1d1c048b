package recall

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The documents by which the index of a ref survives its process: pages of some thousand entries,
// and a head that names them. They are content of the whole ref, so that any erasure and any purge
// in it removes them in its own mutation. A page never changes: another one has another key.
const (
	imageKind = "recall.image"
	headKey   = "head"
)

// imageFormat counts the forms of an image, and imageWords the rules by which texts are taken apart.
// What has another number of either is not read, and not written over if the number is higher.
const (
	imageFormat = 1
	imageWords  = 4
)

// imageHead is the value of the head of an image.
type imageHead struct {
	Format  int      `json:"format"`
	Words   int      `json:"words"`
	View    string   `json:"view"`    // the name of the newest view that it shows
	Written int64    `json:"written"` // milliseconds
	Pages   []string `json:"pages"`   // their keys, in the order of their entries
	Entries int      `json:"entries"`
	Gone    []uint32 `json:"gone"` // entries of the pages that the view does not show
}

func (h *imageHead) readable() bool { return h.Format == imageFormat && h.Words == imageWords }

func (h *imageHead) newer() bool { return h.Format > imageFormat || h.Words > imageWords }

// imageDocument names a document of an image.
func imageDocument(s memory.Scope, key string, rev int64) driver.Document {
	return driver.Document{Scope: s, Class: driver.Content, Kind: imageKind, Key: key, Whole: true, Rev: rev}
}

// headOf reads a head; one that cannot be read is zero.
func headOf(value []byte) (h imageHead) {
	if json.Unmarshal(value, &h) != nil {
		return imageHead{}
	}
	return h
}

// loadImage reads the image of a ref; ok is false if there is none that this process can read.
// Another process may write one while it is read: then it is read again.
func loadImage(ctx context.Context, v *memory.View) (x *index, h imageHead, ok bool) {
	for range 3 {
		h = imageHead{}
		pages := map[string]string{}
		for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind}) {
			switch {
			case err != nil:
				return nil, imageHead{}, false
			case d.Key == headKey:
				h = headOf(d.Value)
			default:
				pages[d.Key] = string(d.Value)
			}
		}
		if !h.readable() {
			return nil, h, false
		}
		if x, ok = assembled(v.Scope(), &h, pages); ok {
			return x, h, true
		}
	}
	return nil, h, false
}

// assembled is the index of which an image has the pages.
func assembled(s memory.Scope, h *imageHead, pages map[string]string) (*index, bool) {
	x := newIndex(s)
	x.docs, x.lengths = make([]doc, 0, h.Entries), make([]float32, 0, h.Entries)
	x.number = make(map[string]uint32, h.Entries)
	for _, key := range h.Pages {
		if !x.load(pages[key]) {
			return nil, false
		}
	}
	for _, n := range h.Gone {
		if int(n) >= len(x.docs) {
			return nil, false
		}
		x.docs[n].live = false
	}
	return x, true
}

// imaging writes images.
type imaging struct {
	bank  *memory.Bank
	job   *memory.Job
	scope memory.Scope
	head  driver.Document  // as it was when the writing began
	stale map[string]int64 // revisions of the pages that there are, and that the new head does not name

	pages    []string // of the new head
	revs     []int64
	next     *index // entries of the page that is being filled
	reserved int64  // the revision of its document
	entries  int
}

// begin makes sure that there is a head, so that any erasure from now on is noticed.
func (w *imaging) begin(ctx context.Context) error {
	w.head, w.stale = imageDocument(w.scope, headKey, 0), map[string]int64{}
	for d, err := range w.job.Documents(ctx, w.scope.Ref, driver.DocumentQuery{Kind: imageKind, Bare: true}) {
		if err != nil {
			return err
		}
		if d.Key == headKey {
			w.head.Rev = d.Rev
		} else {
			w.stale[d.Key] = d.Rev
		}
	}
	if w.head.Rev != 0 {
		return nil
	}
	revs, err := w.commit(ctx, driver.DocumentSwap{Document: w.head})
	if err == nil {
		w.head.Rev = revs[0]
	}
	return err
}

func (w *imaging) commit(ctx context.Context, swaps ...driver.DocumentSwap) ([]int64, error) {
	done, err := w.job.Rewrite(ctx, w.scope.Ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps }})
	return done.Revs, err
}

// former goes on with the image that there is, and returns the entries of the view that it does not
// have, and which of its entries the view does not show. Without one, or if too many are gone, the
// entries are all of the view.
func (w *imaging) former(ctx context.Context, v *memory.View) (fresh iter.Seq2[memory.Entry, error], gone []uint32, err error) {
	x, h, ok := loadImage(ctx, v)
	if !ok {
		return v.Entries(ctx), nil, nil
	}
	_, later, _, err := v.Differs(ctx, h.View)
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		return v.Entries(ctx), nil, nil
	}
	touched := slices.Concat(later.Put, later.Retired, later.Restored)
	entries, failed := v.Get(ctx, touched)
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, err
	}
	entries = x.refresh(touched, entries)
	for n := range x.docs {
		if !x.docs[n].live {
			gone = append(gone, uint32(n))
		}
	}
	if len(gone) > len(x.docs)/16+imageMin {
		return v.Entries(ctx), nil, nil
	}
	for i, key := range h.Pages {
		pack := x.packs[i]
		size := pack.behind - pack.first
		if int(size) < pageEntries && i == len(h.Pages)-1 && len(entries) > 0 { // it is filled up
			w.next.docs, w.next.lengths = x.docs[pack.first:], x.lengths[pack.first:]
			pack.first, pack.behind = 0, size
			w.next.packs = []packedTerms{pack}
			break
		}
		w.pages, w.revs, w.entries = append(w.pages, key), append(w.revs, w.stale[key]), w.entries+int(size)
		delete(w.stale, key)
	}
	return func(yield func(memory.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}, gone, nil
}

// add adds an entry to the last page.
func (w *imaging) add(ctx context.Context, e *memory.Entry) error {
	if len(w.next.docs) == pageEntries {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.next.add(e)
	return nil
}

// flush writes the last page, if it holds anything. Nothing that was erased since the head was
// read can be in it: then the head is another.
func (w *imaging) flush(ctx context.Context) error {
	if len(w.next.docs) == 0 {
		return nil
	}
	unchanged := driver.DocumentSwap{Document: w.head, Act: driver.Check}
	key := strconv.FormatInt(w.head.Rev, 36) + "-" + strconv.Itoa(len(w.pages))
	d := imageDocument(w.scope, key, w.stale[key]) // of a writer that did not come to its end
	revs, err := w.commit(ctx, driver.DocumentSwap{Document: d}, unchanged)
	if err != nil {
		return err
	}
	d.Rev, d.Value = revs[0], w.next.packed()
	if revs, err = w.commit(ctx, driver.DocumentSwap{Document: d}, unchanged); err != nil {
		return err
	}
	delete(w.stale, key)
	w.pages, w.revs, w.entries = append(w.pages, key), append(w.revs, revs[0]), w.entries+len(w.next.docs)
	w.next = newIndex(w.scope)
	return nil
}

// end writes the head, and removes what it does not name.
func (w *imaging) end(ctx context.Context, view string, gone []uint32) (err error) {
	if err := w.flush(ctx); err != nil {
		return err
	}
	h := imageHead{imageFormat, imageWords, view, w.bank.Now().UnixMilli(), w.pages, w.entries, gone}
	if w.head.Value, err = json.Marshal(h); err != nil {
		return err
	}
	swaps := []driver.DocumentSwap{{Document: w.head}}
	for i, key := range w.pages {
		swaps = append(swaps, driver.DocumentSwap{Document: imageDocument(w.scope, key, w.revs[i]), Act: driver.Check})
	}
	for _, key := range slices.Sorted(maps.Keys(w.stale)) {
		swaps = append(swaps, driver.DocumentSwap{Document: imageDocument(w.scope, key, w.stale[key]), Act: driver.Remove})
	}
	_, err = w.commit(ctx, swaps...)
	return err
}
