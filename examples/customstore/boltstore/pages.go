package boltstore

import (
	"bytes"
	"context"
	"iter"
)

// pageSize is how many small items a loop reads at a time.
const pageSize = 128

// pages makes a loop over what a bucket has under a prefix. Choose makes an item of a key
// and what is there, and reports whether it belongs to the loop. Size bounds a page.
//
// The body of a loop may call the store, to change it too, so that no transaction can be
// open while it runs: bbolt would wait for ever. The loop reads a page, closes the
// transaction, hands the page out, and goes on behind the last key that it has seen.
func pages[T any](ctx context.Context, st *Store, bucket, prefix []byte, size int, choose func(t *tx, k, data []byte) (T, bool)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		from, more := prefix, true
		for more {
			var items []T
			err := st.view(ctx, func(t *tx) error {
				more = false
				for k, data := range t.ascend(bucket, prefix, from) {
					if len(items) == size {
						from, more = bytes.Clone(k), true
						return nil
					}
					if item, ok := choose(t, k, data); ok {
						items = append(items, item)
					}
				}
				return nil
			})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
