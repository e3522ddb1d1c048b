package crashload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// docName is the name of a document.
type docName struct {
	driver.Scope
	kind, key string
}

func nameOf(d *driver.Document) docName { return docName{d.Scope, d.Kind, d.Key} }

// state is what a store holds, by lane: a line for each thing, without what it says.
type state struct {
	lines  map[string][]string
	erased map[driver.Located]bool
	revs   map[docName]int64
	kept   map[string][]string // ids of kept events, by run
}

func newState() *state {
	return &state{map[string][]string{}, map[driver.Located]bool{}, map[docName]int64{}, map[string][]string{}}
}

func (s *state) add(of, format string, args ...any) {
	s.lines[laneOf(of)] = append(s.lines[laneOf(of)], fmt.Sprintf(format, args...))
}

// stateOf reads all of a tenant, but for the events that wait or were delivered.
func stateOf(ctx context.Context, store Store, tenant string) (*state, error) {
	s := newState()
	for rec, err := range store.History(ctx, tenant, driver.HistoryQuery{}) {
		if err != nil {
			return nil, err
		}
		e := &rec.Entry
		s.erased[driver.Located{Scope: rec.Scope, ID: e.ID}] = rec.Erased
		s.add(rec.Ref, "the entry %s in %s: %s for %q, erased %v, %s", e.ID, rec.Ref, rec.State, rec.For, rec.Erased,
			sum(e.Content, e.RunID, e.CreatedAt.UnixMilli(), e.ExpiresAt.UnixMilli(), len(e.Tags), e.Tags, e.Subjects, e.Sources))
	}
	for d, err := range store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
		if err != nil {
			return nil, err
		}
		if d.Kind != countKind {
			s.revs[nameOf(&d)] = d.Rev
			s.add(d.Key, "the document %s %s in %q: class %d, group %q, due %d, of %q, whole %v, %s", d.Kind, d.Key, d.Ref, d.Class, d.Group,
				d.Due.UnixMilli(), slices.Sorted(slices.Values(d.Of)), d.Whole, sum(string(d.Value), slices.Sorted(slices.Values(d.Subjects))))
		}
	}
	_, counts, err := countsOf(ctx, store, tenant)
	if err != nil {
		return nil, err
	}
	for name, n := range counts {
		s.add(name, "%d operations were counted", n)
	}
	due, err := store.Due(ctx, documentKinds[driver.Machinery], epoch.Add(1000*24*time.Hour), math.MaxInt32)
	if err != nil {
		return nil, err
	}
	for _, d := range due {
		if d.Tenant == tenant {
			s.add(d.Key, "%s %s in %q falls due at %d", d.Kind, d.Key, d.Ref, d.Due.UnixMilli())
		}
	}
	for i := range keptRuns {
		if err := s.keep(ctx, store, tenant, keptRun(i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// keep reads the kept events of a run, each with its place in the lane and in its operation.
func (s *state) keep(ctx context.Context, store events.Reader, tenant, run string) error {
	numbers, operation, first := map[string]int{}, "", int64(0)
	for at := int64(0); ; {
		page, err := store.Read(ctx, tenant, run, at, 0)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, ev := range page {
			of := laneOf(ev.ID)
			numbers[of]++
			if operationOf(ev.ID) != operation {
				operation, first = operationOf(ev.ID), at
			}
			s.add(ev.ID, "the kept event %s of %s: %d. of its lane, %d behind the first of its operation, %s, sequence off by %d", ev.ID, run,
				numbers[of], at-first, ev.Payload.EventType(), ev.Sequence-at)
			s.kept[run] = append(s.kept[run], ev.ID)
			at++
		}
	}
}

// operationOf is the part of an id that names the operation.
func operationOf(id string) string { return id[:max(0, strings.LastIndexByte(id, '_'))] }

// state is what the operations of the lane have come to, its events included.
func (l *lane) state() *state {
	ctx := context.Background()
	s := must(stateOf(ctx, l.model, l.tenant))
	for _, rec := range must(gather(l.model.Undelivered(ctx, "", ""))) {
		s.add(rec.ID, "%s", eventLine(&rec))
	}
	slices.Sort(s.lines[l.name()])
	return s
}

// sum is a digest of what an entry, a document or an event says, and of what else it has.
func sum(text string, of ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q ", of)
	h.Write([]byte(text))
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
