package boltstore

import (
	"encoding/binary"
	"strings"
	"time"
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
