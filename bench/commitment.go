package main

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// commitmentSpan is how far ahead commitments are armed, in milliseconds: thirty
// days, evenly.
const commitmentSpan = 30 * 86_400_000

// commitmentRows measure how the in-memory store finds what is due, with a number of
// commitments armed throughout.
//
//	commitment/arm+fire   the earliest is read, 256 at a time as a tick does, and armed
//	                      anew at a random instant by compare-and-set. The peer is what one
//	                      would write by hand: a map and a container/heap under a mutex
//	commitment/idle-tick  a whole Engine.Tick when nothing is due
func commitmentRows() []row {
	var rows []row
	for _, armed := range []int{1000, 1_000_000} {
		rows = append(rows, row{fmt.Sprintf("commitment/arm+fire/armed=%d", armed), "map and container/heap", func() (sides, error) {
			ours, err := newOurSchedule(armed)
			if err != nil {
				return sides{}, err
			}
			theirs := newTheirSchedule(armed)
			return sides{check: sameOrder, ours: func(n int) { fire(ours, n) }, theirs: func(n int) { fire(theirs, n) }}, nil
		}})
	}
	return append(rows, row{"commitment/idle-tick/armed=1000000", "", func() (sides, error) {
		engine, err := idleEngine(1_000_000)
		return sides{ours: func(n int) {
			for range n {
				done, err := engine.Tick(context.Background())
				must(err)
				CommitmentsFired += done.Fired
			}
		}}, err
	}})
}

// CommitmentsFired is where results go, so that the compiler leaves no work out.
var CommitmentsFired int

// idleEngine is an engine over a store in which all that is armed is due later.
func idleEngine(armed int) (*commitment.Engine, error) {
	s, err := newOurSchedule(armed)
	if err != nil {
		return nil, err
	}
	bank, err := memory.New(s.store, memory.Config{Now: func() time.Time { return storeNow }})
	if err != nil {
		return nil, err
	}
	return commitment.New(bank, commitment.Config{Redactor: func(context.Context, string) (memory.Redactor, error) {
		return nil, nil // an idle tick asks for none
	}})
}

// commitmentDelays are random spans of at least a millisecond, made before anything is
// timed.
var commitmentDelays = sync.OnceValue(func() []time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]time.Duration, 1<<20)
	for i := range out {
		out[i] = time.Duration(1+r.Int64N(commitmentSpan)) * time.Millisecond
	}
	return out
})

// commitmentValue is about what an armed commitment takes.
var commitmentValue = []byte(`{"format":1,"ref":"support","memoryId":"mem_01k7b0c3d4e5f6g7h8j9kmnpqr",` +
	`"arm":{"at":"2025-10-09T08:53:20Z","once":true},"armedAt":"2025-06-15T15:06:40Z","state":"armed"}`)

// turn goes round the delays and the clock.
type turn struct {
	next int
	now  time.Time
}

func (t *turn) at() time.Time {
	t.next++
	return t.now.Add(commitmentDelays()[t.next&(1<<20-1)])
}

// schedule is one side of the rows.
type schedule interface {
	due(limit int) []driver.Document
	arm(d driver.Document, at time.Time)
	clock() *turn
}

// fire takes what is due earliest n times, and arms it anew.
func fire(s schedule, n int) {
	t := s.clock()
	for n > 0 {
		for _, d := range s.due(min(n, 256)) {
			t.now = d.Due
			s.arm(d, t.at())
			n--
		}
	}
}

func commitmentDocument(i int, at time.Time) driver.Document {
	return driver.Document{
		Scope: driver.Scope{Tenant: "tenant"}, Kind: "commitment", Key: "cmt_" + strconv.Itoa(i), Value: commitmentValue, Due: at,
	}
}

type ourSchedule struct {
	turn
	store *inmem.Store
}

func newOurSchedule(armed int) (*ourSchedule, error) {
	s := &ourSchedule{turn{now: storeNow}, inmem.New()}
	for i := 0; i < armed; {
		var m driver.Mutation
		for ; i < armed && len(m.Documents) < 1000; i++ {
			m.Documents = append(m.Documents, driver.DocumentSwap{Document: commitmentDocument(i, s.at())})
		}
		if _, err := s.store.Apply(context.Background(), "tenant", m); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *ourSchedule) clock() *turn { return &s.turn }

func (s *ourSchedule) due(limit int) []driver.Document {
	due, err := s.store.Due(context.Background(), "commitment", time.UnixMilli(1<<42), limit)
	must(err)
	return due
}

func (s *ourSchedule) arm(d driver.Document, at time.Time) {
	d.Due = at
	_, err := s.store.Apply(context.Background(), d.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{{Document: d}}})
	must(err)
}

// theirSchedule is the peer.
type theirSchedule struct {
	turn
	mu    sync.Mutex
	items map[string]*armedItem
	heap  itemHeap
	rev   int64
}

type armedItem struct{ driver.Document }

func newTheirSchedule(armed int) *theirSchedule {
	s := &theirSchedule{turn: turn{now: storeNow}, items: map[string]*armedItem{}}
	for i := range armed {
		s.rev++
		item := &armedItem{commitmentDocument(i, s.at())}
		item.Rev = s.rev
		s.items[item.Key] = item
		heap.Push(&s.heap, item)
	}
	return s
}

func (s *theirSchedule) clock() *turn { return &s.turn }

// due takes the earliest out of the heap, until they are armed anew.
func (s *theirSchedule) due(limit int) []driver.Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := make([]driver.Document, 0, limit)
	for range limit {
		d := heap.Pop(&s.heap).(*armedItem).Document
		d.Value = bytes.Clone(d.Value)
		due = append(due, d)
	}
	return due
}

func (s *theirSchedule) arm(d driver.Document, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[d.Key]
	if item.Rev != d.Rev {
		panic("a conflict")
	}
	s.rev++
	item.Value, item.Due, item.Rev = bytes.Clone(d.Value), at, s.rev
	heap.Push(&s.heap, item)
}

type itemHeap []*armedItem

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].Due.Before(h[j].Due) }
func (h itemHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *itemHeap) Push(x any)        { *h = append(*h, x.(*armedItem)) }
func (h *itemHeap) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return item
}

// sameOrder arms and fires on both sides for a while and compares.
func sameOrder() error {
	ours, err := newOurSchedule(5000)
	if err != nil {
		return err
	}
	theirs := newTheirSchedule(5000)
	for range 200 {
		fire(ours, 250)
		fire(theirs, 250)
		if err := equal(ours.now, theirs.now); err != nil {
			return err
		}
	}
	return nil
}
