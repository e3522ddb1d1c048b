package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func mustOpen(t *testing.T, d *disk) *File {
	t.Helper()
	f, err := openStorage(d)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// wantLog fails unless the file has exactly the events of the model.
func wantLog(t *testing.T, what string, f *File, model modelLog) {
	t.Helper()
	var all modelLog
	if _, err := scanLines(io.NewSectionReader(f.f, 0, f.size), func(ev RunEvent, _ int64) error {
		all = append(all, ev)
		return nil
	}); err != nil {
		t.Fatal(what, err)
	}
	equal(t, what, all, model)
}

// E3: cut at any byte, with or without zeros behind, the file opens with exactly
// the batches that are whole; delivering everything again gives the same file.
func TestE3_FileTornAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	whole := newDisk(nil)
	f := mustOpen(t, whole)
	var batches [][]Record
	var ends []int
	for range 3 {
		batch := someBatch(rng)
		if err := f.Emit(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		batches, ends = append(batches, batch), append(ends, len(whole.data))
	}
	for cut := range len(whole.data) + 1 {
		for _, zeros := range []int{0, len(whole.data) - cut} {
			d := newDisk(append(bytes.Clone(whole.data[:cut]), make([]byte, zeros)...))
			f := mustOpen(t, d)
			var model modelLog
			for i, batch := range batches {
				if ends[i] <= cut {
					model.emit(batch)
				}
			}
			wantLog(t, fmt.Sprint("cut at ", cut), f, model)
			for _, batch := range batches {
				if err := f.Emit(t.Context(), batch...); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(d.data, whole.data) {
				t.Fatalf("cut at %d, redelivery gives\n%s\nwant\n%s", cut, d.data, whole.data)
			}
		}
	}
}

// E3: over writes and syncs that fail, crashes and reopening, nothing that was
// acknowledged is lost, and no call is in the log by half.
func TestE3_FileFaults(t *testing.T) {
	seeds := uint64(60)
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds *= 100
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 33))
		what := fmt.Sprint("seed ", seed)
		d := newDisk(nil)
		f := mustOpen(t, d)
		var model modelLog
		var unknown []Record // the outcome of whose emission nobody knows
		for range 15 {
			batch := someBatch(rng)
			d.keep, d.failSync = -1, rng.IntN(6) == 0
			if rng.IntN(6) == 0 {
				d.keep = rng.IntN(800)
			}
			before := slices.Clone(model)
			model.emit(batch)
			switch err := f.Emit(t.Context(), batch...); {
			case err == nil:
			case !errors.Is(err, ErrBroken) || !errors.Is(err, errDisk):
				t.Fatal(what, err)
			default:
				model, unknown = before, batch
				d.keep, d.failSync = -1, false
				if err := f.Emit(t.Context(), someBatch(rng)...); !errors.Is(err, ErrBroken) {
					t.Fatal(what, "a broken file takes more:", err)
				}
			}
			wantLog(t, what, f, model)
			if unknown == nil && rng.IntN(4) > 0 {
				continue
			}
			d.keep, d.failSync = -1, false
			if rng.IntN(2) == 0 {
				d = d.crashed(rng)
			}
			f = mustOpen(t, d)
			if unknown != nil {
				// All or nothing; then the sender tries again.
				more := slices.Clone(model)
				more.emit(unknown)
				if f.count() != len(model) {
					model = more
				}
				wantLog(t, what, f, model)
				if err := f.Emit(t.Context(), unknown...); err != nil {
					t.Fatal(what, err)
				}
				model.emit(unknown)
				unknown = nil
			}
			wantLog(t, what, f, model)
		}
	}
}

func (f *File) count() (n int) {
	for _, run := range f.ledger.runs {
		n += len(run.seen)
	}
	return n
}

// E3: what is known after opening is durable before it is acknowledged again.
func TestE3_FileSyncs(t *testing.T) {
	d := newDisk(nil)
	f := mustOpen(t, d)
	recs := []Record{record("1", "t", "r", full[0]), record("2", "t", "r", full[1])}
	syncs := d.syncs
	for range 2 {
		if err := f.Emit(t.Context(), recs...); err != nil {
			t.Fatal(err)
		}
		equal(t, "syncs of a call and its redelivery", d.syncs-syncs, 1)
	}
	d.durable = 0 // as if another process had written and died
	f = mustOpen(t, d)
	if d.durable != len(d.data) {
		t.Fatal("opening left what it read to a later sync")
	}
	if err := f.Emit(t.Context(), recs...); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*disk{
		{data: d.data, keep: -1, failSync: true}, {data: d.data, keep: -1, failTrunc: true},
	} {
		if _, err := openStorage(d); !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
	}
}

// A line that is broken otherwise than by a torn write is reported with its number,
// and the file stays as it is.
func TestFileBrokenLine(t *testing.T) {
	d := newDisk(nil)
	f := mustOpen(t, d)
	for i := range 3 {
		a, b := record(fmt.Sprint("a", i), "t", "r", full[0]), record(fmt.Sprint("b", i), "t", "r", full[1])
		if err := f.Emit(t.Context(), a, b); err != nil {
			t.Fatal(err)
		}
	}
	lines := slices.Collect(bytes.Lines(d.data)) // a0 b0 a1 b1 a2 b2
	// A batch over three runs, whose sequences do not tell that the middle is gone.
	if err := f.Emit(t.Context(), record("x", "t", "x", full[0]), record("y", "t", "y", full[0]), record("z", "t", "z", full[0])); err != nil {
		t.Fatal(err)
	}
	spread := slices.Collect(bytes.Lines(d.data))
	with := func(at int, line []byte) [][]byte {
		changed := slices.Clone(lines)
		changed[at] = line
		return changed
	}
	edit := func(at int, old, new string) [][]byte {
		return with(at, bytes.Replace(lines[at], []byte(old), []byte(new), 1))
	}
	cases := map[string]struct {
		lines [][]byte
		line  int
	}{
		"a line left out":       {slices.Delete(slices.Clone(lines), 2, 3), 3},
		"the end left out":      {slices.Delete(slices.Clone(lines), 3, 4), 4},
		"a batch with a hole":   {slices.Delete(spread, 7, 8), 8},
		"a batch left out":      {slices.Delete(slices.Clone(lines), 2, 4), 3},
		"a batch twice":         {slices.Concat(lines[:2], lines), 3},
		"batches swapped":       {slices.Concat(lines[2:4], lines[:2]), 1},
		"other text at the end": {slices.Concat(lines, [][]byte{[]byte("hello")}), 7},
		"an id twice":           {edit(5, `"b2"`, `"a1"`), 6},
		"a wrong sequence":      {edit(4, `"sequence":4`, `"sequence":5`), 5},
		"no tenant":             {edit(1, `"tenant":"t",`, ``), 2},
		"a negative count":      {edit(1, `"more":0`, `"more":-1`), 2},
		"no field of its own":   {edit(1, `x-agentmemory`, `y-agentmemory`), 2},
		"an invalid payload":    {edit(0, `"memoryId":"m1"`, `"memoryId":""`), 1},
	}
	for i := range lines {
		cases[fmt.Sprint("zeros in line ", i+1)] = struct {
			lines [][]byte
			line  int
		}{with(i, append(make([]byte, len(lines[i])-1), '\n')), i + 1}
		cases[fmt.Sprint("an empty line ", i+1)] = struct {
			lines [][]byte
			line  int
		}{slices.Insert(slices.Clone(lines), i, []byte("\n")), i + 1}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			broken := newDisk(bytes.Join(c.lines, nil))
			before := bytes.Clone(broken.data)
			_, err := openStorage(broken)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("line %d of", c.line)) {
				t.Fatalf("got %v, want a broken line %d", err, c.line)
			}
			if !bytes.Equal(broken.data, before) {
				t.Fatal("the file was changed")
			}
		})
	}
}

// Whatever is in the file: it opens, and then stays the same over opening again, or
// it is refused and unchanged.
func FuzzFileOpens(f *testing.F) {
	d := newDisk(nil)
	file, err := openStorage(d)
	if err != nil {
		f.Fatal(err)
	}
	_ = file.Emit(f.Context(), record("1", "t", "r", full[0]), record("2", "t", "r", full[1]))
	_ = file.Emit(f.Context(), record("3", "t", "s", full[2]))
	f.Add(d.data)
	f.Add(d.data[:len(d.data)-1])
	f.Add(d.data[len(d.data)/2:])
	f.Add([]byte(lineStart))
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDisk(data)
		file, err := openStorage(d)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !bytes.Equal(d.data, data) {
				t.Fatal(err)
			}
			return
		}
		opened := bytes.Clone(d.data)
		if err := file.Emit(t.Context(), record("new", "t", "r", full[0])); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, d)
		if !bytes.HasPrefix(d.data, opened) || !bytes.HasPrefix(data, opened) {
			t.Fatal("opening changed more than the end")
		}
	})
}

func TestFileKeepsUnknownTypes(t *testing.T) {
	line := `{"eventId":"e0","runId":"r","type":"acme.later","payload":7,"timestamp":"2026-05-01T12:00:00Z","sequence":0,"x-agentmemory":{"tenant":"t","more":0}}` + "\n"
	d := newDisk([]byte(line))
	f := mustOpen(t, d)
	if err := f.Emit(t.Context(), record("e0", "t", "r", HostPayload{"acme.later", []byte("7")}), record("e1", "t", "r", full[0])); err != nil {
		t.Fatal(err)
	}
	evs, err := f.Read(t.Context(), "t", "r", 0, 0)
	if err != nil || len(evs) != 2 || evs[1].ID != "e1" || evs[1].Sequence != 1 {
		t.Fatal(evs, err)
	}
	equal(t, "payload of an unknown type", evs[0].Payload, Payload(HostPayload{"acme.later", []byte("7")}))
	if !strings.HasPrefix(string(d.data), line) {
		t.Fatal("the line was changed")
	}
}

// What a record may hold survives the file: the longest text, and tenants that
// differ in nothing but what JSON has to escape.
func TestFileTakesWhatEmitTakes(t *testing.T) {
	d := newDisk(nil)
	f := mustOpen(t, d)
	tenants := []string{"", "a", "A", "a\n", "a\x00", "\u2028", "\ufffd", "é", "e\u0301"}
	for _, tenant := range tenants {
		if err := Emit(t.Context(), f, record("e", tenant, "r", full[0])); err != nil {
			t.Fatal(err)
		}
	}
	f = mustOpen(t, d)
	for _, tenant := range tenants {
		evs, err := f.Read(t.Context(), tenant, "r", 0, 0)
		if err != nil || len(evs) != 1 || evs[0].Tenant != tenant {
			t.Fatalf("%q: %v %v", tenant, evs, err)
		}
	}
	for i, p := range slices.Concat(full, minimal, []Payload{
		WorkspaceUpdated{Path: strings.Repeat("\x01", MaxPayloadText-3), Version: 1},
		MemoryConsolidated{MemoryRef: "r", MergedIDs: slices.Repeat([]string{"m"}, MaxPayloadText/4-4)},
	}) {
		if err := Emit(t.Context(), f, record(strings.Repeat("\x01", 127)+string(rune('A'+i)), "big", "r", p)); err != nil {
			t.Fatal(err)
		}
	}
	f = mustOpen(t, d)
	evs, err := f.Read(t.Context(), "big", "r", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "number of events", len(evs), 2*len(full)+2)
	for i, p := range full {
		equal(t, "payload", evs[i].Payload, p)
		equal(t, "time", evs[i].Time, noon)
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var model modelLog
	for i := range 3 {
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		evs, err := f.Read(t.Context(), "t0", "r0", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "reopened", evs, model.events("t0", "r0"))
		if second, err := OpenFile(path); err == nil {
			t.Log("this system has no flock")
			_ = second.Close()
		}
		batch := []Record{record("e0", "t0", "r0", full[0]), record(fmt.Sprint("f", i), "t0", "r0", full[1])}
		if err := Emit(t.Context(), f, batch...); err != nil {
			t.Fatal(err)
		}
		model.emit(batch)
		wantLog(t, "written", f, model)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Emit(t.Context(), batch...); !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
		if _, err := f.Read(t.Context(), "t0", "r0", 0, 0); !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
		// A crash in the middle of the next write.
		torn, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := torn.WriteString(lineStart + "half"); err != nil {
			t.Fatal(err)
		}
		_ = torn.Close()
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(filepath.Join(dir, "none", "events.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(notes, []byte("not a log, and without a newline"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(notes); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(notes); string(text) != "not a log, and without a newline" {
		t.Fatalf("a foreign file was changed to %q", text)
	}
}

func TestFileRefusesBadCalls(t *testing.T) {
	d := newDisk(nil)
	f := mustOpen(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Emit(ctx, record("1", "t", "r", full[0])); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantInvalid(t, f.Emit(t.Context(), record("1", "t", "r", full[0]), record("2", "t", "r", nil)), "/payload")
	equal(t, "bytes written", len(d.data), 0)
	if err := f.Emit(t.Context(), record("1", "t", "r", full[0])); err != nil {
		t.Fatal("a refused call must not break the file:", err)
	}
}
