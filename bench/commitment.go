package main

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/internal/timer"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// commitmentSpan is how far ahead commitments are armed, in milliseconds: thirty
// days, evenly.
const commitmentSpan = 30 * 86_400_000

// commitmentRows measure the index by which the in-memory commitment store finds what
// is due, with a number of commitments armed throughout, against container/heap over
// items that know their place, which is what such a store would otherwise be built on.
// Both hold a pointer to each commitment, find the earliest, and can take any out.
//
//	commitment/arm+fire    one is armed at a random instant, and the earliest fires
//	commitment/arm+cancel  one of those that are armed, by chance, is canceled, and
//	                       another is armed at a random instant
//	commitment/idle-tick   a whole Engine.Tick when nothing is due
func commitmentRows() []row {
	var rows []row
	for _, armed := range []int{1000, 1_000_000} {
		name := func(op string) string { return fmt.Sprintf("commitment/%s/armed=%d", op, armed) }
		rows = append(rows,
			row{name("arm+fire"), "container/heap", func() (sides, error) {
				ours, theirs := newOurTimers(armed), newTheirTimers(armed)
				return sides{check: sameOrder, ours: ours.fire, theirs: theirs.fire}, nil
			}},
			row{name("arm+cancel"), "container/heap", func() (sides, error) {
				ours, theirs := newOurTimers(armed), newTheirTimers(armed)
				return sides{check: sameOrder, ours: ours.cancel, theirs: theirs.cancel}, nil
			}},
		)
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
	now := storeNow
	bank, err := memory.NewBank(inmem.New(), memory.Config{Now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	store := commitment.NewInMemory()
	for i := range armed {
		c := commitment.Commitment{Tenant: "tenant", ID: fmt.Sprint("cmt_", i), State: commitment.Armed}
		c.Due = now.Add(time.Duration(1+commitmentDelays()[i%(1<<20)]) * time.Millisecond)
		if _, err := store.Swap(context.Background(), c); err != nil {
			return nil, err
		}
	}
	return commitment.New(bank, commitment.Config{Store: store, Redactor: func(context.Context, string) (memory.Redactor, error) {
		return nil, nil // an idle tick asks for none
	}})
}

// commitmentDelays are random spans, made before anything is timed.
var commitmentDelays = sync.OnceValue(func() []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, 1<<20)
	for i := range out {
		out[i] = r.Int64N(commitmentSpan)
	}
	return out
})

// armedItem stands for a commitment, which knows where it is in the index.
type armedItem struct {
	at    int64
	place int
}

// turn goes round the delays, the armed items and the clock.
type turn struct {
	next int
	now  int64
	hand [64]*armedItem
	read int64
}

func (t *turn) at() int64 {
	t.next++
	return t.now + commitmentDelays()[t.next&(1<<20-1)]
}

// chosen returns the next few of the items, by chance, and has read them: whoever
// cancels a commitment has it at hand. Getting at it costs both sides the same, and
// more than either index.
func (t *turn) chosen(items []armedItem, few int) []*armedItem {
	chosen := t.hand[:few]
	for i := range chosen {
		at := uint64(t.next+i) * 0x9e3779b97f4a7c15 >> 32 * uint64(len(items)) >> 32
		chosen[i] = &items[at]
	}
	for _, item := range chosen {
		t.read += item.at
	}
	return chosen
}

type ourTimers struct {
	turn
	index timer.Index[*armedItem]
	items []armedItem
}

func newOurTimers(armed int) *ourTimers {
	t := &ourTimers{items: make([]armedItem, armed)}
	for i := range t.items {
		t.arm(&t.items[i], t.at())
	}
	return t
}

func (t *ourTimers) arm(item *armedItem, at int64) {
	item.at, item.place = at, int(t.index.Add(at, item))
}

func (t *ourTimers) fire(n int) {
	for range n {
		item, at, _ := t.index.Pop(math.MaxInt64)
		t.now = at
		t.arm(item, t.at())
	}
}

func (t *ourTimers) cancel(n int) {
	for ; n > 0; n -= len(t.hand) {
		for _, item := range t.chosen(t.items, min(n, len(t.hand))) {
			t.index.Remove(timer.Handle(item.place), item.at)
			t.arm(item, t.at())
		}
	}
}

type itemHeap []*armedItem

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *itemHeap) Push(x any) {
	item := x.(*armedItem)
	item.place = len(*h)
	*h = append(*h, item)
}
func (h *itemHeap) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return item
}

type theirTimers struct {
	turn
	heap  itemHeap
	items []armedItem
}

func newTheirTimers(armed int) *theirTimers {
	t := &theirTimers{items: make([]armedItem, armed)}
	for i := range t.items {
		t.items[i].at = t.at()
		heap.Push(&t.heap, &t.items[i])
	}
	return t
}

func (t *theirTimers) fire(n int) {
	for range n {
		item := heap.Pop(&t.heap).(*armedItem)
		t.now = item.at
		item.at = t.at()
		heap.Push(&t.heap, item)
	}
}

func (t *theirTimers) cancel(n int) {
	for ; n > 0; n -= len(t.hand) {
		for _, item := range t.chosen(t.items, min(n, len(t.hand))) {
			heap.Remove(&t.heap, item.place)
			item.at = t.at()
			heap.Push(&t.heap, item)
		}
	}
}

// sameOrder arms and fires on both sides for a while and compares.
func sameOrder() error {
	ours, theirs := newOurTimers(5000), newTheirTimers(5000)
	for range 50_000 {
		ours.fire(1)
		theirs.fire(1)
		if err := equal(ours.now, theirs.now); err != nil {
			return err
		}
	}
	ours, theirs = newOurTimers(5000), newTheirTimers(5000)
	for range 50_000 {
		ours.cancel(1)
		theirs.cancel(1)
	}
	for range 5000 {
		_, at, ok := ours.index.Pop(math.MaxInt64)
		if item := heap.Pop(&theirs.heap).(*armedItem); !ok || item.at != at {
			return fmt.Errorf("the two sides differ")
		}
	}
	return nil
}
