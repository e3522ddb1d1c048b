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
	tx := []Offer{Transactor}
	return law{name: "SR-1", number: "M2, M3", says: "a store adds no way by which a secret could get out: it keeps markers as they are, says nothing of entries, and forgets what is erased", cases: append([]testCase{
		{"marker", "redaction markers come back byte for byte", nil, func(w *world) { w.put(home, w.marked()) }},
		{"string", "no printed form of the store holds anything of an entry", nil, silentString},
		{"erased", "nothing that the store returns or says, at any version, holds what was erased, live, merged, superseded or deleted", tx, erasedIsUnsaid},
		{"erased-reopened", "what was erased does not come back when the store is opened again", append(tx, Durable), func(w *world) {
			erasedIsUnsaid(w)
			w.reopen()
			w.unsaid(home.Tenant, []string{home.Ref}, []string{"live", "merged", "superseded", "deleted", "other"})
		}},
		{"late-secret", "a secret that was registered too late is gone after a scrub, and its marker stands there", tx, lateSecret},
	}, methodCases("errors", "no error holds content, a tag, a subject, an id or another name", sweepErrors)...)}
}

const canary = "canary-7Qm2vT9x-4Lp8"

var markers = []string{"[REDACTED:billing-key]", "[REDACTED:a/b.c_d:e-1]", "<REDACTED:label>", "[BYOK:x]", "[[REDACTED:k]]", `\[REDACTED:k\]`}

func (w *world) marked() driver.Entry {
	e := w.entry("marked")
	e.Content = "the key is " + strings.Join(markers, " and ")
	e.Tags = slices.Clone(markers)
	return e
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
func (w *world) unsaid(tenant string, refs []string, ids []string) {
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
			for _, h := range w.held {
				all = append(all, w.getAt(s, h.store, ids...), w.listAt(s, h.store, driver.Query{At: w.now}))
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

func erasedIsUnsaid(w *world) {
	w.puts(home, "other")
	for _, id := range []string{"live", "merged", "superseded", "deleted"} {
		e := w.telling()
		e.ID = id
		w.put(home, e)
	}
	d := digest(home, "d", "other", "live")
	d.Value = []byte("digest of " + canary)
	w.set(d)
	w.apply(retired(retire(home, "merged", driver.Merged, "other"), retire(home, "superseded", driver.Superseded, "other"), retire(home, "deleted", driver.Deleted, "")))
	w.apply(driver.Mutation{Erase: located(home, "live", "merged", "superseded", "deleted")})
	w.unsaid(home.Tenant, []string{home.Ref}, []string{"live", "merged", "superseded", "deleted", "other"})
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
