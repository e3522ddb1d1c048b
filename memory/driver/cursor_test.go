package driver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cursor that a client is given and sends back is the same position, and the one before the first
// entry is an empty text.
func TestCursor_IsWrittenDownAndReadAgain(t *testing.T) {
	for _, c := range []Cursor{
		{}, {CreatedAt: time.UnixMilli(1_700_000_000_000).UTC(), ID: "mem_1"}, {CreatedAt: time.UnixMilli(-1).UTC(), ID: "é/ \"~"},
	} {
		raw, err := json.Marshal(c)
		require.NoError(t, err)
		read := Cursor{ID: "before", CreatedAt: time.UnixMilli(1)}
		require.NoError(t, json.Unmarshal(raw, &read))
		require.Equal(t, c, read)
		require.Equal(t, c.IsZero(), string(raw) == `""`)
	}
	for _, text := range []string{"!", "AA", "gA", "AAA", "gICAgICAgICAgIAB"} { // no base64, no id, half a number, an id of U+0000, a number too long
		require.ErrorIs(t, new(Cursor).UnmarshalText([]byte(text)), ErrValidation, text)
	}
}
