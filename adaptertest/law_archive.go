package adaptertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

func archivesLaw() archiveLaw {
	return archiveLaw{name: "ARCHIVE", number: "D2, D3, M1", says: "an archive is kept byte by byte, once for its question", cases: []archiveCase{
		{name: "empty", proves: "what was never kept is not found, and dropping it is no error", run: emptyShelf},
		{name: "kept", proves: "what is kept is found and loaded byte by byte", run: keptOnShelf},
		{name: "first-wins", proves: "a key keeps its first archive, and later ones learn which that is", run: firstWins},
		{name: "scopes", proves: "a scope has nothing of another, however alike they look", run: scopesOfShelf},
		{name: "listed", proves: "all that is kept is listed, at the instant at which it was last kept", run: listedShelf},
		{name: "list-and-drop", proves: "a loop over the archives may drop them", run: listAndDrop},
		{name: "drop", proves: "what is dropped is gone with its key, which is free again", run: dropFromShelf},
		{name: "drop-before", proves: "what was kept at or after an instant stays when older ones are dropped", run: dropBefore},
		{name: "own-bytes", proves: "nobody who holds the bytes can change the archive", run: ownBytes},
		{name: "racing-keeps", proves: "of many answers to one question at once one wins, and all learn which", run: racingKeeps},
		{name: "cancelled", proves: "under a context that is done a call returns its error, and nothing happens", run: cancelledShelf},
		{name: "damaged", proves: "bytes that do not match their address are never returned", needs: []Offer{Damageable}, run: damagedShelf},
		{name: "damaged-then-dropped", proves: "a damaged archive can be dropped, and its question answered anew", needs: []Offer{Damageable}, run: damagedThenDropped},
		{name: "reopened", proves: "a store that is opened again has everything that it had", needs: []Offer{Durable}, run: reopenedShelf},
		{name: "two-at-once", proves: "two who have the data open see each other's archives and drops", needs: []Offer{Shared}, run: sharedShelf},
		{name: "racing-stores", proves: "of answers that two stores keep at once one wins, and all learn which", needs: []Offer{Shared}, run: racingShelves},
	}}
}

func emptyShelf(a *archives) {
	a.lacks(home, 1, 1)
	_, data := sample(1, 1)
	a.did("drop what is not there")
	a.must(a.store.Drop(a.ctx, home, distill.DigestOf(data), time.Time{}))
	a.shelved(home)
}

func keptOnShelf(a *archives) {
	a.keep(home, 1, 1, 1)
	a.keep(home, 2, 1, 1)
	a.has(home, 1, 1)
	a.has(home, 2, 1)
	a.lacks(home, 3, 1)
}

func firstWins(a *archives) {
	a.keep(home, 1, 1, 1)
	a.keep(home, 1, 2, 1)
	a.keep(home, 1, 1, 1)
	a.has(home, 1, 1)
	_, loser := sample(1, 2)
	_, err := a.store.Load(a.ctx, home, distill.DigestOf(loser))
	a.mustBe(err, memory.ErrNotFound)
}

func scopesOfShelf(a *archives) {
	a.keep(home, 1, 1, 1)
	for _, s := range []memory.Scope{
		at("globex", home.Ref), at(home.Tenant, "../"+home.Ref), at(home.Tenant, home.Ref+"/"), at(home.Tenant, "Support"),
		at(home.Tenant+"/"+home.Ref, ""), at("", home.Tenant+"/"+home.Ref), at(home.Tenant+home.Ref, ""), at(home.Tenant+"s", home.Ref[1:]),
	} {
		a.lacks(s, 1, 1)
		a.shelved(s)
		_, data := sample(1, 1)
		a.did("drop the archive from %s", describeScope(s))
		a.must(a.store.Drop(a.ctx, s, distill.DigestOf(data), time.Time{}))
		a.has(home, 1, 1)
		a.keep(s, 1, 2, 2)
	}
	a.has(home, 1, 1)
}

func listedShelf(a *archives) {
	first := distill.Kept{Address: a.keep(home, 1, 1, 1), At: a.now}
	a.now = a.now.Add(time.Hour)
	second := distill.Kept{Address: a.keep(home, 2, 1, 1), At: a.now}
	a.shelved(home, first, second)
	a.now = a.now.Add(time.Hour)
	a.keep(home, 1, 2, 1)
	first.At = a.now
	a.shelved(home, first, second)
}

func listAndDrop(a *archives) {
	for q := range 4 {
		a.keep(home, q, 1, 1)
	}
	a.did("drop each archive while they are listed")
	for k, err := range a.store.Archives(a.ctx, home) {
		a.must(err)
		a.must(a.store.Drop(a.ctx, home, k.Address, time.Time{}))
	}
	a.shelved(home)
}

func (a *archives) drop(question, answer int, before time.Time) {
	_, data := sample(question, answer)
	a.did("drop answer %d to question %d, if kept before %s", answer, question, describeTime(before))
	a.must(a.store.Drop(a.ctx, home, distill.DigestOf(data), before))
}

func dropFromShelf(a *archives) {
	a.keep(home, 1, 1, 1)
	a.keep(home, 2, 1, 1)
	a.drop(1, 1, time.Time{})
	a.lacks(home, 1, 1)
	a.has(home, 2, 1)
	a.keep(home, 1, 2, 2)
	a.has(home, 1, 2)
}

func dropBefore(a *archives) {
	a.keep(home, 1, 1, 1)
	kept := a.now
	a.drop(1, 1, kept)
	a.has(home, 1, 1)
	a.now = kept.Add(time.Hour)
	a.keep(home, 1, 1, 1)
	a.drop(1, 1, kept.Add(time.Millisecond))
	a.has(home, 1, 1)
	a.drop(1, 1, a.now.Add(time.Millisecond))
	a.lacks(home, 1, 1)
}

func ownBytes(a *archives) {
	key, data := sample(1, 1)
	a.did("keep an archive, and overwrite the bytes that were given")
	_, err := a.store.Keep(a.ctx, home, key, data, a.now)
	a.must(err)
	clear(data)
	a.has(home, 1, 1)
	_, data = sample(1, 1)
	loaded, err := a.store.Load(a.ctx, home, distill.DigestOf(data))
	a.must(err)
	a.did("overwrite the bytes that were loaded")
	clear(loaded)
	a.has(home, 1, 1)
}

func racingKeeps(a *archives) { a.raceKeeps(a.store) }

func racingShelves(a *archives) { a.raceKeeps(a.store, a.second()) }

// raceKeeps keeps many answers to a question at once through the stores, and does so
// for several questions.
func (a *archives) raceKeeps(stores ...distill.ArchiveStore) {
	for question := range 8 {
		winners := make([]distill.Digest, 8)
		a.quietly(fmt.Sprintf("keep eight answers to question %d at once", question), func() {
			a.parallel(len(winners), func(i int) {
				key, data := sample(question, i)
				var err error
				winners[i], err = stores[i%len(stores)].Keep(a.ctx, home, key, data, a.now)
				a.must(err)
			})
		})
		for _, w := range winners {
			a.check(w == winners[0], "one address for all", "%s and %s", winners[0], w)
		}
		data, err := a.store.Load(a.ctx, home, winners[0])
		a.must(err)
		a.check(distill.DigestOf(data) == winners[0], "the bytes of the winner", "others")
	}
}

func cancelledShelf(a *archives) {
	a.keep(home, 1, 1, 1)
	ctx, cancel := cancelled(a.ctx)
	defer cancel()
	key, data := sample(2, 1)
	_, held := sample(1, 1)
	address := distill.DigestOf(held)
	is := func(err error) {
		a.check(errors.Is(err, ctx.Err()), describeError(ctx.Err()), "%s", describeError(err))
	}
	a.did("make each call with a context that is done")
	_, err := a.store.Find(ctx, home, key)
	is(err)
	_, err = a.store.Keep(ctx, home, key, data, a.now)
	is(err)
	_, err = a.store.Load(ctx, home, address)
	is(err)
	is(a.store.Drop(ctx, home, address, time.Time{}))
	err = nil
	for _, err = range a.store.Archives(ctx, home) {
		if err != nil {
			break
		}
	}
	is(err)
	a.has(home, 1, 1)
	a.lacks(home, 2, 1)
}

// damages are bytes in the place of an archive's: none, a part, a flipped bit, and
// another archive that is intact in itself.
func damages() [][]byte {
	_, good := sample(1, 1)
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 1
	_, other := sample(1, 2)
	return [][]byte{{}, []byte("{}"), good[:len(good)/2], flipped, other, append(append([]byte{}, good...), '\n')}
}

// damage spoils the archive that question 1 has.
func (a *archives) damage(data []byte) distill.Digest {
	_, good := sample(1, 1)
	address := distill.DigestOf(good)
	a.did("damage the archive on its medium: %d other bytes", len(data))
	a.must(a.spoil(a.ctx, a.store, home, address, data))
	return address
}

func damagedShelf(a *archives) {
	a.keep(home, 1, 1, 1)
	for _, bad := range damages() {
		address := a.damage(bad)
		got, err := a.store.Load(a.ctx, home, address)
		a.check(notFoundOrDamaged(err) && len(got) == 0, describeError(distill.ErrArchive), "%d bytes and %s", len(got), describeError(err))
	}
	_, good := sample(1, 1)
	a.damage(good)
	a.has(home, 1, 1)
}

func damagedThenDropped(a *archives) {
	for _, bad := range damages() {
		a.keep(home, 1, 1, 1)
		a.damage(bad)
		a.drop(1, 1, time.Time{})
		a.lacks(home, 1, 1)
		a.keep(home, 1, 1, 1)
		a.has(home, 1, 1)
		a.drop(1, 1, time.Time{})
	}
}

func reopenedShelf(a *archives) {
	first := distill.Kept{Address: a.keep(home, 1, 1, 1), At: a.now}
	a.keep(home, 2, 1, 1)
	a.drop(2, 1, time.Time{})
	a.reopen()
	a.has(home, 1, 1)
	a.lacks(home, 2, 1)
	a.shelved(home, first)
	a.keep(home, 1, 2, 1)
	a.keep(home, 2, 2, 2)
}

func sharedShelf(a *archives) {
	first, second := a.store, a.second()
	a.keep(home, 1, 1, 1)
	a.did("from here on by the other store")
	a.use(second)
	a.has(home, 1, 1)
	a.keep(home, 1, 2, 1)
	a.drop(1, 1, time.Time{})
	a.did("from here on by the first store")
	a.use(first)
	a.lacks(home, 1, 1)
	a.shelved(home)
	a.keep(home, 1, 2, 2)
}
