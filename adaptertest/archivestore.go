package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// ArchiveConfig says how the kit gets at a [distill.ArchiveStore].
type ArchiveConfig struct {
	// New returns a fresh, empty store. It is called for every case, and required. A
	// store that is an io.Closer is closed after its case.
	New func(ctx context.Context) (distill.ArchiveStore, error)

	// Reopen opens the data of s again, as another process would. The kit calls it
	// while s is open, and after it closed s (if s is an io.Closer). A store whose
	// data only one process can have open returns [memory.ErrNotProvided] in the
	// first case. Nil means that nothing outlives the store.
	Reopen func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error)

	// Damage replaces what s holds on its medium for an archive by other bytes. Nil
	// means that the medium cannot be damaged, as the process's own memory.
	Damage func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error

	// Require are the abilities that the store must have, of [Durable], [Shared] and
	// [Damageable]: a missing one is a failure, not a remark.
	Require []Offer
}

// RunArchiveStore proves in a test that a store may hold the archives of package
// distill (D2, D3, CTI-1), by one subtest for each case. A case for which the
// ArchiveConfig does not have the means is skipped with the reason.
func RunArchiveStore(t *testing.T, cfg ArchiveConfig) {
	t.Helper()
	cfg.proof().run(t)
}

// CheckArchiveStore proves a store of archives without a test, as [Check] does for a
// store of entries.
func CheckArchiveStore(ctx context.Context, cfg ArchiveConfig) (*Report, error) {
	return cfg.proof().check(ctx, everything)
}

func (cfg ArchiveConfig) proof() *proof[distill.ArchiveStore, *archives] {
	return &proof[distill.ArchiveStore, *archives]{
		config: "ArchiveConfig", create: cfg.New, again: cfg.Reopen, require: cfg.Require,
		laws: []archiveLaw{archivesLaw()}, enter: func(st *stage[distill.ArchiveStore]) *archives { return &archives{st, cfg.Damage} },
		inspect: func(_ distill.ArchiveStore, found *findings) error {
			found.offer(Damageable, cfg.Damage != nil, "ArchiveConfig.Damage is not set")
			return nil
		},
	}
}

type (
	archiveLaw  = lawOf[*archives]
	archiveCase = caseOf[*archives]
)

// archives are what a case about a store of archives works in.
type archives struct {
	*stage[distill.ArchiveStore]
	spoil func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error
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
	got, err := a.store.Keep(a.ctx, s, key, data, a.now)
	a.must(err)
	a.check(got == distill.DigestOf(winner), fmt.Sprint("the address of answer ", want), "%s", got)
	return got
}

// has expects a question to be answered by an archive, byte by byte.
func (a *archives) has(s memory.Scope, question, answer int) {
	key, data := sample(question, answer)
	address := distill.DigestOf(data)
	a.did("find question %d of %s, and load answer %d", question, describeScope(s), answer)
	found, err := a.store.Find(a.ctx, s, key)
	a.must(err)
	a.check(found == address, address.String(), "%s", found)
	loaded, err := a.store.Load(a.ctx, s, address)
	a.must(err)
	a.check(string(loaded) == string(data), "the bytes as they were kept", "%d other bytes", len(loaded))
}

// lacks expects neither the key nor the archive.
func (a *archives) lacks(s memory.Scope, question, answer int) {
	key, data := sample(question, answer)
	a.did("find question %d of %s, and load answer %d", question, describeScope(s), answer)
	_, err := a.store.Find(a.ctx, s, key)
	a.mustBe(err, memory.ErrNotFound)
	_, err = a.store.Load(a.ctx, s, distill.DigestOf(data))
	a.mustBe(err, memory.ErrNotFound)
}

// shelved expects the archives of a scope to be these, with their instants.
func (a *archives) shelved(s memory.Scope, want ...distill.Kept) {
	a.did("list what is kept for %s", describeScope(s))
	left := want
	for k, err := range a.store.Archives(a.ctx, s) {
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
