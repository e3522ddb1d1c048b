package adaptertest

import (
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// texts are those that come back as others from a store which trims, folds, escapes, joins or
// converts them, each with what it would become.
var texts = []string{
	"", " ", "null", "NULL", "0", "007", "7", "1.0", "1", "1e3", "true", `{"a":1}`, "{braced}", "braced", "[]", `"quoted"`, "quoted", "it''s", "it's",
	"  two  spaces ", "two spaces", " before", "before", "behind ", "behind", "tab\t", "tab ", "line\n", "line", "a\r\nb", "a\rb", "a\nb", "a\u2028b\u2029",
	`\`, `\\ \n`, `\n`, "%s %d", "a%20b", "a%25b", "a%b", "a b", "a\u00a0b", "a, b", "a,b", "a;b", "a|b", "a/b", "a:b", `a","b`, `a":"b`, "a\u241fb", "a\x1fb\x1ec\x01",
	"$1", "$1 ${x}", "<b>&amp;</b>", "<b>&</b>", "--; DROP TABLE entries", "\x01\x1f\x7f", "x\u0085y\u009fz", "xyz", "ab", "a\u00adb", "a\u200bb", "a\u200db",
	"é", "e\u0301", "\u212b", "ß", "İ", "ı", "\ufeffbom", "bom", "\ufffd", "\ufffe\uffff", "\U0010ffff", "\ue000\uf8ff", "\U0001F9E0", "日本語",
}

// isName tells whether a text may be a name, which holds no control byte.
func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// sweepTexts keeps each of the texts wherever one is kept, and looks for it by what only it has.
func sweepTexts(w *world) {
	for i, text := range texts {
		name := fmt.Sprint(i, " ", text)
		if !isName(text) {
			name = fmt.Sprint(i)
		}
		e := w.entry(name)
		e.Content, e.Tags = text, []string{"t" + text, "tag"}
		e.RunID, e.Subjects, e.Sources = name, []string{name, "everyone"}, []string{name, strings.Repeat("s", driver.MaxIDBytes)}
		if isName(text) {
			e.Tags, e.RunID, e.Subjects[0], e.Sources[0] = []string{text, "tag"}, text, text, text
		}
		w.put(home, e)
		w.get(home, e)
		if w.tx != nil {
			w.keepsText(&e, text)
		}
	}
	for _, text := range texts {
		for _, q := range []driver.Query{{Tags: []string{"t" + text}}, {Tags: []string{text}}, {Subject: text}, {IDs: []string{text}}} {
			if text != "" {
				q.At = w.now
				w.samePages(home, q)
			}
		}
	}
	w.unnoted(func() { w.auditLog(home.Tenant) })
	w.unmirrored() // in which order a list has them is another law
}

// keepsText keeps a text in a document of each class, and in events.
func (w *world) keepsText(e *driver.Entry, text string) {
	value, of, labelled := note(home, e.ID, text), digest(home, e.ID, e.ID), file(home, e.ID, e.Subjects...)
	value.Group, of.Value, labelled.Group = e.RunID, []byte(text), e.ID
	m := acts(driver.Set, value, of, labelled)
	record := w.event(e.RunID, e.ID)
	record.NodeID = e.RunID
	m.Events = append(m.Events, record)
	for _, d := range w.commits(m) {
		w.holds(d)
	}
	w.sameOutbox(w.undelivered(home.Tenant, e.RunID), w.ref.undelivered(home.Tenant, e.RunID))
	if w.kept != nil {
		record.RunID += "k"
		w.emit(record)
	}
}
