package adaptertest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

const canary = "canary-7Qm2vT9x-4Lp8"

func markersStay(w *world) {
	e := w.entry("marked")
	e.Tags = []string{"[REDACTED:billing-key]", "[REDACTED:a/b.c_d:e-1]", "<REDACTED:label>", "[BYOK:x]", "[[REDACTED:k]]", `\[REDACTED:k\]`}
	e.Content = "the key is " + strings.Join(e.Tags, " and ")
	w.put(home, e)
}

// telling is an entry of whose every part an error or a printed form would tell.
func (w *world) telling() driver.Entry {
	e := w.entry("id-" + canary)
	e.Content, e.Tags = "content-"+canary, []string{"tag-" + canary}
	e.Subjects, e.Sources = []string{"subject-" + canary}, []string{"source-" + canary}
	return e
}

func printedForms(w *world) {
	w.put(home, w.telling())
	w.silentForms()
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

// silentForms expects that no printed form of the store says anything of a telling entry.
func (w *world) silentForms() {
	for what, text := range sorted(sayings(w.store.of)) {
		w.did("print the store: %s", what)
		w.silent("a printed form", text)
	}
}

// sayings are the forms in which a store offers to print itself. One without any
// such method is printed by its author only.
func sayings(store driver.Adapter) map[string]string {
	said := map[string]string{}
	if s, ok := store.(fmt.Formatter); ok {
		said["Format"] = fmt.Sprintf("%v %+v %#v %s", s, s, s, s)
	}
	for _, name := range []string{"String", "GoString", "LogValue", "MarshalJSON", "MarshalText"} {
		if m := reflect.ValueOf(store).MethodByName(name); m.IsValid() && m.Type().NumIn() == 0 {
			said[name] = fmt.Sprintf("%s", m.Call(nil)[0].Interface())
		}
	}
	return said
}

// erasedIsUnsaid erases entries in every state, and a document made of one. The audit reads everything.
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
	w.silentForms()
}
