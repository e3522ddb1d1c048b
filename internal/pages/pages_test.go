package pages

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

var errPage = errors.New("a page")

// Of yields every page until none follows, an error behind its page, and nothing more to a
// loop that was left.
func TestOf(t *testing.T) {
	calls := 0
	next := func(last *int) ([]int, bool, error) {
		calls++
		from := 0
		if last != nil {
			from = *last + 1
		}
		return []int{from, from + 1}, from < 4, nil
	}
	var got []int
	for n, err := range Of(next) {
		require.NoError(t, err)
		got = append(got, n)
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, got)
	require.Equal(t, 3, calls)
	for range Of(next) {
		break
	}
	require.Equal(t, 4, calls)
	got, failed := nil, error(nil)
	for n, err := range Of(func(*int) ([]int, bool, error) { return []int{7}, true, errPage }) {
		if failed = err; err == nil {
			got = append(got, n)
		}
	}
	require.Equal(t, []int{7}, got)
	require.ErrorIs(t, failed, errPage)
}
