package redact

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestR5_OrdinaryTexts counts what RedactDerived takes for a secret in the texts of a
// folder of yours: AGENTMEMORY_TEXTS=DIR go test -run OrdinaryTexts -v ./redact. It reads
// at most 50 MB, prints each find with its file, and fails beyond one find in a megabyte.
func TestR5_OrdinaryTexts(t *testing.T) {
	dir := os.Getenv("AGENTMEMORY_TEXTS")
	if dir == "" {
		t.Skip("AGENTMEMORY_TEXTS names no folder")
	}
	r := New(Config{})
	defer r.Close()
	size, finds := 0, map[string]int{}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		if size += len(text); size > 50<<20 {
			return fs.SkipAll
		}
		clean, _ := replaceShapes(string(text), r.s.hasID)
		for _, id := range markersOf(clean) {
			finds[id]++
		}
		for _, line := range bytes.Split(text, []byte("\n")) {
			if _, changed := replaceShapes(string(line), r.s.hasID); changed {
				t.Logf("%s: %.200q", path, line)
			}
		}
		return nil
	})
	total := 0
	for _, id := range slices.Sorted(maps.Keys(finds)) {
		t.Logf("%7d %s", finds[id], id)
		total += finds[id]
	}
	t.Logf("%d finds in %d bytes", total, size)
	if total > size>>20 {
		t.Errorf("more than one find in a megabyte")
	}
}

// markersOf returns the ids of the markers of shapes in text.
func markersOf(text string) (ids []string) {
	for _, part := range strings.Split(text, markerHead)[1:] {
		if id, _, ok := strings.Cut(part, markerTail); ok && slices.Contains(shapeIDs, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// shapeIDs are the ids of the markers of shapes.
var shapeIDs = func() (ids []string) {
	for i := range shapes {
		ids = append(ids, shapePrefix+shapes[i].id)
	}
	return slices.Compact(ids)
}()
