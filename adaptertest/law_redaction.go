package adaptertest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

func redactionLaw() law {
	l := law{name: "SR-1", number: "M2, M3", says: "a store adds no way by which a secret could get out: it keeps markers as they are, says nothing of entries, and forgets what is erased"}
	l.cases = slices.Concat(
		throughReaders("marker", "redaction markers come back byte for byte", readMarkers),
		[]testCase{
			{"string", "no printed form of the store holds anything of an entry", nil, silentString},
			{"erased", "nothing that the store returns or says holds what was erased, live, merged, superseded or deleted", []Offer{Transactor}, erasedIsUnsaid},
			{"erased-versions", "erasing reaches every version", []Offer{Transactor, Versioned}, erasedVersionsAreUnsaid},
			{"late-secret", "a secret that was registered too late is gone after a scrub, and its marker stands there", []Offer{Transactor}, lateSecret},
			{"erased-reopened", "what was erased does not come back when the store is opened again", []Offer{Transactor, Durable}, erasedStaysUnsaid},
		},
		methodCases("errors", "no error holds content, a tag, a subject, an id or another name", sweepErrors))
	return l
}

const canary = "canary-7Qm2vT9x-4Lp8"

var markers = []string{"[REDACTED:billing-key]", "[REDACTED:a/b.c_d:e-1]", "<REDACTED:label>", "[BYOK:x]", "[[REDACTED:k]]", `\[REDACTED:k\]`}

func (w *world) marked() driver.Entry {
	e := w.entry("marked")
	e.Content = "the key is " + strings.Join(markers, " and ")
	e.Tags = slices.Clone(markers)
	return e
}

func readMarkers(w *world, r reader) {
	e := w.marked()
	w.put(home, e)
	got := r.read(w, home, []string{e.ID})
	w.sameIDs(got, []string{e.ID})
	w.sameEntry(&got[0], &e)
}

// telling is an entry of whose every part an error or a printed form would tell.
func (w *world) telling() driver.Entry {
	e := w.entry("id-" + canary)
	e.Content, e.Tags = "content-"+canary, []string{"tag-" + canary}
	e.Subjects, e.Sources = []string{"subject-" + canary}, []string{"source-" + canary}
	return e
}

// silent expects that a text says nothing of a telling entry.
func (w *world) silent(what, text string) {
	w.check(!strings.Contains(strings.ToLower(text), strings.ToLower(canary)), what+" that says nothing of an entry", "%s", short(text))
}

func (w *world) silentError(err error) {
	if err != nil {
		w.silent("an error", fmt.Sprintf("%v %+v", err, err))
	}
}

func silentString(w *world) {
	e := w.telling()
	w.put(home, e)
	for what, text := range sorted(sayings(raw(w.store))) {
		w.did("print the store: %s", what)
		w.silent("a printed form", text)
	}
}

// sayings are the forms in which a store offers to print itself. One without any
// such method is printed by nobody but its author.
func sayings(store driver.Adapter) map[string]string {
	said := map[string]string{}
	if s, ok := store.(fmt.Formatter); ok {
		said["Format"] = fmt.Sprintf("%v %+v %#v %s", s, s, s, s)
	}
	if s, ok := store.(fmt.Stringer); ok {
		said["String"] = s.String()
	}
	if s, ok := store.(fmt.GoStringer); ok {
		said["GoString"] = s.GoString()
	}
	if s, ok := store.(slog.LogValuer); ok {
		said["slog"] = s.LogValue().String()
	}
	if s, ok := store.(json.Marshaler); ok {
		text, _ := s.MarshalJSON()
		said["JSON"] = string(text)
	}
	if s, ok := store.(encoding.TextMarshaler); ok {
		text, _ := s.MarshalText()
		said["text"] = string(text)
	}
	return said
}

// unsaid expects that nothing the store returns or says holds the canary. States
// and stubs are the store's to keep, so ids are exempt: a telling entry that was
// erased has an innocent one.
func (w *world) unsaid(tenant string, refs []string, ids []string, versions ...driver.Version) {
	var all []any
	w.quietly("read everything that the store returns", func() {
		for _, ref := range refs {
			s := at(tenant, ref)
			for _, r := range readers {
				if len(w.found.missing(r.needs)) == 0 {
					all = append(all, r.read(w, s, ids))
				}
			}
			for _, id := range ids {
				e, err := w.tryGet(s, id)
				w.silentError(err)
				all = append(all, e)
			}
			if w.tx != nil {
				all = append(all, w.lookUp(s, ids...))
			}
			for _, v := range versions {
				all = append(all, w.getAt(s, v, ids...), w.listAt(s, v, driver.Query{At: w.now}))
			}
		}
		if w.tx != nil {
			all = append(all, w.history(tenant, driver.HistoryQuery{}), w.history(tenant, driver.HistoryQuery{Subject: "subject-" + canary}))
			all = append(all, w.undelivered(tenant, "run-1"))
			for _, d := range w.documents(driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
				all = append(all, describeDocument(&d))
			}
		}
		all = append(all, sayings(raw(w.store)))
	})
	for _, x := range all {
		w.silent("an answer", fmt.Sprintf("%+v", x))
	}
}

// innocent is a telling entry but for its id.
func (w *world) innocent(id string) driver.Entry {
	e := w.telling()
	e.ID = id
	return e
}

func erasedIsUnsaid(w *world) {
	w.put(home, w.innocent("e1"))
	w.puts(home, "other")
	d := digest(home, "d", "other", "e1")
	d.Value = []byte("digest of " + canary)
	w.set(d)
	w.apply(driver.Mutation{Erase: located(home, "e1")})
	w.unsaid(home.Tenant, []string{home.Ref}, []string{"e1", "other"})
	w.puts(home, "successor")
	for id, state := range sorted(map[string]driver.State{"merged": driver.Merged, "superseded": driver.Superseded}) {
		w.quietly("put one that is merged and one that is superseded", func() {
			w.put(home, w.innocent(id))
			w.apply(retired(retire(home, id, state, "successor")))
		})
	}
	w.put(home, w.innocent("deleted"))
	w.delete(home, "deleted", true)
	w.apply(driver.Mutation{Erase: located(home, "merged", "superseded", "deleted")})
	w.unsaid(home.Tenant, []string{home.Ref}, []string{"merged", "superseded", "deleted"})
}

func erasedVersionsAreUnsaid(w *world) {
	w.put(home, w.innocent("e1"))
	w.put(home, w.innocent("e2"))
	v := w.version(home.Tenant)
	w.delete(home, "e2", true)
	v2 := w.version(home.Tenant)
	w.apply(driver.Mutation{Erase: located(home, "e1", "e2")})
	w.unsaid(home.Tenant, []string{home.Ref}, []string{"e1", "e2"}, v, v2)
}

func erasedStaysUnsaid(w *world) {
	w.put(home, w.innocent("e1"))
	w.apply(driver.Mutation{Erase: located(home, "e1")})
	w.reopen()
	w.unsaid(home.Tenant, []string{home.Ref}, []string{"e1"})
}

func lateSecret(w *world) {
	h := w.host()
	job := h.job(home.Tenant, redact.New(redact.Config{}))
	w.did("a job puts two entries with the secret, which nobody has registered, and one without")
	one := h.put(job, home.Ref, memory.Draft{Content: "the key is " + canary, Subjects: []string{"customer:1"}})
	two := h.put(job, "sales", memory.Draft{Content: "x", Tags: []string{"key " + canary}})
	three := h.put(job, home.Ref, memory.Draft{Content: "harmless"})
	w.did("scrub the tenant of the secret, registered by now as k")
	secrets := redact.New(redact.Config{})
	w.must(secrets.Register("k", []byte(canary)))
	_, err := h.bank.Scrub(w.ctx, home.Tenant, secrets)
	w.must(err)
	w.unsaid(home.Tenant, []string{home.Ref, "sales"}, []string{one.ID, two.ID, three.ID})
	w.sameTexts(h.contents(home.Tenant, home.Ref), "harmless", "the key is [REDACTED:k]")
	w.sameTexts(h.contents(home.Tenant, "sales"), "x")
}
