package driver

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// agrees expects of a query that it matches iff no field that it sets is another one. The bits
// of set are the fields that it sets, and those of other the fields of what it is held against
// that are others.
func agrees(t *testing.T, fields int, matches func(set, other uint) bool) {
	t.Helper()
	for set := range uint(1) << fields {
		for other := range uint(1) << fields {
			require.Equal(t, set&other == 0, matches(set, other), "set %b, other %b", set, other)
		}
	}
}

// field returns a name if the bit is set, and otherwise none.
func field(bits uint, n int, name string) string {
	if bits>>n&1 == 1 {
		return name
	}
	return ""
}

func TestM1_QueriesMatchByEveryFieldThatTheySet(t *testing.T) {
	name := func(other uint, n int) string { return "x" + field(other, n, "x") }
	agrees(t, 5, func(set, other uint) bool {
		d := Document{Scope: Scope{"t", name(other, 0)}, Kind: name(other, 1), Key: name(other, 2), Group: name(other, 3), Subjects: []string{"y", name(other, 4)}}
		q := DocumentQuery{Tenant: "t", EveryRef: set&1 == 0, Ref: field(set, 0, "x"), Kind: field(set, 1, "x"), Key: field(set, 2, "x"), Group: field(set, 3, "x"), Subject: field(set, 4, "x")}
		elsewhere := q
		elsewhere.Tenant = "T"
		require.False(t, elsewhere.Matches(&d))
		return q.Matches(&d)
	})
	agrees(t, 3, func(set, other uint) bool {
		r := Record{Scope: Scope{"t", name(other, 0)}, For: name(other, 1), Entry: Entry{Subjects: []string{"y", name(other, 2)}}}
		q := HistoryQuery{Ref: field(set, 0, "x"), Subject: field(set, 2, "x")}
		if set&2 != 0 {
			q.For = []string{"y", "x"}
		}
		return q.Matches(&r)
	})
	agrees(t, 4, func(set, other uint) bool {
		e := Entry{ID: name(other, 0), Tags: []string{"y", name(other, 1)}, Subjects: []string{"z", name(other, 2)}, CreatedAt: noon}
		q := Query{Subject: field(set, 2, "x")}
		if set&1 != 0 {
			q.IDs = []string{"y", "x"}
		}
		if set&2 != 0 {
			q.Tags = []string{"x", "y"}
		}
		if set&8 != 0 {
			q.Since, q.Until = noon, noon.Add(1)
		}
		if other&8 != 0 {
			e.CreatedAt = []time.Time{noon.Add(-1), noon.Add(1)}[set>>1&1]
		}
		return q.Matches(&e)
	})
	own := DocumentQuery{Tenant: "t"}
	require.True(t, own.Matches(&Document{Scope: Scope{"t", ""}}), "the tenant's own documents")
	require.False(t, own.Matches(&Document{Scope: home}), "an empty ref is the tenant's own, and not every one")

	names := []string{"a", "b"}
	doc := func(n int) *Document {
		return &Document{Scope: Scope{"t", names[n>>2&1]}, Kind: names[n>>1&1], Key: names[n&1]}
	}
	for last := range 8 {
		for n := range 8 {
			q := DocumentQuery{Tenant: "t", EveryRef: true, After: doc(last)}
			require.Equal(t, n > last, q.Matches(doc(n)))
		}
	}
}

func TestM5_AListMatchesWhatIsLiveBehindItsCursor(t *testing.T) {
	instant := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Millisecond) }
	for created := range 3 {
		for _, id := range []string{"a", "b", "c"} {
			for expires := range 4 {
				e := Entry{ID: id, CreatedAt: instant(created), ExpiresAt: instant(expires), Tags: []string{"x", "xx"}}
				for at := range 4 {
					for _, tag := range []string{"", "x", "y"} {
						live := at < expires && tag != "y"
						q := Query{At: instant(at), Limit: 1}
						if tag != "" {
							q.Tags = []string{tag}
						}
						require.Equal(t, live, q.Matches(&e))
						q.After = Cursor{instant(1), "b"}
						behind := created < 1 || created == 1 && id < "b"
						require.Equal(t, live && behind, q.Matches(&e), fmt.Sprint(created, id, expires, at, tag))
					}
				}
			}
		}
	}
}

// The tags of an entry are a list in its JSON form, also if it has none.
func TestM8_TagsAreNeverNull(t *testing.T) {
	for want, tags := range map[string][]string{`"tags":[]`: nil, `"tags":["a"]`: {"a"}} {
		text, err := json.Marshal(Entry{ID: "1", Tags: tags})
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
}
