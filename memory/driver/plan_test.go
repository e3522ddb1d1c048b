package driver

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// planOf plans a mutation over records of home, and over documents of home of the kind "k" by
// their keys, all with the revision 5.
func planOf(m *Mutation, held map[string]Record, docs map[string]Class) (Plan, error) {
	s := m.Needs()
	for l := range s.Entries {
		if r, ok := held[l.ID]; ok && l.Scope == home {
			s.Entries[l] = r
		} else {
			delete(s.Entries, l)
		}
	}
	for i := range m.Documents {
		x := &m.Documents[i]
		if class, ok := docs[x.Key]; ok && x.Ref == home.Ref && x.Kind == "k" {
			s.Documents[i] = Document{Rev: 5, Class: class}
		}
	}
	return s.Plan(m)
}

// A mutation holds or not over one entry in each state and one document of
// each class.
func TestM8_Holds(t *testing.T) {
	entry := func(id string) Entry { return Entry{ID: id, Content: "c", CreatedAt: noon} }
	held := map[string]Record{
		"live": {Entry: entry("live")}, "live2": {Entry: entry("live2")},
		"merged":   {Entry: entry("merged"), State: Merged},
		"replaced": {Entry: entry("replaced"), State: Superseded},
		"deleted":  {Entry: entry("deleted"), State: Deleted},
		"erased":   {Entry: Entry{ID: "erased"}, State: Merged, Erased: true},
		"expired":  {Entry: Entry{ID: "expired", CreatedAt: noon, ExpiresAt: noon}},
	}
	docs := map[string]Class{"machine": Machinery, "content": Content, "text": HostText}
	at := func(id string) Located { return Located{home, id} }
	put := func(id string) Placed { return Placed{home, entry(id)} }
	swap := func(act Act, key string, class Class, rev int64, of ...string) DocumentSwap {
		return DocumentSwap{Document{Scope: home, Class: class, Kind: "k", Key: key, Rev: rev, Of: of}, act}
	}
	retire := func(id string, state State, heir string) []Retirement { return []Retirement{{at(id), state, heir}} }
	changed := put("live")
	changed.Entry.Content = "other"
	for name, c := range map[string]struct {
		holds bool
		m     Mutation
	}{
		"live":                        {true, Mutation{Live: []Located{at("live")}}},
		"live elsewhere":              {false, Mutation{Live: []Located{{Scope{"t", "R"}, "live"}}}},
		"merged is not live":          {false, Mutation{Live: []Located{at("merged")}}},
		"expired is not live":         {false, Mutation{Live: []Located{at("expired")}}},
		"unknown is not live":         {false, Mutation{Live: []Located{at("none")}}},
		"a put is not live before":    {false, Mutation{Live: []Located{at("new")}, Put: []Placed{put("new")}}},
		"put":                         {true, Mutation{Put: []Placed{put("new")}}},
		"put again":                   {true, Mutation{Put: []Placed{put("live"), put("live")}}},
		"put of what was merged":      {true, Mutation{Put: []Placed{put("merged")}}},
		"put of another entry":        {false, Mutation{Put: []Placed{changed}}},
		"put of two entries":          {false, Mutation{Put: []Placed{put("new"), {home, Entry{ID: "new"}}}}},
		"put of what was erased":      {false, Mutation{Put: []Placed{put("erased")}}},
		"retire":                      {true, Mutation{Retire: retire("live", Merged, "live2")}},
		"retire what is put":          {true, Mutation{Put: []Placed{put("new")}, Retire: retire("new", Deleted, "")}},
		"retire for what is put":      {true, Mutation{Put: []Placed{put("new")}, Retire: retire("live", Merged, "new")}},
		"retire an expired put":       {true, Mutation{Put: []Placed{{home, held["expired"].Entry}}, Retire: retire("expired", Deleted, "")}},
		"retire what expired":         {false, Mutation{Retire: retire("expired", Deleted, "")}},
		"retire twice":                {false, Mutation{Retire: append(retire("live", Deleted, ""), retire("live", Deleted, "")...)}},
		"retire for what is retired":  {false, Mutation{Retire: append(retire("live2", Deleted, ""), retire("live", Merged, "live2")...)}},
		"restore":                     {true, Mutation{Restore: []Located{at("merged"), at("replaced")}}},
		"restore what lives":          {false, Mutation{Restore: []Located{at("live")}}},
		"restore what was deleted":    {false, Mutation{Restore: []Located{at("deleted")}}},
		"restore what was erased":     {false, Mutation{Restore: []Located{at("erased")}}},
		"restore twice":               {false, Mutation{Restore: []Located{at("merged"), at("merged")}}},
		"erase anything":              {true, Mutation{Erase: []Located{at("live"), at("live"), at("erased"), at("none")}}},
		"create":                      {true, Mutation{Documents: []DocumentSwap{swap(Set, "new", HostText, 0)}}},
		"create what is there":        {false, Mutation{Documents: []DocumentSwap{swap(Set, "machine", Machinery, 0)}}},
		"change":                      {true, Mutation{Documents: []DocumentSwap{swap(Set, "machine", Machinery, 5)}}},
		"change another revision":     {false, Mutation{Documents: []DocumentSwap{swap(Set, "machine", Machinery, 4)}}},
		"change what is not there":    {false, Mutation{Documents: []DocumentSwap{swap(Set, "new", Machinery, 5)}}},
		"change the class":            {false, Mutation{Documents: []DocumentSwap{swap(Set, "machine", HostText, 5)}}},
		"check":                       {true, Mutation{Documents: []DocumentSwap{swap(Check, "text", HostText, 5)}}},
		"check that there is none":    {true, Mutation{Documents: []DocumentSwap{swap(Check, "none", HostText, 0)}}},
		"check the wrong class":       {false, Mutation{Documents: []DocumentSwap{swap(Check, "text", Content, 5)}}},
		"remove":                      {true, Mutation{Documents: []DocumentSwap{swap(Remove, "content", Content, 5)}}},
		"remove the wrong class":      {false, Mutation{Documents: []DocumentSwap{swap(Remove, "content", Machinery, 5)}}},
		"remove nothing":              {true, Mutation{Documents: []DocumentSwap{swap(Remove, "none", Machinery, 0)}}},
		"made of entries":             {true, Mutation{Documents: []DocumentSwap{swap(Set, "new", Content, 0, "live", "merged", "expired")}}},
		"made of what is put":         {true, Mutation{Put: []Placed{put("new")}, Documents: []DocumentSwap{swap(Set, "new", Content, 0, "new")}}},
		"made of an unknown entry":    {false, Mutation{Documents: []DocumentSwap{swap(Set, "new", Content, 0, "live", "none")}}},
		"made of what was erased":     {false, Mutation{Documents: []DocumentSwap{swap(Set, "new", Content, 0, "erased")}}},
		"made of what is erased":      {false, Mutation{Erase: []Located{at("live")}, Documents: []DocumentSwap{swap(Set, "new", Content, 0, "live")}}},
		"retained of what is erased":  {false, Mutation{Erase: []Located{at("live")}, Documents: []DocumentSwap{swap(Retain, "content", Content, 5, "live")}}},
		"checked beside what is gone": {true, Mutation{Documents: []DocumentSwap{swap(Check, "content", Content, 5, "none")}}},
	} {
		c.m.At = noon.Add(time.Millisecond - 1) // judged to the millisecond
		_, err := planOf(&c.m, held, docs)
		require.Equal(t, c.holds, err == nil, name)
	}
}

// Two entries are the same one only if all of them is.
func TestM3_EntryEqual(t *testing.T) {
	e := Entry{ID: "a", Content: "c", Tags: []string{"x"}, CreatedAt: noon, ExpiresAt: noon, RunID: "r", Subjects: []string{"ann"}, Sources: []string{"s"}}
	same := e
	same.CreatedAt = noon.In(time.FixedZone("x", 60))
	require.True(t, e.Equal(&same))
	require.True(t, (&Entry{}).Equal(&Entry{Tags: []string{}, Subjects: []string{}, Sources: []string{}}))
	for _, change := range []func(*Entry){
		func(e *Entry) { e.ID = "b" }, func(e *Entry) { e.Content = "d" }, func(e *Entry) { e.Tags = []string{"y"} },
		func(e *Entry) { e.CreatedAt = noon.Add(time.Millisecond) }, func(e *Entry) { e.ExpiresAt = time.Time{} },
		func(e *Entry) { e.RunID = "" }, func(e *Entry) { e.Subjects = nil }, func(e *Entry) { e.Sources = nil },
	} {
		other := e
		change(&other)
		require.False(t, e.Equal(&other))
	}
}

// Of each entry that a mutation names, Grows counts what it was before and what it is after.
func TestM8_Grows(t *testing.T) {
	held := map[string]Record{
		"live":   {Entry: Entry{ID: "live", Content: "four"}},
		"merged": {Entry: Entry{ID: "merged", Content: "sixsix"}, State: Merged},
		"erased": {Entry: Entry{ID: "erased"}, Erased: true},
	}
	at := func(id string) Located { return Located{home, id} }
	put := []Placed{{home, Entry{ID: "new", Content: "new"}}}
	retire := func(id string) []Retirement { return []Retirement{{Located: at(id), State: Deleted}} }
	for name, c := range map[string]struct {
		m              Mutation
		entries, bytes int64
	}{
		"nothing":           {Mutation{}, 0, 0},
		"put":               {Mutation{Put: put}, 1, 3},
		"put again":         {Mutation{Put: []Placed{{home, held["live"].Entry}}}, 0, 0},
		"retire":            {Mutation{Retire: retire("live")}, -1, -4},
		"put and retire":    {Mutation{Put: put, Retire: retire("new")}, 0, 0},
		"restore":           {Mutation{Restore: []Located{at("merged")}}, 1, 6},
		"restore and erase": {Mutation{Restore: []Located{at("merged")}, Erase: []Located{at("merged")}}, 0, 0},
		"erase":             {Mutation{Erase: []Located{at("live")}}, -1, -4},
		"erase retired":     {Mutation{Erase: []Located{at("merged")}}, 0, 0},
		"erase again":       {Mutation{Erase: []Located{at("erased"), at("none")}}, 0, 0},
	} {
		plan, err := planOf(&c.m, held, nil)
		require.NoError(t, err, name)
		require.Equal(t, Limits{Entries: c.entries, Bytes: c.bytes}, plan.Grows, name)
	}
}

// A plan inserts and erases what is not so yet, each once, and its journal says what it touches.
func TestM8_Plan(t *testing.T) {
	there := Entry{ID: "there", Content: "c"}
	held := map[string]Record{"there": {Entry: there}, "merged": {Entry: Entry{ID: "merged"}, State: Merged}, "erased": {Entry: Entry{ID: "erased"}, Erased: true}}
	at := func(id string) Located { return Located{home, id} }
	put := func(id string) Placed { return Placed{home, Entry{ID: id}} }
	m := Mutation{
		Put:     []Placed{put("new"), {home, there}, put("new"), put("other")},
		Retire:  []Retirement{{at("new"), Merged, "other"}},
		Restore: []Located{at("merged")},
		Erase:   []Located{at("there"), at("erased"), at("there"), at("none")},
	}
	plan, err := planOf(&m, held, nil)
	require.NoError(t, err)
	require.Equal(t, []Placed{put("new"), put("other")}, plan.Insert)
	require.Equal(t, m.Retire, plan.Retire)
	require.Equal(t, m.Restore, plan.Restore)
	require.Equal(t, []Located{at("there")}, plan.Erase)
	require.False(t, plan.Empty())
	again := Plan{Insert: []Placed{{Scope{"t", "R"}, Entry{ID: "far"}}, put("new")}}
	journals := [][]byte{plan.Journal(), (&Plan{}).Journal(), again.Journal()}
	got, err := readJournals(journals, home.Ref)
	require.NoError(t, err)
	require.Equal(t, ChangeSet{Put: []string{"new", "other"}, Retired: []string{"new"}, Restored: []string{"merged"}, Erased: []string{"there"}}, got)
	got, err = readJournals(journals, "R")
	require.NoError(t, err)
	require.Equal(t, ChangeSet{Put: []string{"far"}}, got)

	// A journal that is damaged is an error or another journal, and no panic.
	for n := range journals[0] {
		_, _ = readJournals([][]byte{journals[0][:n]}, home.Ref)
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(journals[0])
			bad[n] ^= flip
			_, _ = readJournals([][]byte{bad}, home.Ref)
		}
	}
	_, err = readJournals([][]byte{journals[0][:len(journals[0])-1]}, home.Ref)
	require.ErrorIs(t, err, ErrInternal)
}

func readJournals(journals [][]byte, ref string) (changed ChangeSet, err error) {
	err = changed.Read(journals, ref)
	return changed, err
}
