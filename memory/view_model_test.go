package memory_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// The view model keeps, for every open view and every token, a full copy of what
// must be seen, made in the most obvious way. Random steps run against it and a bank
// on an in-memory store; a failing sequence is shrunk to its shortest form.

type step struct {
	op   string
	run  int // picks among the open runs, tokens or entries
	pick int
	ref  int
}

func (s step) String() string { return fmt.Sprintf("%s(%d,%d,%d)", s.op, s.run, s.pick, s.ref) }

var viewOps = []string{"start", "put", "put", "put", "putShort", "putSubject", "delete", "otherPut", "otherPut", "otherDelete",
	"merge", "replace", "replace", "forget", "token", "resume", "fork", "child", "end", "abort", "join", "advance"}

// seen is what a view shows of one ref: id to content.
type seen map[string]modelEntry

type modelEntry struct {
	id, content, subject string
	expires              time.Time
}

type modelView struct {
	base map[string]seen // by ref: what was not retired at the start
	own  map[string]seen // by ref: own writes not deleted since, and inherited ones
	mine map[string]bool // ids that the run itself wrote
	gone map[string]bool // ids that the run, or a completed child, replaced or deleted of its own
	// scarred are the refs in which the view has lost something to a Forget. A token
	// taken after that may be refused there, although it could not have seen what was
	// lost.
	scarred map[string]bool
}

func (v modelView) clone() modelView {
	c := modelView{map[string]seen{}, map[string]seen{}, maps.Clone(v.mine), maps.Clone(v.gone), maps.Clone(v.scarred)}
	for ref, s := range v.base {
		c.base[ref] = maps.Clone(s)
	}
	for ref, s := range v.own {
		c.own[ref] = maps.Clone(s)
	}
	return c
}

func (v modelView) visible(ref string, now time.Time) []string {
	var ids []string
	for _, s := range []seen{v.base[ref], v.own[ref]} {
		for id, e := range s {
			if !v.gone[id] && (e.expires.IsZero() || now.Before(e.expires)) {
				ids = append(ids, id)
			}
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(ids))) // the bank's ids ascend with time
	return slices.Compact(ids)
}

// lose takes out what was erased, and reports whether the view had it. It has nothing of an own write that
// the run has deleted or replaced.
func (v modelView) lose(ref, id string) (had bool) {
	_, before := v.base[ref][id]
	_, own := v.own[ref][id]
	delete(v.base[ref], id)
	delete(v.own[ref], id)
	return before || own && !v.gone[id]
}

type modelRun struct {
	run    *memory.Run
	view   modelView
	parent *modelRun
	name   string
}

type modelToken struct {
	token memory.Token
	view  modelView
	now   time.Time
	name  string          // of the run
	gone  map[string]bool // refs in which it could have seen what was forgotten since
}

type viewModel struct {
	t      *testing.T
	h      *host
	live   map[string]seen
	runs   []*modelRun
	tokens []*modelToken
	serial int
}

// The first is so long that a token with some fifteen own writes there names a document of them.
var viewRefs = []string{"m" + strings.Repeat("-long", 51), "n"}

func (m *viewModel) name(kind string) string {
	m.serial++
	return fmt.Sprintf("%s-%d", kind, m.serial)
}

// play runs the steps and returns the first difference.
func playViews(t *testing.T, steps []step) (failure string) {
	m := &viewModel{t: t, h: newHost(t), live: map[string]seen{viewRefs[0]: {}, viewRefs[1]: {}}}
	for i, s := range steps {
		m.h.clock.Advance(time.Millisecond)
		if err := m.step(s); err != nil {
			return fmt.Sprintf("step %d %v: %v", i, s, err)
		}
		if err := m.check(); err != nil {
			return fmt.Sprintf("after step %d %v: %v", i, s, err)
		}
	}
	return ""
}

// open is a redactor that no run closes, so that children may outlive parents here.
type open struct{ memory.Redactor }

func pickOf[T any](list []T, i int) (T, bool) {
	if len(list) == 0 {
		var zero T
		return zero, false
	}
	return list[i%len(list)], true
}

func (m *viewModel) open(parent *modelRun, run *memory.Run, view modelView, name string) {
	m.runs = append(m.runs, &modelRun{run: run, view: view, parent: parent, name: name})
}

func (m *viewModel) step(s step) error {
	ref := viewRefs[s.ref%len(viewRefs)]
	run, haveRun := pickOf(m.runs, s.run)
	token, haveToken := pickOf(m.tokens, s.run)
	switch s.op {
	case "start":
		name := m.name("run")
		r, err := m.h.Start(ctx, memory.RunConfig{ID: name, Tenant: "acme", Redactor: open{newVault()}})
		if err != nil {
			return err
		}
		view := modelView{base: map[string]seen{}, own: map[string]seen{viewRefs[0]: {}, viewRefs[1]: {}}, mine: map[string]bool{}, gone: map[string]bool{}, scarred: map[string]bool{}}
		for ref, s := range m.live {
			view.base[ref] = maps.Clone(s)
		}
		m.open(nil, r, view, name)
	case "put", "putShort", "putSubject":
		if !haveRun {
			return nil
		}
		d := memory.Draft{Content: m.name("own")}
		if s.op == "putShort" {
			d.ExpiresAt = m.h.Now().Add(time.Duration(1+s.pick%12) * time.Millisecond)
		}
		if s.op == "putSubject" {
			d.Subjects = []string{fmt.Sprint("s", s.pick%2)}
		}
		e, err := run.run.Put(ctx, ref, d)
		if err != nil {
			return err
		}
		me := toModel(e)
		run.view.own[ref][e.ID] = me
		run.view.mine[e.ID] = true
		m.live[ref][e.ID] = me
	case "delete":
		if !haveRun {
			return nil
		}
		id, ok := pickOf(run.view.visible(ref, m.h.Now()), s.pick)
		if !ok {
			return nil
		}
		deleted, err := run.run.Delete(ctx, ref, id)
		if err != nil && errors.Is(err, memory.ErrConflict) && strings.Contains(err.Error(), "merged") {
			return nil // the one documented conflict
		}
		if err != nil || !deleted {
			return fmt.Errorf("deleting a visible entry: %v %v", deleted, err)
		}
		delete(m.live[ref], id)
		if run.view.mine[id] {
			run.view.gone[id] = true
		}
	case "replace":
		if !haveRun {
			return nil
		}
		id, ok := pickOf(run.view.visible(ref, m.h.Now()), s.pick)
		if !ok {
			return nil
		}
		d := memory.Draft{Content: m.name("replaced")}
		if s.run%3 == 0 {
			d.Subjects = []string{fmt.Sprint("s", s.pick%2)}
		}
		e, err := run.run.Replace(ctx, ref, id, d)
		old, live := m.live[ref][id]
		if !live {
			if !errors.Is(err, memory.ErrConflict) {
				return fmt.Errorf("replacing what is live no more: %w", err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if len(d.Subjects) == 0 && strings.Join(e.Subjects, ",") != old.subject || !e.ExpiresAt.Equal(old.expires) {
			return fmt.Errorf("the new entry has other subjects or another expiry: %v %v", e.Subjects, e.ExpiresAt)
		}
		delete(m.live[ref], id)
		run.view.gone[id] = true
		run.view.own[ref][e.ID] = toModel(e)
		run.view.mine[e.ID] = true
		m.live[ref][e.ID] = toModel(e)
	case "otherPut":
		e, err := m.h.job("acme").Put(ctx, ref, memory.Draft{Content: m.name("other"), Subjects: []string{fmt.Sprint("s", s.pick%4)}})
		if err != nil {
			return err
		}
		m.live[ref][e.ID] = toModel(e)
	case "otherDelete":
		id, ok := pickOf(slices.Sorted(maps.Keys(m.live[ref])), s.pick)
		if !ok {
			return nil
		}
		if _, err := m.h.job("acme").Delete(ctx, ref, id); err != nil {
			return err
		}
		delete(m.live[ref], id)
	case "merge":
		return m.merge(ref, s.pick)
	case "forget":
		return m.forget(fmt.Sprint("s", s.pick%4))
	case "token":
		if !haveRun {
			return nil
		}
		tok, err := run.run.Token(ctx)
		if err != nil {
			return err
		}
		if len(tok) > 1024 {
			return fmt.Errorf("the token has %d bytes", len(tok))
		}
		m.tokens = append(m.tokens, &modelToken{token: tok, view: run.view.clone(), now: m.h.Now(), name: run.name, gone: map[string]bool{}})
	case "resume", "fork":
		if !haveToken {
			return nil
		}
		name := token.name
		if s.op == "fork" {
			name = m.name("fork")
		}
		r, err := m.h.Start(ctx, memory.RunConfig{ID: name, Tenant: "acme", Redactor: open{newVault()}, Resume: token.token})
		if err != nil {
			return err
		}
		view := token.view.clone()
		maps.Copy(view.scarred, token.gone)
		if s.op == "fork" {
			view.mine = map[string]bool{}
		}
		m.open(nil, r, view, name)
	case "child":
		if !haveRun {
			return nil
		}
		name := m.name("child")
		r, err := run.run.Child(name)
		if err != nil {
			return err
		}
		view := run.view.clone()
		view.mine = map[string]bool{}
		m.open(run, r, view, name)
	case "end", "abort":
		if !haveRun {
			return nil
		}
		end := run.run.End
		if s.op == "abort" {
			end = run.run.Abort
		}
		if err := end(ctx); err != nil {
			return err
		}
		m.runs = slices.DeleteFunc(m.runs, func(r *modelRun) bool { return r == run })
		if run.parent != nil && s.op == "end" {
			m.adopt(run.parent, run.view)
		}
	case "join":
		if !haveRun || !haveToken {
			return nil
		}
		if err := run.run.Join(ctx, token.token); err != nil {
			return err
		}
		view := token.view.clone()
		maps.Copy(view.scarred, token.gone)
		m.adopt(run, view)
	case "advance":
		m.h.clock.Advance(time.Duration(s.pick%5) * time.Millisecond)
	}
	return nil
}

// adopt makes a completed child's own writes the parent's.
func (m *viewModel) adopt(parent *modelRun, child modelView) {
	maps.Copy(parent.view.scarred, child.scarred)
	maps.Copy(parent.view.gone, child.gone)
	for ref, s := range child.own {
		for id, e := range s {
			if !child.mine[id] || child.gone[id] {
				continue
			}
			if _, known := parent.view.own[ref][id]; !known {
				parent.view.own[ref][id] = e
				parent.view.mine[id] = true
			}
		}
	}
}

// merge consolidates two live entries of a ref behind everybody's back.
func (m *viewModel) merge(ref string, pick int) error {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(m.live[ref])) {
		if e := m.live[ref][id]; e.expires.IsZero() && e.subject == "" {
			ids = append(ids, id)
		}
	}
	if len(ids) < 2 {
		return nil
	}
	a, b := ids[pick%len(ids)], ids[(pick+1)%len(ids)]
	stored, err := m.h.job("acme").Rewrite(ctx, ref, memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: m.name("merged")}, Sources: []string{a, b}, Merges: []string{a, b},
	}}})
	if err != nil {
		return err
	}
	delete(m.live[ref], a)
	delete(m.live[ref], b)
	m.live[ref][stored.Entries[0].ID] = toModel(stored.Entries[0])
	return nil
}

func (m *viewModel) forget(subject string) error {
	done, err := m.h.Forget(ctx, "acme", subject)
	if err != nil {
		return err
	}
	for _, gone := range done.Erased {
		delete(m.live[gone.Ref], gone.ID)
		for _, r := range m.runs {
			if r.view.lose(gone.Ref, gone.ID) {
				r.view.scarred[gone.Ref] = true
			}
		}
		for _, t := range m.tokens {
			if t.view.lose(gone.Ref, gone.ID) {
				t.gone[gone.Ref] = true
			}
		}
	}
	for _, s := range m.live {
		for _, e := range s {
			if e.subject == subject {
				return fmt.Errorf("an entry of the subject is still there")
			}
		}
	}
	return nil
}

func toModel(e memory.Entry) modelEntry {
	return modelEntry{id: e.ID, content: e.Content, subject: strings.Join(e.Subjects, ","), expires: e.ExpiresAt}
}

// check compares every open run, every token and live memory.
func (m *viewModel) check() error {
	now := m.h.Now()
	for _, ref := range viewRefs {
		live := modelView{base: map[string]seen{ref: m.live[ref]}}
		if err := compare(m.h.Reader("acme"), ref, live, now); err != nil {
			return fmt.Errorf("live memory: %w", err)
		}
		for i, r := range m.runs {
			if err := compare(r.run.Memory(), ref, r.view, now); err != nil {
				return fmt.Errorf("run %d: %w", i, err)
			}
		}
		for i, t := range m.tokens {
			reader, err := m.h.AsOf(ctx, "acme", t.token)
			if err != nil {
				return fmt.Errorf("token %d: %w", i, err)
			}
			_, refused := reader.List(ctx, ref, memory.ListOptions{})
			if t.gone[ref] {
				if !errors.Is(refused, memory.ErrSnapshotUnavailable) {
					return fmt.Errorf("token %d saw in %s what was forgotten, and a list gives %v", i, ref, refused)
				}
				continue
			}
			if t.view.scarred[ref] && errors.Is(refused, memory.ErrSnapshotUnavailable) {
				continue
			}
			if err := compare(reader, ref, t.view, t.now); err != nil {
				return fmt.Errorf("token %d: %w", i, err)
			}
		}
	}
	return nil
}

func compare(r memory.Reader, ref string, want modelView, now time.Time) error {
	entries, err := r.List(ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit})
	if err != nil {
		return err
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.ID)
	}
	ids := want.visible(ref, now)
	if !slices.Equal(got, ids) {
		return fmt.Errorf("ref %s shows %d entries, want %d: %v, want %v", ref, len(got), len(ids), got, ids)
	}
	for _, limit := range []int{1, 3} {
		page, err := r.List(ctx, ref, memory.ListOptions{Limit: limit})
		if err != nil || len(page) != min(limit, len(ids)) {
			return fmt.Errorf("a list of %d: %d entries, %v", limit, len(page), err)
		}
		for i, e := range page {
			if e.ID != ids[i] {
				return fmt.Errorf("a list of %d differs at %d", limit, i)
			}
		}
	}
	for _, id := range ids {
		if _, err := r.Get(ctx, ref, id); err != nil {
			return fmt.Errorf("get of a visible entry: %w", err)
		}
	}
	return nil
}

func TestM6_M7_ViewsAndTokensAgainstAModel(t *testing.T) {
	for seed := range seeds(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		steps := make([]step, 60)
		for i := range steps {
			steps[i] = step{viewOps[rng.IntN(len(viewOps))], rng.IntN(100), rng.IntN(100), rng.IntN(100)}
		}
		if failure := playViews(t, steps); failure != "" {
			steps = shrink(steps, func(s []step) bool { return playViews(t, s) != "" })
			t.Fatalf("seed %d, shortest sequence:\n%v\n%s", seed, steps, playViews(t, steps))
		}
	}
}

// shrink removes steps as long as the sequence still fails.
func shrink[T any](steps []T, fails func([]T) bool) []T {
	for size := len(steps) / 2; size > 0; {
		removed := false
		for i := 0; i+size <= len(steps); {
			shorter := slices.Concat(steps[:i], steps[i+size:])
			if fails(shorter) {
				steps, removed = shorter, true
				continue
			}
			i += size
		}
		if !removed {
			size /= 2
		}
	}
	return steps
}

// An own write that the run has deleted is not what it sees at a later position, so that forgetting it
// leaves that position as it was.
func TestM7_ADeletedOwnWriteIsNotSeen(t *testing.T) {
	if failure := playViews(t, []step{{op: "start"}, {op: "putSubject"}, {op: "delete"}, {op: "token"}, {op: "forget"}}); failure != "" {
		t.Fatal(failure)
	}
}
