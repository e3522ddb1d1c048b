package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each operation has a figure for each size, and a line in a picture that is XML.
func TestGrowth(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "growth.svg")
	require.NoError(t, run(t.Context(), "10,100", "1,3", []string{"memory", "sqlite"}, "", picture))
	text, err := os.ReadFile(picture)
	require.NoError(t, err)
	lines := 0
	for dec := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if start, is := token.(xml.StartElement); is && start.Name.Local == "polyline" {
			lines++
		}
	}
	require.Equal(t, len(operations)*(2*2+1), lines, "two stores, two numbers of tenants, and the legend")
	require.Error(t, run(t.Context(), "10,x", "1", nil, "", ""))
	require.Error(t, run(t.Context(), "10", "3,1", nil, "", ""))
	require.Error(t, run(t.Context(), "10", "1", []string{"none"}, "", ""))
}
