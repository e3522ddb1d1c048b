package consolidate

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// fullPage is from how many bytes on a page of the journal is full.
const fullPage = 4096

// line is one group in the journal of a pass.
type line struct {
	to   memory.State // what the entries became
	keep string       // the entry that stayed; empty where a new text took their place
	ids  []string
}

const (
	merging     = 'm'
	superseding = 's'
)

func (l line) append(dst []byte) []byte {
	kind := byte(merging)
	if l.to == memory.Superseded {
		kind = superseding
	}
	dst = append(dst, kind, '\t')
	dst = append(dst, l.keep...)
	for _, id := range l.ids {
		dst = append(append(dst, '\t'), id...)
	}
	return append(dst, '\n')
}

func readLines(page []byte) (lines []line) {
	for text := range strings.Lines(string(page)) {
		fields := strings.Split(strings.TrimSuffix(text, "\n"), "\t")
		if len(fields) < 3 {
			continue
		}
		l := line{to: memory.Merged, keep: fields[1], ids: fields[2:]}
		if fields[0] == string(rune(superseding)) {
			l.to = memory.Superseded
		}
		lines = append(lines, l)
	}
	return lines
}

func journalPage(pass string, n int) string { return hash(pass) + "/" + strconv.Itoa(n) }

// journal returns the page that a line goes into, with the line, and its number.
func (p *pass) journal(l line) (int, memory.Document) {
	number, page := p.held.Page, p.held.page
	if len(page.Value) >= fullPage {
		number++
		page = memory.Document{Scope: page.Scope, Kind: journalKind, Key: journalPage(p.job.ID(), number)}
	}
	page.Value = l.append(bytes.Clone(page.Value))
	page.Due = p.job.Now().Add(Retention)
	return number, page
}

// undone are the groups that a host has undone: each id with its groups, by the entry
// that they had merged into. Two entries that share a group are kept apart.
type undone map[string][]string

func (u undone) add(l line, n int) {
	kind := string(rune(merging))
	if l.to == memory.Superseded {
		kind = string(rune(superseding))
	}
	group := l.keep
	if group == "" {
		group = "#" + strconv.Itoa(n)
	}
	for _, id := range append(one(l.keep), l.ids...) {
		if !slices.Contains(u[kind+id], group) {
			u[kind+id] = append(u[kind+id], group)
		}
	}
}

func (u undone) apart(kind rune, a, b string) bool {
	if len(u) == 0 {
		return false
	}
	other := u[string(kind)+b]
	for _, n := range u[string(kind)+a] {
		if slices.Contains(other, n) {
			return true
		}
	}
	return false
}

// groups are the undone merges that some entries were of, by which one more is compared
// with all of them at once.
type groups map[string]bool

func (g *groups) add(u undone, id string) {
	for _, name := range u.of(merging, id) {
		if *g == nil {
			*g = groups{}
		}
		(*g)[name] = true
	}
}

// has reports whether an entry is to be kept apart from any of the others.
func (g groups) has(u undone, id string) bool {
	return len(g) > 0 && slices.ContainsFunc(u.of(merging, id), func(name string) bool { return g[name] })
}

func (u undone) of(kind rune, id string) []string {
	if len(u) == 0 {
		return nil
	}
	return u[string(kind)+id]
}

// readUndone reads all that was undone in a ref, and the page that the next of it goes
// into.
func readUndone(ctx context.Context, job *memory.Job, ref string) (undone, lastPage, error) {
	u, n := undone{}, 0
	for last := (lastPage{}); ; last.number++ {
		var err error
		if last.page, err = job.Document(ctx, ref, undoneKind, strconv.Itoa(last.number)); err != nil {
			return nil, last, err
		}
		for _, l := range readLines(last.page.Value) {
			u.add(l, n)
			n++
		}
		if len(last.page.Value) < fullPage {
			return u, last, nil
		}
	}
}

type lastPage struct {
	number int
	page   memory.Document
}

// Undo brings back what a pass retired, as long as its journal is kept, see [Retention],
// by the rules of M10: what
// has expired or was erased stays away, and so does what went to an entry that was
// deleted since, because deleting takes along what was retired in its favour. A text
// that the pass wrote ends, if it is still live. What is brought back is not merged, or
// superseded, with the same entries again.
//
// It returns how many entries are live again. A pass that the ref does not know, or
// that changed nothing, gives 0. It takes the scope's lease, so it fails with
// [memory.ErrConflict] while a pass is under way. After an error it can be called
// again.
func (c *Consolidator) Undo(ctx context.Context, job *memory.Job, ref, pass string) (int, error) {
	p, err := c.pass(job, ref, Options{})
	if err != nil {
		return 0, err
	}
	if err := p.acquire(ctx); err != nil {
		return 0, err
	}
	n, err := p.undo(ctx, pass)
	p.release(ctx)
	return n, err
}

func (p *pass) undo(ctx context.Context, pass string) (int, error) {
	_, last, err := readUndone(ctx, p.job, p.ref)
	if err != nil {
		return 0, err
	}
	records := map[string]memory.Record{}
	for rec, err := range p.job.History(ctx, p.ref) {
		if err != nil {
			return 0, err
		}
		records[rec.Entry.ID] = rec
	}
	restored := 0
	for n := 0; ; n++ {
		page, err := p.job.Document(ctx, p.ref, journalKind, journalPage(pass, n))
		if err != nil {
			return restored, err
		}
		for _, l := range readLines(page.Value) {
			if err := ctx.Err(); err != nil {
				return restored, err
			}
			k, err := p.undoGroup(ctx, l, records, &last)
			if err != nil {
				return restored, err
			}
			restored += k
		}
		if len(page.Value) < fullPage {
			return restored, nil
		}
	}
}

// undoGroup brings one group back and notes that its entries are to be kept apart.
func (p *pass) undoGroup(ctx context.Context, l line, records map[string]memory.Record, last *lastPage) (int, error) {
	var rw memory.Rewrite
	for _, id := range l.ids {
		rec, known := records[id]
		now := p.job.Now()
		if !known || rec.State != l.to || rec.Erased || !rec.Entry.LiveAt(now) ||
			l.keep != "" && rec.For != l.keep || deletedAbove(records, rec) {
			continue
		}
		rw.Restore = append(rw.Restore, id)
		if made := records[rec.For]; l.keep == "" && made.State == memory.Live && !made.Erased && made.Entry.LiveAt(now) && len(rw.Retire) == 0 {
			rw.Retire = append(rw.Retire, memory.Retire{ID: made.Entry.ID, State: memory.Deleted})
		}
	}
	if len(rw.Restore) == 0 {
		return 0, nil
	}
	page := last.page
	if len(page.Value) >= fullPage {
		last.number++
		page = memory.Document{Scope: page.Scope, Kind: undoneKind, Key: strconv.Itoa(last.number)}
	}
	page.Value = l.append(bytes.Clone(page.Value))
	made, err := p.commit(ctx, rw, func(*state) {}, memory.DocumentSwap{Document: page})
	if errors.Is(err, errStale) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	page.Rev = made.Revs[0]
	last.page = page
	return len(rw.Restore), nil
}

// deletedAbove reports whether the lineage of a retired entry ends in one that was
// deleted.
func deletedAbove(records map[string]memory.Record, rec memory.Record) bool {
	for rec.State == memory.Merged || rec.State == memory.Superseded {
		next, known := records[rec.For]
		if !known {
			return false
		}
		rec = next
	}
	return rec.State == memory.Deleted
}

// Weights tells how many distinct entries corroborate each live entry of a ref: those
// that were merged into it, or into one that was (M8). It reads the ref's history.
func Weights(ctx context.Context, job *memory.Job, ref string) (map[string]int, error) {
	into, live := map[string]string{}, map[string]bool{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return nil, err
		}
		switch {
		case rec.State == memory.Merged:
			into[rec.Entry.ID] = rec.For
		case rec.State == memory.Live && !rec.Erased && rec.Entry.LiveAt(job.Now()):
			live[rec.Entry.ID] = true
		}
	}
	weights := map[string]int{}
	for _, head := range into {
		for next, merged := into[head]; merged; next, merged = into[head] {
			head = next
		}
		if live[head] {
			weights[head]++
		}
	}
	return weights, nil
}
