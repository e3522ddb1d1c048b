package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

type converter func(io.Reader, *dataset.Writer) (fmt.Stringer, error)

// The files of testdata are written by hand in the public shapes, with the irregularities that the
// public files have.
func TestConvert(t *testing.T) {
	for _, c := range []struct {
		name    string
		convert converter
		left    string
	}{
		{"locomo", convertLoCoMo, "left out: 1 questions without an answer (category 5), 2 without evidence; evidence that names no turn: 1 times"},
		{"longmemeval", convertLongMemEval, "left out: 1 questions about what was never said (_abs), 1 without a turn that is marked as evidence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := os.Open("testdata/" + c.name + ".json")
			require.NoError(t, err)
			defer in.Close()
			var out bytes.Buffer
			left, err := c.convert(in, dataset.NewWriter(&out))
			require.NoError(t, err)
			assert.Equal(t, c.left, left.String())
			want, err := os.ReadFile("testdata/" + c.name + ".jsonl")
			require.NoError(t, err)
			assert.Equal(t, string(want), out.String())
			_, err = dataset.Read(&out)
			require.NoError(t, err)
		})
	}
}

func TestConvert_RefusesOtherShapes(t *testing.T) {
	const turns = `[{"speaker":"A","dia_id":"D1:1","text":"x"}]`
	for _, c := range []struct {
		convert    converter
		file, want string
	}{
		{convertLoCoMo, `{}`, "not a JSON list"},
		{convertLoCoMo, ``, "EOF"},
		{convertLoCoMo, `[{}`, "element 1: the conversation has no turns"},
		{convertLoCoMo, `[{"conversation":{"session_1":` + turns + `}}]`, "session_1"},
		{convertLoCoMo, `[{"conversation":{"session_1":` + turns + `,"session_1_date_time":"8 May"}}]`, "cannot parse"},
		{convertLoCoMo, `[{"conversation":{"session_1":` + turns + `,"session_1_date_time":"1:56 pm on 8 May, 2023"},"qa":[{"category":6}]}]`, "category 6"},
		{convertLoCoMo, `[{"conversation":{"session_1":` + turns + `,"session_1_date_time":"1:56 pm on 8 May, 2023"}}`, "EOF"},
		{convertLongMemEval, `[{"question_id":"q","haystack_sessions":[[]]}]`, "0 dates for 1 sessions"},
		{convertLongMemEval, `[{"question_id":"q","haystack_dates":["May"],"haystack_sessions":[[]]}]`, "cannot parse"},
	} {
		_, err := c.convert(strings.NewReader(c.file), dataset.NewWriter(io.Discard))
		if assert.Error(t, err, c.file) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
}

func TestRun_TakesOneFile(t *testing.T) {
	for _, args := range [][2]string{{"", ""}, {"a", "b"}} {
		assert.ErrorContains(t, run(args[0], args[1]), "give one file")
	}
	assert.ErrorIs(t, run("testdata/absent.json", ""), os.ErrNotExist)
}
