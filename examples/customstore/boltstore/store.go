package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 2. What opens bbolt and begins its transactions is here, in three ideas; other pages use its
// cursors and sequences. A transaction keeps the first error
// that it meets, so that the pages to come read as what they do. Every call begins with a look
// at its context (the kit: FAULT). And no transaction is open while the caller's code runs.

var bucket, meta = []byte("memory"), key("meta")

// Store keeps memory in one file. Create one with [Open].
type Store struct {
	path string
	db   *bolt.DB
}

// Open opens the store in a file, which it makes if there is none. One process at a time
// can have it open: another one gets bbolt's ErrTimeout after a second.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(b *bolt.Tx) error {
		t, err := b.CreateBucketIfNotExists(bucket)
		if err == nil && t.Get(meta) == nil {
			err = t.Put(meta, []byte(rand.Text()))
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{path, db}, nil
}

// Close closes the file.
func (st *Store) Close() error { return st.db.Close() }

// Durable says that the store outlives its process.
func (st *Store) Durable() bool { return true }

// ReadOnly says that it can be written.
func (st *Store) ReadOnly() bool { return false }

// tx is a transaction. It keeps the first error that it met, with which it ends.
type tx struct {
	*bolt.Bucket
	err error
}

// view returns what f finds in one state of the file.
func view[T any](ctx context.Context, st *Store, f func(t *tx) T) (found T, err error) {
	err = within(ctx, st.db.View, func(t *tx) { found = f(t) })
	return found, err
}

// update writes. If f fails nothing is written. bbolt runs one update at a time.
func (st *Store) update(ctx context.Context, f func(t *tx)) error {
	return within(ctx, st.db.Update, f)
}

func within(ctx context.Context, run func(func(*bolt.Tx) error) error, f func(t *tx)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := run(func(b *bolt.Tx) error {
		t := &tx{Bucket: b.Bucket(bucket)}
		f(t)
		return t.err
	})
	var ours interface{ Code() driver.Code }
	if err != nil && !errors.As(err, &ours) { // what bbolt says is for the host's own eyes
		return driver.ErrInternal.With("", err)
	}
	return err
}

func (t *tx) note(err error) { t.err = cmp.Or(t.err, err) }

// load reads what is under a key, and reports whether anything is.
func (t *tx) load(k []byte, value any) bool {
	data := t.Get(k)
	if data != nil {
		t.note(json.Unmarshal(data, value))
	}
	return data != nil
}

// save writes a value in JSON, which is enough for strings in UTF-8.
func (t *tx) save(k []byte, value any) {
	data, err := json.Marshal(value)
	t.note(err)
	t.put(k, data)
}

func (t *tx) put(k, data []byte) { t.note(t.Put(k, data)) }

func (t *tx) remove(keys ...[]byte) {
	for _, k := range keys {
		t.note(t.Delete(k))
	}
}

// ascend yields the keys from one to before another. The body of the loop does not write: bbolt's
// cursors do not allow it.
func (t *tx) ascend(from, below []byte) iter.Seq[[]byte] {
	return func(yield func(k []byte) bool) {
		c := t.Cursor()
		for k, _ := c.Seek(from); k != nil && bytes.Compare(k, below) < 0 && yield(k); k, _ = c.Next() {
		}
	}
}

// under is ascend for the keys that begin with a prefix.
func (t *tx) under(prefix []byte) iter.Seq[[]byte] { return t.ascend(prefix, above(prefix)) }

// all yields what read finds, in one transaction that has ended before: the body of a loop may call
// the store, to change it too, and an update could wait for ever for a view that waits for it. It has
// all of it in memory; a store of many entries would read page by page.
func all[T any](ctx context.Context, st *Store, read func(t *tx) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found, err := view(ctx, st, read)
		for _, x := range found {
			if !yield(x, nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}
