package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 1. Everything is in one bucket of the file, under keys that are lists of strings. The first
// says what is there:
//
//	meta                                      a random name of the file
//	tenant   tenant                           an account
//	version  tenant | version, mark           the journal of the mutation that ended it
//	record   tenant, ref, id                  a record
//	document tenant, ref, kind, key           a document
//	event    tenant, run, id                  an event that waits for delivery
//	gap      tenant | version | ref, id       an erased record whose last life ended there
//
// and what can be made from these, to find something by it:
//
//	age      tenant, ref | created | id       the key of a record that is not erased
//	due      kind | due | tenant, ref, key    the key of a document
//
// A zero byte ends each string. No name has one, which the bank sees to, so two lists never
// have the same key, and the key of a scope is the beginning of the keys of all that is in
// it and of nothing else. A separator such as "/" would join the ref "c" of "a/b" with the
// ref "b/c" of "a", for which the kit looks first (CTI-1). Keys ascend as their lists do.
func key(parts ...string) []byte { return []byte(strings.Join(parts, "\x00") + "\x00") }

// with returns k and a number behind it, where the list above has a bar; numbers ascend.
func with(k []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(k[:len(k):len(k)], n) }

// millis is an instant as such a number. Before 1970 milliseconds are negative, and the
// changed bit puts them before the others.
func millis(at time.Time) uint64 { return uint64(at.UnixMilli()) ^ 1<<63 }

// above returns the least key behind all keys that begin with k, which a string ends.
func above(k []byte) []byte { return append(k[:len(k)-1:len(k)-1], 1) }

// Transactions have three ideas. A transaction keeps the first error that it meets, so that the
// pages to come read as what they do. Every call begins with a look at its context (the kit: FAULT).
// And no transaction is open while the caller's code runs.

var bucket, meta = []byte("memory"), key("meta")

// Store keeps memory in one file. Create one with [Open].
type Store struct{ db *bolt.DB }

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
	return &Store{db}, nil
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

// load reads what is under a key, if anything is.
func (t *tx) load(k []byte, value any) {
	if data := t.Get(k); data != nil {
		t.note(json.Unmarshal(data, value))
	}
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
