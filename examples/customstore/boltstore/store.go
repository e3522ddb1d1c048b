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

// The buckets. The second group can be made from the first: it is what something is found
// by. Each value of it is the key of what is found, or empty.
var (
	meta      = []byte("meta")      // "incarnation"
	tenants   = []byte("tenants")   // tenant
	marks     = []byte("marks")     // tenant, number of a version: its mark
	records   = []byte("records")   // tenant, ref, id
	scars     = []byte("scars")     // tenant, versions to and from, ref: something erased was live then
	journal   = []byte("journal")   // tenant, version, ref, what happened, id
	documents = []byte("documents") // tenant, ref, kind, key; without the value
	values    = []byte("values")    // the same: the value
	outbox    = []byte("outbox")    // number in the order of commits

	byAge    = []byte("by-age")    // tenant, ref, created, id: a record that is not erased
	byHeir   = []byte("by-heir")   // tenant, ref, successor, id: a retired record, its id
	byOrigin = []byte("by-origin") // tenant, ref, id of an entry, kind, key: a document made of it
	byDue    = []byte("by-due")    // kind, due, tenant, ref, key: a document
	byEvent  = []byte("by-event")  // tenant, run, id: the key of an event in the outbox

	buckets = [][]byte{meta, tenants, marks, records, scars, journal, documents, values, outbox, byAge, byHeir, byOrigin, byDue, byEvent}
)

// Store keeps memory in one file of bbolt. Create one with [Open].
type Store struct {
	path        string
	db          *bolt.DB
	incarnation string
}

// Open opens the store in a file, and makes the file if there is none. One process at a
// time can have it open: another one gets bbolt's ErrTimeout after a second.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	st := &Store{path: path, db: db}
	err = st.update(context.Background(), func(t *tx) error {
		for _, name := range buckets {
			if _, err := t.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		// A random name that the store keeps for ever, from which the first versions come.
		t.load(meta, []byte("incarnation"), &st.incarnation)
		if st.incarnation == "" {
			st.incarnation = rand.Text()
			t.save(meta, []byte("incarnation"), st.incarnation)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

// Close closes the file.
func (st *Store) Close() error { return st.db.Close() }

// Traits says that the store outlives its process.
func (st *Store) Traits() driver.Traits { return driver.Traits{Durable: true} }

// tx is a transaction. It keeps the first error that its methods met, so that only its end
// has to ask.
type tx struct {
	*bolt.Tx
	err error
}

// view reads in a transaction, which sees one state of the whole file.
func (st *Store) view(ctx context.Context, f func(t *tx) error) error {
	return st.within(ctx, st.db.View, f)
}

// update writes in a transaction, which is committed if f returns nil, and leaves nothing
// behind otherwise. bbolt runs one at a time.
func (st *Store) update(ctx context.Context, f func(t *tx) error) error {
	return st.within(ctx, st.db.Update, f)
}

func (st *Store) within(ctx context.Context, run func(func(*bolt.Tx) error) error, f func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := run(func(b *bolt.Tx) error {
		t := &tx{Tx: b}
		err := f(t)
		if t.err != nil { // then what f found out is worth nothing
			return t.err
		}
		return err
	})
	if driver.CodeOf(err) == driver.CodeInternal { // of bbolt
		return driver.Fail(driver.ErrInternal, "", err)
	}
	return err
}

func (t *tx) failed(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *tx) get(bucket, k []byte) []byte { return t.Bucket(bucket).Get(k) }

func (t *tx) put(bucket, k, value []byte) {
	if err := t.Bucket(bucket).Put(k, value); err != nil {
		t.failed(err)
	}
}

func (t *tx) remove(bucket, k []byte) {
	if err := t.Bucket(bucket).Delete(k); err != nil {
		t.failed(err)
	}
}

// load reads a value in JSON, and reports whether there is one. JSON keeps strings only if
// they are valid UTF-8, as those of entries and documents are.
func (t *tx) load(bucket, k []byte, value any) bool {
	data := t.get(bucket, k)
	return data != nil && t.decode(data, value)
}

func (t *tx) decode(data []byte, value any) bool {
	if json.Unmarshal(data, value) != nil { // whose text may quote an entry
		t.failed(errors.New("the file is damaged"))
		return false
	}
	return true
}

func (t *tx) save(bucket, k []byte, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		t.failed(err)
		return
	}
	t.put(bucket, k, data)
}

// ascend yields what a bucket has under the keys from one on that begin with a prefix. The
// loop does not write into the bucket.
func (t *tx) ascend(bucket, prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := t.Bucket(bucket).Cursor()
		for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if !yield(k, v) {
				return
			}
		}
	}
}

// all returns the keys of a bucket that begin with a prefix and lie before another key, and
// what is there.
func (t *tx) all(bucket, prefix, before []byte) (keys, found [][]byte) {
	for k, v := range t.ascend(bucket, prefix, prefix) {
		if bytes.Compare(k, before) >= 0 {
			break
		}
		keys, found = append(keys, k), append(found, v)
	}
	return keys, found
}

// removeAll removes what lies under keys that begin with a prefix and lie before another
// key.
func (t *tx) removeAll(bucket, prefix, before []byte) {
	keys, _ := t.all(bucket, prefix, before)
	for _, k := range keys {
		t.remove(bucket, k)
	}
}
