package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// TestCost measures what the README says of a run and, without -short, of a note of 60 bytes: run it
// with -v. Its bounds are wide: it fails if a figure has become another one.
func TestCost(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlite.Open(ctx, file, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		t.Fatal(err)
	}
	bank, err := memory.New(db.Memory(), memory.Config{Ranker: ranker, WriteEvents: true, KeepEvents: 1000 * memory.DefaultHorizon})
	if err != nil {
		t.Fatal(err)
	}

	aRun(ctx, t, bank)
	if n := commits(t, file); n != 4 {
		t.Errorf("a run that lists, asks, puts three notes and has a terminal event: %d commits, want 4", n)
	}

	if testing.Short() {
		return // it takes long to fill a file under the race detector
	}
	const notes = 4000
	before := sizeOf(t, file)
	job, err := bank.Background(memory.JobConfig{ID: "fill", Tenant: acme, Redactor: redact.New(redact.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range notes {
		if _, err := job.Put(ctx, ref, memory.Draft{Content: sentence(random)}); err != nil {
			t.Fatal(err)
		}
	}
	heap := heapInUse()
	hits, err := bank.Search(ctx, acme, ref, memory.Search{Text: sentence(random)})
	if err != nil || len(hits) == 0 {
		t.Fatal(len(hits), err)
	}
	inMemory := (heapInUse() - heap) / notes
	runtime.KeepAlive(ranker)
	if err := db.Close(); err != nil { // moves the log into the file
		t.Fatal(err)
	}
	onDisk := (sizeOf(t, file) - before) / notes
	t.Logf("a note of 60 bytes: %d bytes on the disk with its kept event, %d in memory in the index of recall", onDisk, inMemory)
	if onDisk < 300 || onDisk > 1500 || inMemory < 50 || inMemory > 1000 {
		t.Error("the README says otherwise")
	}
}

func aRun(ctx context.Context, t *testing.T, bank *memory.Bank) {
	run, err := bank.Start(ctx, memory.RunConfig{ID: "a-run", Tenant: acme, Redactor: redact.New(redact.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Memory().List(ctx, ref, memory.ListOptions{})
	for i := range 3 {
		if err == nil {
			_, err = run.Put(ctx, ref, memory.Draft{Content: fmt.Sprint("note ", i)})
		}
	}
	if err == nil {
		_, err = run.Search(ctx, ref, memory.Search{Text: "note"})
	}
	if err == nil {
		_, err = run.Token(ctx)
	}
	if err == nil {
		err = run.End(ctx, events.Record{Payload: events.HostPayload{Type: "run.completed", JSON: []byte("{}")}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sentence has 60 bytes, of words of which some are frequent.
func sentence(random *rand.Rand) string {
	var words []string
	for n := 0; n < 60; n += 7 {
		words = append(words, fmt.Sprintf("w%05d", int(random.ExpFloat64()*500)))
	}
	return strings.Join(words, " ")[:60]
}

// commits counts the commits in the log of a SQLite file that was not emptied yet: the frames that
// name a size of the database (sqlite.org/fileformat.html#the_write_ahead_log).
func commits(t *testing.T, file string) (n int) {
	log, err := os.ReadFile(file + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if len(log) == 0 {
		return 0
	}
	page := int(binary.BigEndian.Uint32(log[8:]))
	for at := 32; at+24+page <= len(log); at += 24 + page {
		if string(log[at+8:at+16]) == string(log[16:24]) && binary.BigEndian.Uint32(log[at+4:]) != 0 {
			n++
		}
	}
	return n
}

func sizeOf(t *testing.T, file string) int {
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size())
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
