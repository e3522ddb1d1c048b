package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// ArchiveConfig says how the kit gets at an archive store.
type ArchiveConfig struct {
	// New returns a fresh, empty store. It is called for every case, and required. A
	// store that is an io.Closer is closed after its case.
	New func(ctx context.Context) (distill.ArchiveStore, error)

	// Reopen opens the data of s again, as another process would, after the kit closed
	// it if it is an io.Closer. Nil means that nothing outlives the store.
	Reopen func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error)

	// Damage replaces what s holds on its medium for an archive by other bytes. Nil
	// means that the medium cannot be damaged, as the process's own memory.
	Damage func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error
}

// RunArchiveStore proves in a test that a store may hold the archives of package
// distill (D2, D3, CTI-1), by one subtest for each case. A case for which the
// ArchiveConfig does not have the means is skipped with the reason.
func RunArchiveStore(t *testing.T, cfg ArchiveConfig) {
	t.Helper()
	if cfg.New == nil {
		t.Fatal("adaptertest: ArchiveConfig.New is not set")
	}
	for _, c := range archiveCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			t.Attr("law", archiveLaw.name)
			t.Attr("number", archiveLaw.number)
			switch result := runArchiveCase(t.Context(), &cfg, &c); result.Status {
			case Broken:
				t.Error("\n" + result.Failure)
			case NotOffered:
				t.Skip(result.Reason)
			}
		})
	}
}

var archiveLaw = law{name: "ARCHIVE", number: "D2, D3, M1"}

// archiveCase is one proof about an archive store.
type archiveCase struct {
	name, proves   string
	reopen, damage bool // what it needs of the ArchiveConfig
	run            func(a *archives)
}

// archives are what an archive case works in.
type archives struct {
	*world
	cfg   *ArchiveConfig
	shelf distill.ArchiveStore
}

// runArchiveCase runs one case on a store of its own.
func runArchiveCase(ctx context.Context, cfg *ArchiveConfig, c *archiveCase) Case {
	result := Case{Name: c.name, Proves: c.proves, Status: Proven}
	switch {
	case c.reopen && cfg.Reopen == nil:
		result.Status, result.Reason = NotOffered, "ArchiveConfig.Reopen is not set"
		return result
	case c.damage && cfg.Damage == nil:
		result.Status, result.Reason = NotOffered, "ArchiveConfig.Damage is not set"
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	a := &archives{world: &world{ctx: ctx, now: epoch}, cfg: cfg}
	ended := make(chan *failure, 1)
	go func() {
		var failed *failure
		defer func() { ended <- failed }()
		// A world without stores of entries plays the case and catches its failure.
		a.world.cfg = &Config{New: func(context.Context) (memory.Adapter, error) { return noAdapter{}, nil }}
		a.play(&testCase{run: func(*world) {
			a.open(a.cfg.New(ctx))
			c.run(a)
			a.must(a.close())
		}}, &failed)
	}()
	var failed *failure
	select {
	case failed = <-ended:
	case <-ctx.Done():
		failed = &failure{expected: "an answer", came: "none before the context was done: the store hangs"}
	}
	if failed != nil {
		result.Status = Broken
		result.Failure = a.text(&archiveLaw, &testCase{name: c.name, proves: c.proves}, failed)
	}
	return result
}

// noAdapter is the store of entries of cases that use none.
type noAdapter struct{ memory.Adapter }

func (a *archives) open(s distill.ArchiveStore, err error) {
	if err != nil || s == nil {
		a.fail("ArchiveConfig opens a store", describeError(err))
	}
	a.shelf = s
}

func (a *archives) close() error {
	if c, ok := a.shelf.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (a *archives) reopenShelf() {
	a.did("close the store and open it again")
	a.must(a.close())
	a.open(a.cfg.Reopen(a.ctx, a.shelf))
}

// sample is a valid archive, one of several answers to one question of several.
func sample(question, answer int) (key distill.Digest, data []byte) {
	x := &distill.Archive{
		Budget: 500 + question, Format: distill.Format, MaxBytes: 4096, MemoryRef: home.Ref, Summarizer: "s", Tokenizer: "t",
		Items:   []distill.Item{{Sources: []string{"mem_1"}, Text: "tab\tquote\" 漢字🙂 <&>\u2028"}},
		Sources: []distill.ArchivedSource{{Digest: distill.Digest{9}, ID: "mem_1", Weight: 1}},
		Tokens:  distill.Tokens{Input: 300, Output: answer},
	}
	x.Key = x.Question()
	return x.Key, x.Encode()
}

// keep expects the key to have the archive of want afterwards.
func (a *archives) keep(s memory.Scope, question, answer, want int) distill.Digest {
	key, data := sample(question, answer)
	_, winner := sample(question, want)
	a.did("keep answer %d to question %d for %s at %s", answer, question, describeScope(s), describeTime(a.now))
	got, err := a.shelf.Keep(a.ctx, s, key, data, a.now)
	a.must(err)
	a.check(got == distill.DigestOf(winner), fmt.Sprint("the address of answer ", want), "%s", got)
	return got
}

// has expects a question to be answered by an archive, byte by byte.
func (a *archives) has(s memory.Scope, question, answer int) {
	key, data := sample(question, answer)
	address := distill.DigestOf(data)
	a.did("find question %d of %s, and load answer %d", question, describeScope(s), answer)
	found, err := a.shelf.Find(a.ctx, s, key)
	a.must(err)
	a.check(found == address, address.String(), "%s", found)
	loaded, err := a.shelf.Load(a.ctx, s, address)
	a.must(err)
	a.check(string(loaded) == string(data), "the bytes as they were kept", "%d other bytes", len(loaded))
}

// lacks expects neither the key nor the archive.
func (a *archives) lacks(s memory.Scope, question, answer int) {
	key, data := sample(question, answer)
	a.did("find question %d of %s, and load answer %d", question, describeScope(s), answer)
	_, err := a.shelf.Find(a.ctx, s, key)
	a.mustBe(err, memory.ErrNotFound)
	_, err = a.shelf.Load(a.ctx, s, distill.DigestOf(data))
	a.mustBe(err, memory.ErrNotFound)
}

// shelved expects the archives of a scope to be these, with their instants.
func (a *archives) shelved(s memory.Scope, want ...distill.Kept) {
	a.did("list what is kept for %s", describeScope(s))
	left := want
	for k, err := range a.shelf.Archives(a.ctx, s) {
		a.must(err)
		at := -1
		for i := range left {
			if left[i].Address == k.Address && left[i].At.Equal(k.At) {
				at = i
			}
		}
		a.check(at >= 0, "only what was kept, with the instant at which it was last kept", "%s at %s", k.Address, describeTime(k.At))
		left = append(append([]distill.Kept{}, left[:at]...), left[at+1:]...)
	}
	a.check(len(left) == 0, "all that is kept", "%d are missing", len(left))
}

// notFoundOrDamaged are the two answers about an archive that is no longer intact.
func notFoundOrDamaged(err error) bool {
	return errors.Is(err, distill.ErrArchive) || errors.Is(err, memory.ErrNotFound)
}
