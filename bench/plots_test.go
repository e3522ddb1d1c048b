package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const figures = "../docs/figures"

// The pictures that the documents show are what the committed results give.
func TestPlots_AreWhatTheResultsGive(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, drawAll(dir, []string{figures + "/run.json", figures + "/retrieval.json"}))
	drawn, err := filepath.Glob(dir + "/*.svg")
	require.NoError(t, err)
	shown, err := filepath.Glob(figures + "/*.svg")
	require.NoError(t, err)
	require.NotEmpty(t, drawn)
	assert.Len(t, shown, len(drawn), "a picture that nothing draws any more")
	for _, file := range drawn {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join(figures, filepath.Base(file)))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(have), "draw %s again: the README of bench says how", filepath.Base(file))
	}
}

// A picture is XML with any names in it, and none of its numbers is lost on the way.
func TestPlots_AreXML(t *testing.T) {
	all := pictures(origin{"1 core <of> \"x\"", "go1", "abc & def", "2026-01-02"}, []result{
		{Name: "a/<b>&c", Peer: `"peer"`, Ours: 1, Theirs: 2, Unit: "ns/op", Ratio: 2, RatioLow: 1.5, RatioHigh: 3},
		{Name: "a/slow", Peer: "peer", Ours: 4, Theirs: 1, Unit: "ns/op", Ratio: 0.25},
		{Name: "a/grow/n=10", Ours: 5, Unit: "items/s"}, {Name: "a/grow/n=1000", Ours: 2, Unit: "items/s"},
		{Name: "retrieval/r", Peer: "bleve", Ours: 50, Theirs: 40, Unit: "%"},
	})
	require.Len(t, all, 3)
	for name, picture := range all {
		for in := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := in.Token(); err != nil {
				require.True(t, errors.Is(err, io.EOF), "%s: %v", name, err)
				break
			}
		}
	}
	assert.Contains(t, all["ratios-a.svg"], "0.25x")
	assert.Contains(t, all["growth.svg"], "grow 2.50x")
	assert.Contains(t, all["retrieval.svg"], "bleve 40.0")
}

func TestPlots_RefuseWhatIsNoRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	for _, text := range []string{"", "{}", `{"date":"2026-01-02"} {"ours":1}`, `{"date":"2026-01-02"} {"name":"a/b","peer":"c","ours":1,"theirs":2}`, "row peer ours"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.Error(t, drawAll(t.TempDir(), []string{file}), text)
	}
	assert.Error(t, drawAll(t.TempDir(), nil))
}
