package pages

import "iter"

// Of yields what next returns, page by page, and leaves what is read alone while the loop's body
// runs. Next is given the last value of the page before, or nil, and says whether more may follow
// its page. Beside an error its page is yielded first.
func Of[T any](next func(last *T) (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for more := true; more; {
			var page []T
			var err error
			page, more, err = next(last)
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if len(page) > 0 {
				last = &page[len(page)-1]
			}
		}
	}
}
