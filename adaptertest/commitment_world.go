package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// commitmentLaw is a group of cases under one law.
type commitmentLaw struct {
	law
	cases []commitmentCase
}

// commitmentCase is one proof of a commitment store.
type commitmentCase struct {
	name   string
	proves string
	needs  []Offer
	run    func(w *commitmentWorld)
}

func commitmentLaws() []commitmentLaw {
	return []commitmentLaw{
		commitmentTenantLaw(), commitmentRecordLaw(), commitmentClaimLaw(), commitmentDueLaw(),
		commitmentListLaw(), commitmentFaultLaw(), commitmentDurableLaw(), commitmentEngineLaw(),
	}
}

// commitmentWorld is what such a case works in: the frame of any case, and a store.
type commitmentWorld struct {
	*world
	cfg    *CommitmentConfig
	store  commitment.Store
	opened []commitment.Store
}

// runCommitmentCase runs one case on a store of its own.
func runCommitmentCase(ctx context.Context, cfg *CommitmentConfig, found *findings, l *commitmentLaw, c *commitmentCase) Case {
	result := Case{Name: c.name, Proves: c.proves, Status: Proven}
	if missing := found.missing(c.needs); len(missing) > 0 {
		result.Status = NotOffered
		result.Reason = fmt.Sprintf("needs %s: %s", missing[0], found.reason(missing[0]))
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	w := &commitmentWorld{world: &world{ctx: ctx, found: found, now: epoch}, cfg: cfg}
	h := fnv.New64a()
	io.WriteString(h, l.name+"/"+c.name)
	w.seed = h.Sum64()
	w.rng = rand.New(rand.NewPCG(cfg.Seed, w.seed))

	ended := make(chan *failure, 1)
	go func() { ended <- w.play(c) }()
	var failed *failure
	select {
	case failed = <-ended:
	case <-ctx.Done():
		failed = &failure{expected: "an answer", came: "none before the context was done: the store hangs"}
	}
	if failed != nil {
		result.Status = Broken
		result.Failure = w.text(&l.law, &testCase{name: c.name, proves: c.proves}, failed)
	}
	return result
}

// play runs the case to its end or to the first failure, and closes its stores.
func (w *commitmentWorld) play(c *commitmentCase) (failed *failure) {
	returned := false
	defer func() {
		switch r := recover(); r := r.(type) {
		case nil:
			if !returned && failed == nil {
				failed = &failure{"an answer", "the store ended the goroutine that called it"}
			}
		case *failure:
			failed = r
		default:
			failed = &failure{"an answer", fmt.Sprintf("a panic: %v", r)}
		}
		for _, s := range w.opened {
			if err := closeCommitments(s); err != nil && failed == nil {
				failed = &failure{"the store closes", "error: " + err.Error()}
			}
		}
	}()
	w.fresh()
	c.run(w)
	returned = true
	return nil
}

func closeCommitments(s commitment.Store) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// fresh opens a store with nothing in it, in the place of the case's own.
func (w *commitmentWorld) fresh() {
	w.shut()
	w.open("CommitmentConfig.New opens a store", func() (commitment.Store, error) { return w.cfg.New(w.ctx) })
}

// reopen closes the store and opens its data again.
func (w *commitmentWorld) reopen() {
	w.did("close the store and open it again")
	old := w.store
	w.shut()
	w.open("CommitmentConfig.Reopen opens the data again", func() (commitment.Store, error) { return w.cfg.Reopen(w.ctx, old) })
}

// second opens the data of the store once more while it stays open.
func (w *commitmentWorld) second() commitment.Store {
	w.did("open the store a second time")
	first := w.store
	w.open("CommitmentConfig.Reopen opens the data again", func() (commitment.Store, error) { return w.cfg.Reopen(w.ctx, first) })
	second := w.store
	w.store = first
	return second
}

func (w *commitmentWorld) open(expected string, by func() (commitment.Store, error)) {
	s, err := by()
	if err != nil || s == nil {
		w.fail(expected, describeError(err))
	}
	w.store = s
	w.opened = append(w.opened, s)
}

func (w *commitmentWorld) shut() {
	if w.store == nil {
		return
	}
	w.opened = slices.DeleteFunc(w.opened, func(s commitment.Store) bool { return sameStore(s, w.store) })
	if err := closeCommitments(w.store); err != nil {
		w.fail("the store closes", describeError(err))
	}
}

// sameStore compares stores, which may be of a type that cannot be compared.
func sameStore(a, b commitment.Store) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

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
