package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// The words in which steps and failures speak of things.

func describeError(err error) string {
	if err == nil {
		return "no error"
	}
	text := fmt.Sprintf("error %q", err.Error())
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		if !strings.Contains(text, cause.Error()) {
			text += fmt.Sprintf(", caused by %q", cause.Error())
		}
	}
	return text
}

func describeScope(s driver.Scope) string { return short(s.Tenant) + " / " + short(s.Ref) }

func describeTime(t time.Time) string {
	if t.IsZero() {
		return "the zero instant"
	}
	return t.Format("2006-01-02T15:04:05.999Z07:00")
}

// short quotes text, of a long one its ends. Issued ids are in it whole or not at all,
// as rename knows only whole ones.
func short[T ~string | ~[]byte](s T) string {
	if len(s) <= 60 {
		return strconv.Quote(string(s))
	}
	const near = 300 // no id that reaches beyond is cut where it matters
	head, tail := string(s[:min(len(s), near)]), string(s[max(0, len(s)-near):])
	from, to := 20, len(tail)-20
	for _, id := range issued.FindAllStringIndex(head, -1) {
		if id[0] < from && from < id[1] {
			from = id[0]
		}
	}
	for _, id := range issued.FindAllStringIndex(tail, -1) {
		if id[0] < to && to < id[1] {
			to = id[1]
		}
	}
	return fmt.Sprintf("%q… (%d bytes) …%q", head[:from], len(s), tail[to:])
}

func describeEntry(e *driver.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (content %s, created %s", short(e.ID), short(e.Content), describeTime(e.CreatedAt))
	if !e.ExpiresAt.IsZero() {
		fmt.Fprintf(&b, ", expires %s", describeTime(e.ExpiresAt))
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"tags", e.Tags}, {"subjects", e.Subjects}, {"sources", e.Sources}} {
		if len(list.values) > 0 {
			fmt.Fprintf(&b, ", %s %s", list.name, describeTexts(list.values))
		}
	}
	return b.String() + ")"
}

func describeTexts(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	var quoted []string
	for i, t := range texts {
		if i == 12 {
			quoted = append(quoted, fmt.Sprintf("… (%d in all)", len(texts)))
			break
		}
		quoted = append(quoted, short(t))
	}
	return strings.Join(quoted, ", ")
}

func describeQuery(q driver.Query) string {
	var b strings.Builder
	if q.Limit != 0 {
		fmt.Fprintf(&b, " limit %d", q.Limit)
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"ids", q.IDs}, {"tags", q.Tags}} {
		if len(list.values) > 0 {
			fmt.Fprintf(&b, " %s %s", list.name, describeTexts(list.values))
		}
	}
	if q.Subject != "" {
		fmt.Fprintf(&b, " subject %s", short(q.Subject))
	}
	if !q.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", describeTime(q.Since))
	}
	if !q.Until.IsZero() {
		fmt.Fprintf(&b, " until %s", describeTime(q.Until))
	}
	if !q.After.IsZero() {
		fmt.Fprintf(&b, " after %s of %s", short(q.After.ID), describeTime(q.After.CreatedAt))
	}
	return b.String() + " at " + describeTime(q.At)
}

func describeMutation(m *driver.Mutation) string {
	var parts []string
	places := func(verb string, list []driver.Located) {
		for _, l := range list {
			parts = append(parts, fmt.Sprintf("%s %s in %s", verb, short(l.ID), describeScope(l.Scope)))
		}
	}
	places("expect live", m.Live)
	for _, h := range slices.SortedFunc(maps.Keys(m.MergedInto), func(a, b driver.Located) int { return strings.Compare(a.Ref+a.ID, b.Ref+b.ID) }) {
		of := slices.Sorted(slices.Values(m.MergedInto[h]))
		parts = append(parts, fmt.Sprintf("expect exactly %s to be retired for %s in %s", describeTexts(of), short(h.ID), describeScope(h.Scope)))
	}
	for _, p := range m.Put {
		parts = append(parts, fmt.Sprintf("put %s in %s", describeEntry(&p.Entry), describeScope(p.Scope)))
	}
	for _, r := range m.Retire {
		text := fmt.Sprintf("retire %s in %s as %v", short(r.ID), describeScope(r.Scope), r.State)
		if r.For != "" {
			text += " for " + short(r.For)
		}
		parts = append(parts, text)
	}
	places("restore", m.Restore)
	places("erase", m.Erase)
	for i := range m.Documents {
		parts = append(parts, describeSwap(&m.Documents[i]))
	}
	for _, e := range m.Events {
		parts = append(parts, fmt.Sprintf("event %s of run %s", short(e.ID), short(e.RunID)))
	}
	if m.Keep {
		parts = append(parts, "keep the events")
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	if l := m.Limits; l != (driver.Limits{}) {
		parts = append(parts, fmt.Sprintf("limits of %d entries, %d bytes, %d events", l.Entries, l.Bytes, l.Waiting))
	}
	if len(parts) > 20 {
		parts = append(parts[:20], fmt.Sprintf("… (%d parts in all)", len(parts)))
	}
	return strings.Join(parts, "; ")
}

func describeEvent(r *events.Record) string {
	payload, err := json.Marshal(r.Payload)
	if err != nil {
		payload = []byte(describeError(err))
	}
	return fmt.Sprintf("event %s of %s, run %s, node %s, at %s: %T %s", short(r.ID), short(r.Tenant), short(r.RunID), short(r.NodeID),
		describeTime(r.Time), r.Payload, payload)
}

func describeRecord(r *driver.Record) string {
	text := describeEntry(&r.Entry) + ", " + r.State.String()
	if r.For != "" {
		text += " for " + short(r.For)
	}
	if r.Erased {
		text += ", erased"
	}
	return text + ", in " + describeScope(r.Scope)
}

// sorted ranges over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func ids(entries []driver.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

func sameEntries(a, b *driver.Entry) bool {
	return a.ID == b.ID && a.Content == b.Content && a.RunID == b.RunID && a.CreatedAt == b.CreatedAt && a.ExpiresAt == b.ExpiresAt &&
		slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Subjects, b.Subjects) && slices.Equal(a.Sources, b.Sources)
}

// diff collects in what something is not as it should be.
type diff []string

func (d *diff) text(name, got, want string) {
	if got != want {
		*d = append(*d, fmt.Sprintf("%s %s instead of %s", name, short(got), short(want)))
	}
}

func (d *diff) list(name string, got, want []string) {
	if !slices.Equal(got, want) {
		*d = append(*d, fmt.Sprintf("%s %s instead of %s", name, describeTexts(got), describeTexts(want)))
	}
}

func (d *diff) instant(name string, got, want time.Time) {
	if !got.Equal(want) || got.IsZero() != want.IsZero() {
		*d = append(*d, fmt.Sprintf("%s %s instead of %s", name, describeTime(got), describeTime(want.UTC())))
	} else if _, offset := got.Zone(); offset != 0 {
		*d = append(*d, fmt.Sprintf("%s %s, which is not in UTC", name, describeTime(got)))
	}
}

func (d *diff) String() string { return strings.Join(*d, "; ") }

// differences tells in what got is not the entry that it should be; it is empty if
// the entries are the same. Nil and empty lists are.
func differences(got, want *driver.Entry) string {
	if sameEntries(got, want) {
		return ""
	}
	var d diff
	d.text("id", got.ID, want.ID)
	d.text("content", got.Content, want.Content)
	d.list("tags", got.Tags, want.Tags)
	d.instant("createdAt", got.CreatedAt, want.CreatedAt)
	d.instant("expiresAt", got.ExpiresAt, want.ExpiresAt)
	d.text("run", got.RunID, want.RunID)
	d.list("subjects", got.Subjects, want.Subjects)
	d.list("sources", got.Sources, want.Sources)
	return d.String()
}
