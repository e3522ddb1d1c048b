package driver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A version is read back as it was written, and in its own spelling only.
func TestM7_VersionsAreReadBack(t *testing.T) {
	mark := FirstMark("one", "t")
	for _, n := range []uint64{0, 7, 1<<63 - 1} {
		for _, m := range []Mark{mark, {9, 255}, {}} {
			got, found, err := m.Version(n).Parse()
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Equal(t, m, found)
		}
	}
	v := mark.Version(7)
	for _, bad := range []Version{
		"", "7", "7.", ".", "0" + v, "+" + v, "-" + v, " " + v, v + " ", v + "A", v[:len(v)-1], v + ".", "x" + v[1:],
		"9223372036854775808" + v[1:], "18446744073709551616" + v[1:], Version(strings.ReplaceAll(string(v), ".", ",")),
		"7." + Version(strings.Repeat("\n", 14)), "7." + Version(strings.Repeat("+", 14)), v[:len(v)-1] + "B",
	} {
		_, _, err := bad.Parse()
		require.Equal(t, error(ErrSnapshotUnavailable), err, "%q", bad)
	}
}

// Tenants and stores have different first marks.
func TestM7_MarksTellHistoriesApart(t *testing.T) {
	marks := map[Mark]bool{}
	for _, m := range []Mark{FirstMark("one", "t"), FirstMark("two", "t"), FirstMark("one", "u"), FirstMark("onet", ""), FirstMark("", "onet"), {}} {
		marks[m] = true
	}
	require.Len(t, marks, 6)
	require.Equal(t, FirstMark("one", "t"), FirstMark("one", "t"))
}
