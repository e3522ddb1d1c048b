package adaptertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
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

// describe tells a value in words: of a struct the fields that are set, each by its name, and of a long list its
// beginning. A revision is left out, as it is the store's to choose: the same seed gives the same text.
func describe(v any) string { return describeValue(reflect.ValueOf(v)) }

func describeValue(v reflect.Value) string {
	if !v.IsValid() {
		return "nothing"
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return describeTime(x)
	case driver.Scope:
		return describeScope(x)
	case driver.Class:
		return map[driver.Class]string{driver.Machinery: "machinery", driver.Content: "content", driver.HostText: "host text"}[x]
	case driver.Act:
		return map[driver.Act]string{driver.Set: "set", driver.Retain: "retain", driver.Check: "check", driver.Remove: "remove"}[x]
	case fmt.Stringer:
		return x.String()
	case []byte:
		return short(x)
	case events.Payload:
		payload, err := json.Marshal(x)
		if err != nil {
			payload = []byte(describeError(err))
		}
		if len(payload) > 300 {
			payload = []byte(short(payload))
		}
		return fmt.Sprintf("%T %s", x, payload)
	}
	var parts []string
	switch v.Kind() {
	case reflect.String:
		return short(v.String())
	case reflect.Pointer, reflect.Interface:
		return describeValue(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if i == 12 {
				parts = append(parts, fmt.Sprintf("… (%d in all)", v.Len()))
				break
			}
			parts = append(parts, describePart(v.Index(i)))
		}
		if v.Len() == 1 {
			return describeValue(v.Index(0))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			parts = append(parts, describeValue(key)+": "+describeValue(v.MapIndex(key)))
		}
		slices.Sort(parts)
	case reflect.Struct:
		for i := range v.NumField() {
			f, v := v.Type().Field(i), v.Field(i)
			if empty := v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0; !empty && f.Name != "Rev" {
				parts = append(parts, describeField(f, v))
			}
		}
	default:
		return fmt.Sprint(v.Interface())
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// describePart is a value beside others.
func describePart(v reflect.Value) string {
	text := describeValue(v)
	if _, is := v.Interface().(driver.Scope); v.Kind() == reflect.String || is || !strings.Contains(text, ", ") {
		return text
	}
	return "(" + text + ")"
}

func describeField(f reflect.StructField, v reflect.Value) string {
	switch {
	case f.Anonymous:
		return describeValue(v)
	case v.Kind() == reflect.Bool:
		return nameOfField(f)
	}
	return nameOfField(f) + " " + describePart(v)
}

// nameOfField is the name of a field as a failure calls it: createdAt, id.
func nameOfField(f reflect.StructField) string {
	if rest := f.Name[1:]; rest != strings.ToLower(rest[:1])+rest[1:] { // ID, IDs
		return strings.ToLower(f.Name)
	}
	return strings.ToLower(f.Name[:1]) + f.Name[1:]
}

// describeChanges sorts each list, which has no order.
func describeChanges(c driver.ChangeSet) string {
	for _, list := range []*[]string{&c.Put, &c.Retired, &c.Restored, &c.Erased} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return describe(c)
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

// sameEntries is what most entries are, and quicker than looking for differences.
func sameEntries(a, b *driver.Entry) bool {
	return a.ID == b.ID && a.Content == b.Content && a.RunID == b.RunID && a.CreatedAt == b.CreatedAt && a.ExpiresAt == b.ExpiresAt &&
		slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Subjects, b.Subjects) && slices.Equal(a.Sources, b.Sources)
}

// differences tells in what got is not the entry that it should be; it is empty if
// the entries are the same. Nil and empty lists are.
func differences(got, want *driver.Entry) string {
	if sameEntries(got, want) {
		return ""
	}
	return differencesOf("", reflect.ValueOf(*got), reflect.ValueOf(*want))
}

func recordDifferences(got, want *driver.Record) string {
	if got.Scope == want.Scope && got.State == want.State && got.For == want.For && got.Erased == want.Erased && sameEntries(&got.Entry, &want.Entry) {
		return ""
	}
	return differencesOf("", reflect.ValueOf(*got), reflect.ValueOf(*want))
}

// documentDifferences tells in what got is not the document that it should be; it is
// empty if they are the same. Nil and empty are. The revision is the store's to choose, so that it
// is in no text.
func documentDifferences(got, want *driver.Document) string {
	known := *got
	known.Rev = want.Rev
	diff := differencesOf("", reflect.ValueOf(known), reflect.ValueOf(*want))
	if got.Rev != want.Rev {
		diff += "; another revision than the one that the swap gave"
	}
	return strings.TrimPrefix(diff, "; ")
}

// differencesOf tells in what got differs from want, by the paths to the values. Nil and empty lists are the same.
func differencesOf(path string, got, want reflect.Value) string {
	var parts []string
	deeper := func(path string, got, want reflect.Value) {
		if diff := differencesOf(path, got, want); diff != "" {
			parts = append(parts, diff)
		}
	}
	if instant, is := got.Interface().(time.Time); is {
		if then := want.Interface().(time.Time); !instant.Equal(then) || instant.IsZero() != then.IsZero() {
			return fmt.Sprintf("%s %s instead of %s", path, describeTime(instant), describeTime(then.UTC()))
		}
		if _, offset := instant.Zone(); offset != 0 {
			return fmt.Sprintf("%s %s, which is not in UTC", path, describeTime(instant))
		}
		return ""
	}
	switch kind := got.Kind(); {
	case kind == reflect.Struct:
		for i := range got.NumField() {
			deeper(strings.TrimPrefix(path+"."+nameOfField(got.Type().Field(i)), "."), got.Field(i), want.Field(i))
		}
	case kind == reflect.Interface && !got.IsNil() && !want.IsNil() && got.Elem().Type() == want.Elem().Type():
		deeper(path, got.Elem(), want.Elem())
	case kind == reflect.Slice && got.Len() == want.Len() && shares(got.Type().Elem()):
		for i := range got.Len() {
			deeper(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i))
		}
	case kind == reflect.Slice && got.Len()+want.Len() == 0 || reflect.DeepEqual(got.Interface(), want.Interface()):
	default:
		return fmt.Sprintf("%s %s instead of %s", path, describeValue(got), describeValue(want))
	}
	return strings.Join(parts, "; ")
}
