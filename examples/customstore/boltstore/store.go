package boltstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 2. All that touches bbolt is here, in three ideas. A transaction keeps the first error
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
		if t.err != nil { // then what f has found out is worth nothing
			return t.err
		}
		return err
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

// ascend yields the keys from one on that begin with a prefix, and what is there. The body
// of the loop does not write: bbolt's cursors do not allow it.
func (t *tx) ascend(prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, data []byte) bool) {
		c := t.Cursor()
		for k, data := c.Seek(from); bytes.HasPrefix(k, prefix) && yield(k, data); k, data = c.Next() {
		}
	}
}

// keys returns the keys that begin with a prefix and are below another.
func (t *tx) keys(prefix, below []byte) (keys [][]byte) {
	for k := range t.ascend(prefix, prefix) {
		if bytes.Compare(k, below) >= 0 {
			break
		}
		keys = append(keys, k)
	}
	return keys
}

// loop yields what next finds behind a position until it finds nothing, each item in a
// transaction of its own; next moves the position. Each range over the loop begins at start.
// The body of a loop may call the store, to change it too, so that none can be open while
// it runs: an update could wait for ever for a view that waits for it.
func loop[T, P any](ctx context.Context, st *Store, start P, next func(t *tx, at *P) (item T, found bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		at := start
		for more := true; more; {
			var item T
			err := st.view(ctx, func(t *tx) (err error) {
				item, more, err = next(t, &at)
				return err
			})
			if more = more && err == nil; (more || err != nil) && !yield(item, err) {
				return
			}
		}
	}
}
