package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// keyKind is the kind of the document that remembers under which key an entry was put. It
// is content of the entry, so that forgetting the entry frees the key.
const keyKind = "memory/key"

// keyDocument is the document of an idempotency key; the key itself stays out of the store.
func keyDocument(s Scope, key string) driver.Document {
	sum := sha256.Sum256([]byte(key))
	return driver.Document{Scope: s, Class: driver.Content, Kind: keyKind, Key: hex.EncodeToString(sum[:])}
}

// checkKey refuses a key that no store could keep.
func (w writer) checkKey(key string) error {
	if key == "" {
		return nil
	}
	if w.bank.tx == nil {
		return fail(ErrNotProvided, "Draft.Key needs a store that is a driver.Transactor")
	}
	return checkName("Draft.Key", key, driver.MaxKeyBytes)
}

// keyed returns the record of the entry that was put under a key; found is false if there
// is none.
func (b *Bank) keyed(ctx context.Context, s Scope, key string) (rec Record, found bool, err error) {
	name := keyDocument(s, key)
	for d, err := range b.tx.Documents(ctx, driver.DocumentQuery{Tenant: s.Tenant, Ref: s.Ref, Kind: name.Kind, Key: name.Key}) {
		if err != nil {
			return Record{}, false, shape(err)
		}
		recs, err := b.tx.Lookup(ctx, s, d.Of)
		if err != nil {
			return Record{}, false, shape(err)
		}
		if len(recs) > 0 && !recs[0].Erased {
			return recs[0], true, nil
		}
	}
	return Record{}, false, nil
}

// answerRepeatedPut answers a put under a key that has an entry with that entry.
// It is a conflict if the put is of another one.
func answerRepeatedPut(rec Record, e *Entry) (Entry, error) {
	stored := &rec.Entry
	if stored.Content != e.Content || !slices.Equal(stored.Tags, e.Tags) || !slices.Equal(stored.Subjects, e.Subjects) {
		return Entry{}, fail(ErrConflict, "another entry was put under Draft.Key, whose content, tags or subjects differ: use another key, or Replace")
	}
	if rec.State == Deleted {
		return ownCopy(*stored), fail(ErrDeleted, "")
	}
	return ownCopy(*stored), nil
}

// putKeyed writes an entry unless its key has one, which it returns then.
func (w writer) putKeyed(ctx context.Context, s Scope, e Entry, d Draft) (Entry, error) {
	for {
		rec, found, err := w.bank.keyed(ctx, s, d.Key)
		if err != nil {
			return Entry{}, err
		}
		if found {
			if err := w.bank.settle(ctx, s.Tenant); err != nil {
				return Entry{}, err
			}
			return answerRepeatedPut(rec, &e)
		}
		err = w.put(ctx, s, e, d)
		if !errors.Is(err, ErrConflict) { // another caller put under the key meanwhile
			return ownCopy(e), err
		}
	}
}
