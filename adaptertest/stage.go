package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// epoch is where the kit's clock starts: years behind any real clock, so that a
// store which looks at its own is found out.
var epoch = time.Date(2001, 3, 4, 5, 6, 7, 0, time.UTC)

// stage is where a case plays: the store that it works on, and the script.
type stage[S any] struct {
	*script
	store S

	config string
	create func(ctx context.Context) (S, error)
	again  func(ctx context.Context, s S) (S, error)
	used   func(s S) // is told of each store that the case works on; nil for nobody
	opened []S
}

// play plays to the end or to the first failure, and closes the stores. It tells the
// failure by a pointer, as a store may end the goroutine under it.
func (st *stage[S]) play(part func(), failed **failure) {
	returned := false
	defer func() {
		switch r := recover().(type) {
		case nil:
			if !returned {
				*failed = &failure{"an answer", "the store ended the goroutine that called it"}
			}
		case *failure:
			*failed = r
		default:
			*failed = &failure{"an answer", fmt.Sprintf("a panic: %v", r)}
		}
		if err := st.closeAll(); err != nil && *failed == nil {
			*failed = &failure{"the store closes", describeError(err)}
		}
	}()
	part()
	returned = true
}

// use makes a store the one that the case works on.
func (st *stage[S]) use(s S) {
	st.store = s
	if st.used != nil {
		st.used(s)
	}
}

// fresh closes what is open and works on a store with nothing in it.
func (st *stage[S]) fresh() {
	if err := st.closeAll(); err != nil {
		st.fail("the store closes", describeError(err))
	}
	st.use(st.open("New opens a store", func() (S, error) { return st.create(st.ctx) }))
}

func (st *stage[S]) open(expected string, by func() (S, error)) S {
	s, err := by()
	if err != nil || any(s) == nil {
		st.fail(st.config+"."+expected, describeError(err))
	}
	st.opened = append(st.opened, s)
	return s
}

// second opens the data of the store once more while it stays open.
func (st *stage[S]) second() S {
	st.did("open the store a second time")
	return st.open("Reopen opens the data again", func() (S, error) { return st.again(st.ctx, st.store) })
}

// reopen closes the store and opens its data again.
func (st *stage[S]) reopen() {
	st.did("close the store and open it again")
	old := st.store
	st.opened = slices.DeleteFunc(st.opened, func(s S) bool { return same(s, old) })
	if err := closeStore(old); err != nil {
		st.fail("the store closes", describeError(err))
	}
	st.use(st.open("Reopen opens the data again", func() (S, error) { return st.again(st.ctx, old) }))
}

// same compares stores, which may be of a type that cannot be compared.
func same(a, b any) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

func (st *stage[S]) closeAll() error {
	var all error
	for _, s := range st.opened {
		all = errors.Join(all, closeStore(s))
	}
	st.opened = nil
	return all
}

func closeStore(s any) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
