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

var bucket = []byte("memory")

// Store keeps memory in one file. Create one with [Open].
type Store struct {
	path        string
	db          *bolt.DB
	incarnation string
}

// Open opens the store in a file, which it makes if there is none. One process at a time
// can have it open: another one gets bbolt's ErrTimeout after a second.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(t *bolt.Tx) error {
		_, err := t.CreateBucketIfNotExists(bucket)
		return err
	})
	st := &Store{path: path, db: db}
	if err == nil {
		err = st.update(context.Background(), func(t *tx) error {
			if name := key("meta", "incarnation"); !t.load(name, &st.incarnation) {
				st.incarnation = rand.Text()
				t.save(name, st.incarnation)
			}
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

// Close closes the file.
func (st *Store) Close() error { return st.db.Close() }

// Durable says that the store outlives its process.
func (st *Store) Durable() bool { return true }

// ReadOnly says that it can be written.
func (st *Store) ReadOnly() bool { return false }

// tx is a transaction. It keeps the first error that one of its methods met, so that who
// reads and writes asks for it once, at the end.
type tx struct {
	*bolt.Bucket
	err error
}

// view reads one state of the file.
func (st *Store) view(ctx context.Context, f func(t *tx) error) error {
	return within(ctx, st.db.View, f)
}

// update writes. If f fails nothing is written. bbolt runs one update at a time.
func (st *Store) update(ctx context.Context, f func(t *tx) error) error {
	return within(ctx, st.db.Update, f)
}

func within(ctx context.Context, run func(func(*bolt.Tx) error) error, f func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := run(func(b *bolt.Tx) error {
		t := &tx{Bucket: b.Bucket(bucket)}
		err := f(t)
		return cmp.Or(t.err, err) // with an error of its own, what f has found out is worth nothing
	})
	var ours interface{ Code() driver.Code }
	if err != nil && !errors.As(err, &ours) { // what bbolt says is for the host's own eyes
		return driver.ErrInternal.With("", err)
	}
	return err
}

// note keeps an error.
func (t *tx) note(err error) {
	if t.err == nil {
		t.err = err
	}
}

// load reads what is under a key, and reports whether anything is.
func (t *tx) load(k []byte, value any) bool {
	data := t.Get(k)
	if data == nil {
		return false
	}
	t.read(data, value)
	return true
}

func (t *tx) read(data []byte, value any) { t.note(json.Unmarshal(data, value)) }

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

// ascend yields the keys that begin with a prefix, and what is there. The body of the loop does not
// write: bbolt's cursors do not allow it.
func (t *tx) ascend(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, data []byte) bool) {
		c := t.Cursor()
		for k, data := c.Seek(prefix); bytes.HasPrefix(k, prefix) && yield(k, data); k, data = c.Next() {
		}
	}
}

// keys returns the keys that begin with a prefix and are below another.
func (t *tx) keys(prefix, below []byte) (keys [][]byte) {
	for k := range t.ascend(prefix) {
		if bytes.Compare(k, below) < 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// all yields what read finds, in one transaction that has ended before: the body of a loop may call
// the store, to change it too, and an update could wait for ever for a view that waits for it. It has
// all of it in memory; a store of many entries would read page by page.
func all[T any](ctx context.Context, st *Store, read func(t *tx) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var found []T
		err := st.view(ctx, func(t *tx) (err error) {
			found, err = read(t)
			return err
		})
		for i := 0; i < len(found) && ctx.Err() == nil; i++ {
			if !yield(found[i], nil) {
				return
			}
		}
		if err = cmp.Or(ctx.Err(), err); err != nil {
			var none T
			yield(none, err)
		}
	}
}
