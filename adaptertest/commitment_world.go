package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// whole is a commitment with something in every field.
func whole(tenant, id string) commitment.Commitment {
	return commitment.Commitment{
		Tenant: tenant, ID: id, Ref: "réf", MemoryID: "mem_1",
		Arm:     commitment.Arm{At: epoch, Every: time.Hour, Spec: "0 9 * * *", Predicate: "signed", Zone: "Europe/Berlin", Once: true},
		ArmedAt: epoch.Add(time.Millisecond), State: commitment.Claimed, Reason: commitment.ReasonMissed, Heir: "cmt_h", Canceled: true, Complete: true,
		Due: epoch.Add(2 * time.Millisecond), Mark: epoch.Add(3 * time.Millisecond), Position: -7, Digest: strings.Repeat("d", 32),
		Claim:   commitment.Claim{Instant: epoch.Add(4 * time.Millisecond), Position: 1<<62 + 1, Tries: 2},
		Waiting: []int64{4, -5, 1<<62 + 3}, Fence: 1<<62 + 5, Lease: epoch.Add(5 * time.Millisecond), Fired: 8, RunID: "run-1",
	}
}

// armed is a commitment that waits for an instant.
func armed(tenant, id string, due time.Time) commitment.Commitment {
	return commitment.Commitment{
		Tenant: tenant, ID: id, Ref: "ref", Arm: commitment.Arm{At: due, Once: true}, ArmedAt: epoch, State: commitment.Armed, Due: due,
	}
}

// swap swaps c in, which has to succeed, and returns it with its new revision.
func (w *commitmentWorld) swap(c commitment.Commitment) commitment.Commitment {
	w.did("swap %s of %s in at revision %d", short(c.ID), short(c.Tenant), c.Rev)
	rev, err := w.store.Swap(w.ctx, c)
	w.must(err)
	w.check(rev > c.Rev, fmt.Sprintf("a revision above %d", c.Rev), "%d", rev)
	c.Rev = rev
	return c
}

// refused swaps c in, which has to be too late.
func (w *commitmentWorld) refused(c commitment.Commitment) {
	w.did("swap %s of %s in at revision %d", short(c.ID), short(c.Tenant), c.Rev)
	_, err := w.store.Swap(w.ctx, c)
	w.mustBe(err, memory.ErrConflict)
}

// holds checks that the store has c.
func (w *commitmentWorld) holds(c commitment.Commitment) {
	w.did("get %s of %s", short(c.ID), short(c.Tenant))
	got, err := w.store.Get(w.ctx, c.Tenant, c.ID)
	w.must(err)
	w.same(got, c)
}

func (w *commitmentWorld) absent(tenant, id string) {
	w.did("get %s of %s", short(id), short(tenant))
	_, err := w.store.Get(w.ctx, tenant, id)
	w.mustBe(err, memory.ErrNotFound)
}

// due are the ids, with tenants, of what is due.
func (w *commitmentWorld) due(now time.Time, limit int) []string {
	w.did("ask what is due at %s, at most %d", describeTime(now), limit)
	list, err := w.store.Due(w.ctx, now, limit)
	w.must(err)
	out := []string{}
	for _, c := range list {
		out = append(out, c.Tenant+"/"+c.ID)
	}
	return out
}

// listed are the ids of a tenant's commitments.
func (w *commitmentWorld) listed(tenant, predicate string) []string {
	w.did("list those of %s that wait for %s", short(tenant), short(predicate))
	out := []string{}
	for c, err := range w.store.OfTenant(w.ctx, tenant, predicate) {
		w.must(err)
		w.check(c.Tenant == tenant, "commitments of "+short(tenant), "one of %s", short(c.Tenant))
		_, err = w.store.Get(w.ctx, c.Tenant, c.ID) // the loop may call the store
		w.must(err)
		out = append(out, c.ID)
	}
	return out
}

func (w *commitmentWorld) texts(got []string, want ...string) {
	if len(got) != len(want) || strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		w.fail(describeTexts(want), describeTexts(got))
	}
}

// same checks all fields. An empty list may come back as none.
func (w *commitmentWorld) same(got, want commitment.Commitment) {
	if diff := commitmentDifferences(got, want); diff != "" {
		w.fail("the commitment as it was swapped in", diff)
	}
}

func commitmentDifferences(got, want commitment.Commitment) string {
	var diff []string
	var walk func(name string, g, w reflect.Value)
	walk = func(name string, g, w reflect.Value) {
		if at, ok := g.Interface().(time.Time); ok {
			_, offset := at.Zone()
			if !at.Equal(w.Interface().(time.Time)) || offset != 0 {
				diff = append(diff, fmt.Sprintf("%s %v instead of %v", name, at, w))
			}
			return
		}
		switch {
		case g.Kind() == reflect.Struct:
			for i := range g.NumField() {
				walk(strings.TrimPrefix(name+"."+g.Type().Field(i).Name, "."), g.Field(i), w.Field(i))
			}
		case g.Kind() == reflect.Slice && g.Len() == 0 && w.Len() == 0:
		case !reflect.DeepEqual(g.Interface(), w.Interface()):
			diff = append(diff, fmt.Sprintf("%s %v instead of %v", name, g, w))
		}
	}
	walk("", reflect.ValueOf(got), reflect.ValueOf(want))
	return strings.Join(diff, "; ")
}

// unheard checks that the store has old or next, whichever, in all its answers, and
// returns which: what a call leaves whose acknowledgement was lost.
func (w *commitmentWorld) unheard(old, next commitment.Commitment) commitment.Commitment {
	got, err := w.store.Get(w.ctx, old.Tenant, old.ID)
	w.must(err)
	want := old
	if got.Rev != old.Rev {
		want = next
		want.Rev = got.Rev
	}
	w.same(got, want)
	list, err := w.store.Due(w.ctx, epoch.Add(24*time.Hour), 10)
	w.must(err)
	w.check(len(list) == 1, "one that is due", "%d", len(list))
	w.same(list[0], want)
	for _, c := range []commitment.Commitment{old, next} {
		n := 0
		for found, err := range w.store.OfTenant(w.ctx, c.Tenant, c.Arm.Predicate) {
			w.must(err)
			w.same(found, want)
			n++
		}
		waits := 0
		if c.Arm.Predicate == want.Arm.Predicate {
			waits = 1
		}
		w.check(n == waits, fmt.Sprintf("%d that wait for %s", waits, short(c.Arm.Predicate)), "%d", n)
	}
	return want
}

// isContext reports whether err is one of a context that was done.
func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
