package adaptertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// The words in which steps and failures speak of documents and of what has changed.

var (
	classNames = map[driver.Class]string{driver.Machinery: "machinery", driver.Content: "content", driver.HostText: "host text"}
	actNames   = map[driver.Act]string{driver.Set: "set", driver.Retain: "retain", driver.Check: "check", driver.Remove: "remove"}
)

// describeName is the place of a document, and what it is.
func describeName(d *driver.Document) string {
	return fmt.Sprintf("%s %s %s of %s", classNames[d.Class], short(d.Kind), short(d.Key), describeScope(d.Scope))
}

// describeDocument leaves the revision out, which is the store's to choose: the same
// seed gives the same text.
func describeDocument(d *driver.Document) string {
	text := fmt.Sprintf("%s (value %s", describeName(d), short(d.Value))
	if d.Group != "" {
		text += ", group " + short(d.Group)
	}
	if !d.Due.IsZero() {
		text += ", due " + describeTime(d.Due)
	}
	if len(d.Of) > 0 {
		text += ", of " + describeTexts(d.Of)
	}
	if d.Whole {
		text += ", of the whole ref"
	}
	if len(d.Subjects) > 0 {
		text += ", subjects " + describeTexts(d.Subjects)
	}
	return text + ")"
}

func describeDocuments(docs []driver.Document) string {
	if len(docs) == 0 {
		return "none"
	}
	var lines []string
	for i := range docs {
		lines = append(lines, describeDocument(&docs[i]))
	}
	return strings.Join(lines, "\n")
}

func describeSwap(x *driver.DocumentSwap) string {
	what := describeName(&x.Document)
	if x.Act == driver.Set || x.Act == driver.Retain {
		what = describeDocument(&x.Document)
	}
	if x.Rev == 0 {
		return actNames[x.Act] + " " + what + ", which is not there"
	}
	return actNames[x.Act] + " " + what
}

func describeDocumentQuery(q *driver.DocumentQuery) string {
	text := describeScope(driver.Scope{Tenant: q.Tenant, Ref: q.Ref})
	if q.EveryRef {
		text = short(q.Tenant) + ", of every ref"
	}
	for _, part := range []struct{ name, value string }{{"kind", q.Kind}, {"key", q.Key}, {"group", q.Group}, {"subject", q.Subject}} {
		if part.value != "" {
			text += ", " + part.name + " " + short(part.value)
		}
	}
	if q.Bare {
		text += ", bare"
	}
	return text
}

// documentDifferences tells in what got is not the document that it should be; it is
// empty if they are the same. Nil and empty are.
func documentDifferences(got, want *driver.Document) string {
	var d diff
	d.text("tenant", got.Tenant, want.Tenant)
	d.text("ref", got.Ref, want.Ref)
	d.text("class", classNames[got.Class], classNames[want.Class])
	d.text("kind", got.Kind, want.Kind)
	d.text("key", got.Key, want.Key)
	d.text("value", string(got.Value), string(want.Value))
	d.text("group", got.Group, want.Group)
	d.instant("due", got.Due, want.Due)
	d.list("of", got.Of, want.Of)
	d.list("subjects", got.Subjects, want.Subjects)
	if got.Whole != want.Whole {
		d = append(d, fmt.Sprintf("whole %v instead of %v", got.Whole, want.Whole))
	}
	if got.Rev != want.Rev {
		d = append(d, "another revision than the one that the swap gave")
	}
	return d.String()
}

// describeChanges sorts each list, which has no order.
func describeChanges(c driver.ChangeSet) string {
	var parts []string
	for _, list := range []struct {
		name string
		ids  []string
	}{{"put", c.Put}, {"retired", c.Retired}, {"restored", c.Restored}, {"erased", c.Erased}} {
		if len(list.ids) > 0 {
			parts = append(parts, list.name+" "+describeTexts(slices.Sorted(slices.Values(list.ids))))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
