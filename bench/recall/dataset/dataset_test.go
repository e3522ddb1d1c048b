package dataset

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2025, 1, 6, 12, 0, 0, 0, time.UTC)

func TestWriter_ReadGivesBackWhatWasWritten(t *testing.T) {
	want := []*Memory{
		{
			Ref: "team",
			Entries: []Entry{
				{ID: "a", Ref: "team", At: noon, Speaker: "Mira", Tags: []string{"infra", "<b>"}, Text: "x < y && \"z\"\u2028\n茶"},
				{ID: "b", Ref: "team", At: noon.Add(time.Millisecond), Text: "no speaker"},
			},
			Questions: []Question{
				{ID: "a", Ref: "team", Lang: "zh", Category: "fact", HeldOut: true, Evidence: []string{"b", "a"}, Text: "茶?"},
			},
		},
		{
			Entries:   []Entry{{ID: "a", At: noon, Text: "without a ref"}},
			Questions: []Question{{ID: "a", Category: "fact", Evidence: []string{"a"}, Text: "?"}},
		},
	}
	var file bytes.Buffer
	w := NewWriter(&file)
	for _, m := range want {
		require.NoError(t, w.Memory(m))
	}
	assert.Contains(t, file.String(), "x < y && ", "readable, without escapes of HTML")
	got, err := Read(&file)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestRead_MemoriesMayBeMixed(t *testing.T) {
	got, err := Read(strings.NewReader(`
{"question":"q","ref":"two","category":"c","evidence":["a"],"text":"?"}
{"entry":"a","ref":"one","at":"2025-01-06T12:00:00Z","text":"1"}

{"entry":"a","ref":"two","at":"2025-01-06T13:00:00+01:00","text":"2"}`))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "two", got[0].Ref)
	assert.Equal(t, "2", got[0].Entries[0].Text)
	assert.True(t, got[0].Entries[0].At.Equal(noon))
	assert.Equal(t, "one", got[1].Ref)
	assert.Empty(t, got[1].Questions)
}

func TestRead_RefusesWhatBreaksTheForm(t *testing.T) {
	const entry = `{"entry":"a","at":"2025-01-06T12:00:00Z","text":"x"}` + "\n"
	for _, c := range []struct{ file, want string }{
		{`{"entry":"a"`, "line 1"},
		{entry + `[]`, "line 2"},
		{entry + `{"text":"neither"}`, `line 2: a line has either`},
		{`{"entry":"a","question":"q"}`, "line 1: a line has either"},
		{`{"entry":"a","at":"2025-01-06T12:00:00Z","text":"x","speeker":"y"}`, "speeker"},
		{`{"entry":"a","at":"yesterday","text":"x"}`, "line 1"},
		{`{"entry":"a","text":"x"}`, "line 1: an entry needs"},
		{`{"entry":"a","at":"2025-01-06T12:00:00Z"}`, "line 1: an entry needs"},
		{`{"entry":"","at":"2025-01-06T12:00:00Z","text":"x"}`, "line 1: an entry needs"},
		{entry + entry, `entry "a" is there twice`},
		{entry + `{"question":"q","category":"c","evidence":[],"text":"?"}`, "line 2: a question needs"},
		{entry + `{"question":"q","evidence":["a"],"text":"?"}`, "line 2: a question needs"},
		{entry + `{"question":"q","category":"c","evidence":["a"]}`, "line 2: a question needs"},
		{entry + `{"question":"q","category":"c","evidence":["b"],"text":"?"}`, `there is no entry "b"`},
		{entry + `{"question":"q","category":"c","evidence":["a","a"],"text":"?"}`, `names "a" twice`},
		{entry + `{"question":"q","ref":"other","category":"c","evidence":["a"],"text":"?"}`, `ref "other": question "q": there is no entry "a"`},
		{entry + strings.Repeat(`{"question":"q","category":"c","evidence":["a"],"text":"?"}`+"\n", 2), `question "q" is there twice`},
	} {
		_, err := Read(strings.NewReader(c.file))
		if assert.Error(t, err, c.file) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
}

func TestWriter_WritesNothingOfAMemoryThatBreaksTheForm(t *testing.T) {
	entry := Entry{ID: "a", At: noon, Text: "x"}
	for _, c := range []struct {
		memory Memory
		want   string
	}{
		{Memory{Entries: []Entry{entry}, Questions: []Question{{ID: "q", Category: "c", Evidence: []string{"b"}, Text: "?"}}}, `there is no entry "b"`},
		{Memory{Entries: []Entry{entry, {ID: "b", At: noon}}}, `entry "b": an entry needs`},
		{Memory{Entries: []Entry{entry}, Questions: []Question{{ID: "q", Category: "c", Evidence: []string{"a"}}}}, `question "q": a question needs`},
	} {
		var file bytes.Buffer
		assert.ErrorContains(t, NewWriter(&file).Memory(&c.memory), c.want)
		assert.Empty(t, file.String())
	}
}

func TestContent_NamesTheSpeaker(t *testing.T) {
	assert.Equal(t, "Mira: hello", (&Entry{Speaker: "Mira", Text: "hello"}).Content())
	assert.Equal(t, "hello", (&Entry{Text: "hello"}).Content())
}
