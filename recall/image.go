package recall

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// imageKind is the kind of the documents by which the index of a ref survives its process: pages that
// name, as their group, the image that they are of. They are content of the whole ref, so that any
// erasure and any purge in it removes them in its own mutation.
const imageKind = "recall.image"

// imageFormat counts the forms of an image, and imageWords the rules by which texts are taken apart.
// What has another number of either is not read, and not written over if the number is higher.
const (
	imageFormat = 1
	imageWords  = 4
)

// image names an image.
type image struct {
	format, words, pages, entries int
	view                          string // the name of the newest view that it shows
}

func (m image) group() string {
	return fmt.Sprintf("%d %d %d %d %s", m.format, m.words, m.pages, m.entries, m.view)
}

// imageOf reads what group wrote; anything else is zero.
func imageOf(group string) (m image) {
	fields := strings.SplitN(group, " ", 5)
	if len(fields) < 5 {
		return image{}
	}
	for i, to := range []*int{&m.format, &m.words, &m.pages, &m.entries} {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 {
			return image{}
		}
		*to = n
	}
	m.view = fields[4]
	return m
}

func (m image) readable() bool { return m.format == imageFormat && m.words == imageWords }

func (m image) newer() bool { return m.format > imageFormat || m.words > imageWords }

// loadImage reads the index of which a ref has the image, and the name of the newest view that it
// shows; ok is false if there is none that this process can read.
func loadImage(ctx context.Context, v *memory.View) (x *index, view string, ok bool) {
	x = newIndex(v.Scope())
	var of image
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind}) {
		m := imageOf(d.Group)
		if len(x.packs) == 0 {
			of = m
		}
		if err != nil || m != of || !m.readable() || !x.load(string(d.Value)) {
			return nil, "", false
		}
	}
	return x, of.view, len(x.packs) > 0 && len(x.packs) == of.pages
}

// keepImage writes the image of a ref, if it is worth it.
func (p *upkeep) keepImage(ctx context.Context, at memory.Scope) error {
	v, name, err := p.bank.Engines().View(ctx, at.Tenant, at.Ref)
	switch {
	case errors.Is(err, memory.ErrForbidden), err == nil && name == "":
		return nil // it cannot be read, or the store does not tell what has changed
	case err != nil:
		return err
	}
	began := time.Now()
	if p.imaged[at] == name || began.Before(p.resting[at]) {
		return nil
	}
	due, err := p.imageIsDue(ctx, v)
	if due && err == nil {
		err = p.pass(ctx, "recall-image", at.Tenant, func(job *memory.Job) error { return p.writeImage(ctx, job, at) })
		p.resting[at] = time.Now().Add(imageRest * time.Since(began))
	}
	if errors.Is(err, memory.ErrConflict) || errors.Is(err, memory.ErrSecretLeakage) {
		return nil // something was erased, another process writes it, or an id is taken for a secret
	}
	if err == nil && !due {
		p.imaged[at] = name
	}
	return err
}

// An image is written of a ref that has some entries, if so much has changed since the last one. What
// is erased and purged often does not have it written all the time.
var imageMin = 256

const imageRest = 20 // times as long as the writing took

// imageIsDue reports whether a ref needs another image.
func (p *upkeep) imageIsDue(ctx context.Context, v *memory.View) (due bool, err error) {
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: imageKind, Bare: true}) {
		m := imageOf(d.Group)
		if err != nil || m.newer() {
			return false, err
		}
		if !m.readable() {
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

// writeImage writes the image of a ref. Its documents are there, without a value at first, before the
// ref is read: an erasure from then on removes them, and the values are refused.
func (p *upkeep) writeImage(ctx context.Context, job *memory.Job, at memory.Scope) error {
	var pages []driver.DocumentSwap // that there are
	for d, err := range job.Documents(ctx, at.Ref, driver.DocumentQuery{Kind: imageKind, Bare: true}) {
		if err != nil {
			return err
		}
		pages = append(pages, driver.DocumentSwap{Document: d})
	}
	commit := func(swaps []driver.DocumentSwap) ([]int64, error) {
		done, err := job.Rewrite(ctx, at.Ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps }})
		return done.Revs, err
	}
	c := &cached{scope: at}
	for {
		v, _, err := p.bank.Engines().View(ctx, at.Tenant, at.Ref)
		if err != nil {
			return err
		}
		v, name, err := v.Newest(ctx)
		if err == nil {
			err = p.wordsOnly.update(ctx, c, v, name)
		}
		if err != nil {
			return err
		}
		values, entries := c.index.pages()
		if len(values) <= len(pages) {
			p.written += entries
			m := image{imageFormat, imageWords, len(values), entries, name}
			for n := range pages {
				if pages[n].Act, pages[n].Group = driver.Remove, m.group(); n < len(values) {
					pages[n].Act, pages[n].Value = driver.Set, values[n]
				}
			}
			_, err = commit(pages)
			return err
		}
		for n := len(pages); n < len(values); n++ {
			d := driver.Document{Scope: at, Class: driver.Content, Kind: imageKind, Key: fmt.Sprintf("%05d", n), Whole: true}
			revs, err := commit([]driver.DocumentSwap{{Document: d}})
			if err != nil {
				return err
			}
			d.Rev = revs[0]
			pages = append(pages, driver.DocumentSwap{Document: d})
		}
	}
}
