package adaptertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

var runOps = []string{"start", "start", "put", "put", "put", "putShort", "delete", "otherPut", "otherPut", "otherDelete", "merge", "forget",
	"token", "resume", "child", "end", "abort", "advance"}

// runModel plays runs on a bank, and keeps for every open view and every token a
// full copy of what must be seen. Entries go by their contents, which are unique;
// what a bank issues at random is in no text.
type runModel struct {
	w       *world
	h       *host
	tenants map[string]*runTenant
	serial  int
}

type runTenant struct {
	name    string
	job     *memory.Job
	entries map[string]*runEntry // by content, all that ever were
	live    map[string]bool
	runs    []*openRun
	tokens  []*takenToken
}

type runEntry struct {
	driver.Entry
	ref    string
	serial int
}

// sight is what a view sees.
type sight struct {
	sees map[string]bool
	own  map[string]bool // of those, the run's own writes
	// scarred has the refs in which it has lost something to a forgetting. Reading them
	// as of a token taken after that may be refused, though it could not have seen what
	// was lost.
	scarred map[string]bool
}

func newSight(sees map[string]bool) sight {
	return sight{maps.Clone(sees), map[string]bool{}, map[string]bool{}}
}

func (s sight) clone() sight {
	return sight{maps.Clone(s.sees), maps.Clone(s.own), maps.Clone(s.scarred)}
}

type openRun struct {
	sight
	name   string
	run    *memory.Run
	parent *openRun
}

type takenToken struct {
	sight
	name  string
	run   string // whose it is
	token memory.Token
	now   time.Time
	gone  map[string]bool // the refs in which it could have seen what was forgotten since
}

func newRunModel(w *world) *runModel {
	m := &runModel{w: w, h: w.host(), tenants: map[string]*runTenant{}}
	for _, name := range modelTenants {
		m.tenants[name] = &runTenant{name: name, job: m.h.job(name, nil), entries: map[string]*runEntry{}, live: map[string]bool{}}
	}
	return m
}

func (m *runModel) name(kind string) string {
	m.serial++
	return fmt.Sprint(kind, "-", m.serial)
}

func (m *runModel) play(s step) {
	w := m.w
	w.now = w.now.Add(time.Millisecond)
	t := m.tenants[pick(modelTenants, s.n[0])]
	ref := pick(modelRefs, s.n[1])
	var r *openRun
	if len(t.runs) > 0 {
		r = pick(t.runs, s.n[2])
	}
	switch s.op {
	case "start":
		name := m.name("run")
		w.did("%s of %s starts", name, t.name)
		m.open(t, &openRun{name: name, run: m.h.run(t.name, name, ""), sight: newSight(t.live)})
	case "put", "putShort":
		if r == nil {
			return
		}
		content := m.put(t, r.name, r.run, ref, s)
		r.sees[content], r.own[content] = true, true
	case "otherPut":
		m.put(t, "another", t.job, ref, s)
	case "delete":
		if r != nil {
			m.delete(t, r, ref, s.n[3])
		}
	case "otherDelete":
		if content, ok := m.pickLive(t, ref, s.n[2]); ok {
			w.did("another deletes %s of %s", content, t.name)
			_, err := t.job.Delete(w.ctx, ref, t.entries[content].ID)
			w.must(err)
			delete(t.live, content)
		}
	case "merge":
		m.merge(t, ref, s)
	case "forget":
		m.forget(t, fmt.Sprint("s", s.n[2]%3))
	case "token":
		if r != nil {
			token, err := r.run.Token()
			w.must(err)
			name := m.name("token")
			w.did("%s takes %s", r.name, name)
			t.tokens = append(t.tokens, &takenToken{r.sight.clone(), name, r.name, token, w.now, map[string]bool{}})
		}
	case "resume":
		if len(t.tokens) > 0 {
			m.resume(t, pick(t.tokens, s.n[2]), s.n[3]%2 == 0)
		}
	case "child":
		if r != nil {
			name := m.name("child")
			w.did("%s starts %s", r.name, name)
			child, err := r.run.Child(name)
			w.must(err)
			view := r.sight.clone()
			clear(view.own)
			m.open(t, &openRun{name: name, run: child, parent: r, sight: view})
		}
	case "end", "abort":
		if r != nil && !slices.ContainsFunc(t.runs, func(o *openRun) bool { return o.parent == r }) {
			m.end(t, r, s.op == "end")
		}
	case "advance":
		w.now = w.now.Add(time.Duration(s.n[2]%5) * time.Millisecond)
		w.did("let time pass until %s", describeTime(w.now))
	}
	m.audit()
}

func (m *runModel) open(t *runTenant, r *openRun) { t.runs = append(t.runs, r) }

func (m *runModel) put(t *runTenant, who string, p putter, ref string, s step) (content string) {
	d := memory.Draft{Content: m.name("note")}
	if s.op == "putShort" {
		d.ExpiresAt = m.w.now.Add(time.Duration(1+s.n[3]%12) * time.Millisecond)
	}
	if s.n[4]%2 == 0 {
		d.Subjects = []string{fmt.Sprint("s", s.n[4]/2%3)}
	}
	m.w.did("%s puts %s of subjects %v in %s of %s, expires %s", who, d.Content, d.Subjects, ref, t.name, describeTime(d.ExpiresAt))
	e, err := p.Put(m.w.ctx, ref, d)
	m.w.must(err)
	m.add(t, ref, e)
	return e.Content
}

func (m *runModel) add(t *runTenant, ref string, e driver.Entry) {
	m.serial++
	t.entries[e.Content] = &runEntry{e, ref, m.serial}
	t.live[e.Content] = true
}

// visible are the contents of a set in a ref, newest first.
func (m *runModel) visible(t *runTenant, set map[string]bool, ref string, now time.Time) []string {
	out := []string{}
	for content := range set {
		if e := t.entries[content]; e.ref == ref && e.LiveAt(now) {
			out = append(out, content)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return t.entries[b].serial - t.entries[a].serial })
	return out
}

func (m *runModel) pickLive(t *runTenant, ref string, n int) (string, bool) {
	live := m.visible(t, t.live, ref, m.w.now)
	if len(live) == 0 {
		return "", false
	}
	return pick(live, n), true
}

func (m *runModel) delete(t *runTenant, r *openRun, ref string, n int) {
	seen := m.visible(t, r.sees, ref, m.w.now)
	if len(seen) == 0 {
		return
	}
	content := pick(seen, n)
	m.w.did("%s deletes %s", r.name, content)
	deleted, err := r.run.Delete(m.w.ctx, ref, t.entries[content].ID)
	if errors.Is(err, driver.ErrConflict) && !t.live[content] {
		return // it was merged meanwhile
	}
	m.w.must(err)
	m.w.check(deleted, "true: the run sees it", "false")
	delete(t.live, content)
	if r.own[content] {
		delete(r.sees, content)
	}
}

func (m *runModel) merge(t *runTenant, ref string, s step) {
	live := m.visible(t, t.live, ref, m.w.now)
	if len(live) < 2 {
		return
	}
	a, b := pick(live, s.n[2]), pick(live, s.n[2]+1)
	content := m.name("merged")
	m.w.did("another merges %s and %s of %s into %s", a, b, t.name, content)
	made, err := t.job.Rewrite(m.w.ctx, ref, mergeOf(content, t.entries[a].Entry, t.entries[b].Entry))
	m.w.must(err)
	delete(t.live, a)
	delete(t.live, b)
	m.add(t, ref, made.Entries[0])
}

func (m *runModel) forget(t *runTenant, subject string) {
	m.w.did("%s of %s is forgotten", subject, t.name)
	done, err := m.h.bank.Forget(m.w.ctx, t.name, subject)
	m.w.must(err)
	byID := map[string]string{}
	for content, e := range t.entries {
		byID[e.ID] = content
	}
	for _, l := range done.Restored {
		t.live[byID[l.ID]] = true
	}
	for _, l := range done.Erased {
		content := byID[l.ID]
		delete(t.live, content)
		for _, r := range t.runs {
			r.lose(content, l.Ref)
		}
		for _, k := range t.tokens {
			k.gone[l.Ref] = k.lose(content, l.Ref) || k.gone[l.Ref]
		}
	}
	for content := range sorted(t.live) {
		m.w.check(!slices.Contains(t.entries[content].Subjects, subject), "nothing of the subject", "%s", content)
	}
}

func (s *sight) lose(content, ref string) (had bool) {
	had = s.sees[content]
	delete(s.sees, content)
	s.scarred[ref] = s.scarred[ref] || had
	return had
}

// resume continues the token's run, or forks it.
func (m *runModel) resume(t *runTenant, k *takenToken, fork bool) {
	name := k.run
	view := k.sight.clone()
	if fork {
		name = m.name("fork")
		clear(view.own)
	}
	m.w.did("%s of %s starts from %s", name, t.name, k.name)
	m.open(t, &openRun{name: name, run: m.h.run(t.name, name, k.token), sight: view})
}

func (m *runModel) end(t *runTenant, r *openRun, completed bool) {
	t.runs = slices.DeleteFunc(t.runs, func(o *openRun) bool { return o == r })
	if !completed {
		m.w.did("%s aborts", r.name)
		m.w.must(r.run.Abort(m.w.ctx))
		return
	}
	m.w.did("%s ends", r.name)
	m.w.must(r.run.End(m.w.ctx))
	if r.parent == nil {
		return
	}
	for content := range r.own {
		if r.sees[content] {
			r.parent.sees[content], r.parent.own[content] = true, true
		}
	}
	for ref, scarred := range r.scarred {
		r.parent.scarred[ref] = r.parent.scarred[ref] || scarred
	}
}

// audit compares live memory, every open run and every token.
func (m *runModel) audit() {
	for _, name := range modelTenants {
		t := m.tenants[name]
		for _, ref := range modelRefs {
			m.compare(t, "live memory", m.h.bank.Reader(name), ref, t.live, m.w.now)
			for _, r := range t.runs {
				m.compare(t, r.name, r.run.Memory(), ref, r.sees, m.w.now)
			}
		}
		for _, k := range t.tokens {
			m.auditToken(t, k)
		}
	}
}

func (m *runModel) auditToken(t *runTenant, k *takenToken) {
	reader, err := m.h.bank.AsOf(m.w.ctx, t.name, k.token)
	if err != nil {
		m.w.did("read as of %s", k.name)
		m.w.must(err)
	}
	for _, ref := range modelRefs {
		_, err := reader.List(m.w.ctx, ref, memory.ListOptions{})
		if k.gone[ref] && !errors.Is(err, driver.ErrSnapshotUnavailable) {
			m.w.did("read %s as of %s, which could have seen there what was forgotten", ref, k.name)
			m.w.fail(describeError(driver.ErrSnapshotUnavailable), describeError(err))
		}
		if !k.gone[ref] && (!k.scarred[ref] || err == nil) {
			m.compare(t, k.name, reader, ref, k.sees, k.now)
		}
	}
}

func (m *runModel) compare(t *runTenant, who string, r memory.Reader, ref string, set map[string]bool, now time.Time) {
	want := m.visible(t, set, ref, now)
	got := m.w.contents(r, ref)
	if !slices.Equal(got, want) {
		m.w.did("list %s of %s as %s sees it", ref, t.name, who)
		m.w.fail(describeTexts(want), describeTexts(got))
	}
	if len(want) > 1 {
		page, err := r.List(m.w.ctx, ref, memory.ListOptions{Limit: 1})
		m.w.must(err)
		m.w.check(len(page) == 1 && page[0].Content == want[0], want[0]+" at limit 1", "%s", describeTexts(ids(page)))
	}
}
