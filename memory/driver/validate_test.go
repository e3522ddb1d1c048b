package driver

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
)

var (
	home    = Scope{Tenant: "t", Ref: "r"}
	foreign = Scope{Tenant: "u", Ref: "r"}
	wide    = Scope{Tenant: "t", Ref: strings.Repeat("r", MaxRefBytes+1)}
	noon    = time.UnixMilli(1_700_000_000_000).UTC()
)

func long(n int) string { return strings.Repeat("x", n) }

func swapOf(d Document, act Act) Mutation {
	return Mutation{Documents: []DocumentSwap{{Document: d, Act: act}}}
}

// event is one that breaks no rule.
func event(change func(*events.Record)) events.Record {
	e := events.Record{ID: "e", Tenant: "t", RunID: "r", NodeID: "n", Time: noon, Payload: events.MemoryWritten{MemoryRef: "r", MemoryID: "m"}}
	change(&e)
	return e
}

// plain is a document of machinery that breaks no rule.
func plain(change func(*Document)) Document {
	d := Document{Scope: home, Kind: "k", Key: "a"}
	change(&d)
	return d
}

// What can be committed passes.
func TestM8_ValidMutations(t *testing.T) {
	for name, m := range map[string]Mutation{
		"nothing":   {},
		"entries":   {Live: []Located{{home, "a"}}, Put: []Placed{{home, Entry{ID: long(MaxIDBytes)}}}, Restore: []Located{{home, "b"}}, Erase: []Located{{home, "none"}}},
		"deleted":   {Retire: []Retirement{{Located{home, "a"}, Deleted, ""}}},
		"merged":    {Retire: []Retirement{{Located{home, "a"}, Merged, "b"}}},
		"longest":   {Erase: []Located{{Scope{"t", long(MaxRefBytes)}, "a"}}},
		"event":     {Events: []events.Record{event(func(e *events.Record) { e.ID, e.RunID, e.NodeID = long(MaxRunBytes), long(MaxRunBytes), "" })}},
		"machinery": swapOf(plain(func(d *Document) { d.Due, d.Group = noon.In(time.FixedZone("x", 60)), "g" }), Set),
		"tenant's":  swapOf(plain(func(d *Document) { d.Ref = "" }), Set),
		"kept":      {Keep: true, Events: []events.Record{event(func(e *events.Record) { e.CausationID, e.EngineVersion, e.SchemaVersion = "c", "v", 1 })}},
		"content":   swapOf(plain(func(d *Document) { d.Class, d.Of = Content, []string{"a"} }), Set),
		"whole":     swapOf(plain(func(d *Document) { d.Class, d.Whole = Content, true }), Set),
		"whole set": swapOf(plain(func(d *Document) { d.Class, d.Whole, d.Rev, d.Value = Content, true, 1, []byte("v") }), Set),
		"host text": swapOf(plain(func(d *Document) { d.Class, d.Ref, d.Subjects = HostText, "", []string{long(MaxLabelBytes)} }), Set),
		"retained":  swapOf(plain(func(d *Document) { d.Rev = 1 }), Retain),
		"check":     swapOf(plain(func(d *Document) { d.Class = Content }), Check),
		"remove":    swapOf(plain(func(d *Document) { d.Class, d.Rev = Content, 3 }), Remove),
		"two": {Documents: []DocumentSwap{{Document: plain(func(*Document) {})}, {Document: plain(func(d *Document) { d.Key = "b" })},
			{Document: plain(func(d *Document) { d.Ref = "" })}, {Document: plain(func(d *Document) { d.Kind = "l" })}}},
		"longest names": swapOf(plain(func(d *Document) {
			d.Kind, d.Key, d.Group, d.Value = long(MaxKindBytes), long(MaxKeyBytes), long(MaxKeyBytes), make([]byte, MaxDocumentBytes)
		}), Set),
	} {
		require.NoError(t, m.Validate("t"), name)
	}
}

// What can never be committed is refused, wherever in the mutation it stands, by an error
// that holds nothing of it.
func TestM8_InvalidMutations(t *testing.T) {
	bad := map[string]Mutation{
		"put without id":    {Put: []Placed{{home, Entry{ID: "a"}}, {home, Entry{}}}},
		"put of a long id":  {Put: []Placed{{home, Entry{ID: long(MaxIDBytes + 1)}}}},
		"put elsewhere":     {Put: []Placed{{foreign, Entry{ID: "a"}}}},
		"put in a long ref": {Put: []Placed{{wide, Entry{ID: "a"}}}},
		"event":             {Events: []events.Record{event(func(*events.Record) {}), event(func(e *events.Record) { e.Payload = nil })}},
		"named twice":       {Documents: []DocumentSwap{{Document: plain(func(*Document) {})}, {Document: plain(func(*Document) {}), Act: Check}}},
	}
	for name, s := range map[string]Scope{"foreign": foreign, "wide": wide} {
		bad[name+" live"] = Mutation{Live: []Located{{home, "a"}, {s, "a"}}}
		bad[name+" restore"] = Mutation{Restore: []Located{{s, "a"}}}
		bad[name+" erase"] = Mutation{Erase: []Located{{s, "a"}}}
		bad[name+" retire"] = Mutation{Retire: []Retirement{{Located{s, "a"}, Deleted, ""}}}
		bad[name+" document"] = swapOf(plain(func(d *Document) { d.Scope = s }), Check)
	}
	for name, change := range map[string]func(*events.Record){
		"of another tenant": func(e *events.Record) { e.Tenant = "u" },
		"without id":        func(e *events.Record) { e.ID = "" },
		"of a long run":     func(e *events.Record) { e.RunID = long(MaxRunBytes + 1) },
		"of a bad run":      func(e *events.Record) { e.RunID = "run\n" },
		"of a bad node":     func(e *events.Record) { e.NodeID = "\xff" },
	} {
		bad["event "+name] = Mutation{Events: []events.Record{event(change)}}
	}
	for _, id := range []string{"", "a\x00", "\xff"} {
		bad["put of "+id] = Mutation{Put: []Placed{{home, Entry{ID: id}}}}
	}
	for name, id := range map[string]string{"empty": "", "long": long(MaxIDBytes + 1)} {
		bad[name+" live"] = Mutation{Live: []Located{{home, id}}}
		bad[name+" retired"] = Mutation{Retire: []Retirement{{Located{home, id}, Deleted, ""}}}
		bad[name+" heir"] = Mutation{Retire: []Retirement{{Located{home, "a"}, Merged, id}}}
		bad[name+" restored"] = Mutation{Restore: []Located{{home, id}}}
		bad[name+" erased"] = Mutation{Erase: []Located{{home, id}}}
		bad[name+" origin"] = swapOf(plain(func(d *Document) { d.Class, d.Of = Content, []string{"a", id} }), Set)
	}
	for name, r := range map[string]Retirement{
		"to live": {State: Live}, "to live for": {State: Live, For: "b"}, "deleted for": {State: Deleted, For: "b"}, "to no state": {State: 9, For: "b"},
		"merged for nothing": {State: Merged}, "superseded for nothing": {State: Superseded}, "merged for itself": {State: Merged, For: "a"},
	} {
		r.Located = Located{home, "a"}
		bad["retired "+name] = Mutation{Retire: []Retirement{r}}
	}
	for name, change := range map[string]func(*Document){
		"no kind":              func(d *Document) { d.Kind = "" },
		"no key":               func(d *Document) { d.Key = "" },
		"long kind":            func(d *Document) { d.Kind = long(MaxKindBytes + 1) },
		"long key":             func(d *Document) { d.Key = long(MaxKeyBytes + 1) },
		"long group":           func(d *Document) { d.Group = long(MaxKeyBytes + 1) },
		"control byte":         func(d *Document) { d.Key = "a\x00" },
		"not UTF-8":            func(d *Document) { d.Group = "\xff" },
		"large value":          func(d *Document) { d.Value = make([]byte, MaxDocumentBytes+1) },
		"negative rev":         func(d *Document) { d.Rev = -1 },
		"no class":             func(d *Document) { d.Class = HostText + 1 },
		"due between":          func(d *Document) { d.Due = noon.Add(1) },
		"due too late":         func(d *Document) { d.Due = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"machinery of entries": func(d *Document) { d.Of = []string{"a"} },
		"machinery of subject": func(d *Document) { d.Subjects = []string{"ann"} },
		"content of nothing":   func(d *Document) { d.Class = Content },
		"content of no ref":    func(d *Document) { d.Class, d.Of, d.Ref = Content, []string{"a"}, "" },
		"content of subject":   func(d *Document) { d.Class, d.Of, d.Subjects = Content, []string{"a"}, []string{"ann"} },
		"content due":          func(d *Document) { d.Class, d.Of, d.Due = Content, []string{"a"}, noon },
		"machinery of a ref":   func(d *Document) { d.Whole = true },
		"host text of a ref":   func(d *Document) { d.Class, d.Whole = HostText, true },
		"of entries and a ref": func(d *Document) { d.Class, d.Of, d.Whole = Content, []string{"a"}, true },
		"a tenant's whole":     func(d *Document) { d.Class, d.Ref, d.Whole = Content, "", true },
		"host text of entries": func(d *Document) { d.Class, d.Of = HostText, []string{"a"} },
		"host text due":        func(d *Document) { d.Class, d.Due = HostText, noon },
		"empty subject":        func(d *Document) { d.Class, d.Subjects = HostText, []string{"ann", ""} },
		"long subject":         func(d *Document) { d.Class, d.Subjects = HostText, []string{long(MaxLabelBytes + 1)} },
	} {
		bad[name] = swapOf(plain(change), Set)
		bad[name+", retained"] = swapOf(plain(func(d *Document) { d.Rev = 1; change(d) }), Retain)
	}
	bad["whole in one"] = swapOf(plain(func(d *Document) { d.Class, d.Whole, d.Value = Content, true, []byte("v") }), Set)
	erased := swapOf(plain(func(d *Document) { d.Class, d.Whole, d.Rev = Content, true, 1 }), Set)
	erased.Erase = []Located{{home, "a"}}
	bad["whole beside an erasure"] = erased
	bad["kept nothing"] = Mutation{Keep: true}
	bad["retained from nothing"] = swapOf(plain(func(*Document) {}), Retain)
	bad["no act"] = swapOf(plain(func(*Document) {}), Remove+1)
	for name, m := range bad {
		err := m.Validate("t")
		require.ErrorIs(t, err, ErrValidation, name)
		require.Nil(t, err.(*Error).Unwrap(), name)
	}
	m := Mutation{}
	require.ErrorIs(t, m.Validate(long(MaxTenantBytes+1)), ErrValidation)
	require.NoError(t, m.Validate(long(MaxTenantBytes)))
}

// A mutation makes no version if it names documents, all machinery, and has nothing else, or
// has nothing but events that are kept.
func TestD_Unversioned(t *testing.T) {
	machine, content := plain(func(*Document) {}), plain(func(d *Document) { d.Class = Content })
	m := swapOf(machine, Check)
	require.True(t, m.Unversioned())
	kept := Mutation{Keep: true, Events: []events.Record{{}}}
	require.True(t, kept.Unversioned())
	for _, spoil := range []func(*Mutation){
		func(m *Mutation) { m.Live = []Located{{}} },
		func(m *Mutation) { m.MergedInto = map[Located][]string{{}: nil} },
		func(m *Mutation) { m.Put = []Placed{{}} },
		func(m *Mutation) { m.Retire = []Retirement{{}} },
		func(m *Mutation) { m.Restore = []Located{{}} },
		func(m *Mutation) { m.Erase = []Located{{}} },
		func(m *Mutation) { m.Documents = append(m.Documents, DocumentSwap{Document: content}) },
		func(m *Mutation) {
			m.Documents, m.Events = append(m.Documents, DocumentSwap{Document: machine}), []events.Record{{}}
		},
		func(m *Mutation) { m.Documents, m.Events, m.Keep = nil, nil, false },
		func(m *Mutation) { m.Documents, m.Events, m.Keep = nil, []events.Record{{}}, false },
	} {
		for _, m := range []Mutation{swapOf(machine, Check), kept} {
			spoil(&m)
			require.False(t, m.Unversioned())
		}
	}
}
