package redact_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/redact"
)

// A marker has no shape: what is redacted once stays as it is between any other texts.
func TestNoShapeMatchesAMarker(t *testing.T) {
	table, err := os.Open("shapes.txt")
	require.NoError(t, err)
	defer table.Close()
	r := redact.New(redact.Config{Shapes: true})
	names := 0
	for lines := bufio.NewScanner(table); lines.Scan(); {
		name, _, isRow := strings.Cut(lines.Text(), " ")
		if !isRow || name == "" || name == "#" {
			continue
		}
		names++
		for _, text := range []string{"[REDACTED:shape." + name + "]", `API_KEY="[REDACTED:shape.` + name + `]"`, "Authorization: Bearer [REDACTED:shape." + name + "]",
			"https://user:[REDACTED:shape." + name + "]@example.org/"} {
			got, err := r.Redact(text)
			require.NoError(t, err)
			require.Equal(t, text, got)
		}
	}
	require.Positive(t, names)
}
