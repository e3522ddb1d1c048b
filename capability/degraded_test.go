package capability

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// set is some of the dimensions: bit i is Dimensions()[i].
type set uint8

func setOf(ds ...Dimension) (s set) {
	for i, d := range Dimensions() {
		if slices.Contains(ds, d) {
			s |= 1 << i
		}
	}
	return s
}

func (s set) has(d Dimension) bool { return s&setOf(d) != 0 }

// missing is what an agent of a shape misses at a host that has s.
func (s set) missing(shape Shape) set { return setOf(shape.lacks(s.has)...) }

// hosts are all combinations of the three dimensions that an agent can miss.
func hosts() []set {
	var all []set
	for bits := 7; bits >= 0; bits-- {
		var s set
		for i, d := range []Dimension{LongTerm, Write, Read} {
			if bits>>i&1 != 0 {
				s |= setOf(d)
			}
		}
		all = append(all, s)
	}
	return all
}

// letters are a subset of read, write and long-term-durability as r, w and l.
func letters(s set) string {
	var b strings.Builder
	for i, d := range []Dimension{Read, Write, LongTerm} {
		if s.has(d) {
			b.WriteByte("rwl"[i])
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

func shapes() []Shape {
	var all []Shape
	for bits := range 8 {
		all = append(all, Shape{Scratchpad: bits&1 != 0, Conversation: bits&2 != 0, LongTerm: bits&4 != 0})
	}
	return all
}

func (s Shape) name() string {
	var names []string
	for i, on := range []bool{s.Scratchpad, s.Conversation, s.LongTerm} {
		if on {
			names = append(names, []string{"scratchpad", "conversation", "longTerm"}[i])
		}
	}
	if names == nil {
		return "(nothing)"
	}
	return strings.Join(names, " + ")
}

// A3: the whole truth table is in testdata/degraded.md, with the reasons.
func TestA3_TruthTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| agent asks for \\ host has |")
	for _, host := range hosts() {
		b.WriteString(" " + letters(host) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", 8) + "\n")
	for _, shape := range shapes() {
		fmt.Fprintf(&b, "| %-36s |", shape.name())
		for _, host := range hosts() {
			b.WriteString(" " + letters(host.missing(shape)) + " |")
		}
		b.WriteByte('\n')
	}
	const name = "testdata/degraded.md"
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	text, table, found := strings.Cut(string(raw), "\n| agent asks")
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(text+"\n"+b.String()), 0o644))
		return
	}
	assert.Equal(t, "| agent asks"+table, b.String())
}

// A3: on any host, what an agent misses is unique, in the
// order of the schema, of the three that a shape can ask for, not there, and less
// the more the host has.
func TestA3_Degraded(t *testing.T) {
	three := setOf(Read, Write, LongTerm)
	dimensions := Dimensions()
	for bits := range 1 << len(dimensions) {
		host := set(bits)
		for _, shape := range shapes() {
			got := shape.lacks(host.has)
			var missing set
			last := -1
			for _, d := range got {
				i := slices.Index(dimensions, d)
				require.Greater(t, i, last)
				require.True(t, three.has(d))
				require.False(t, host.has(d))
				last, missing = i, missing|setOf(d)
			}
			require.Equal(t, letters((host & three).missing(shape)), letters(missing))
			for i := range dimensions {
				require.Zero(t, (host|1<<i).missing(shape)&^missing)
			}
		}
	}
	// A copy for each caller.
	m := Model{}
	m.Degraded(Shape{LongTerm: true})[0] = Search
	require.Equal(t, Read, m.Degraded(Shape{LongTerm: true})[0])
}

// The columns of the table that a document can express, from documents.
func TestA3_FromDocuments(t *testing.T) {
	for doc, host := range map[string]string{
		`{"memory":{"supported":true},"agents":{"memoryBackends":["long-term"]}}`:                  "rwl",
		`{"memory":{"supported":true,"writable":true}}`:                                            "rw-",
		`{"memory":{"supported":true,"writable":false},"agents":{"memoryBackends":["long-term"]}}`: "r-l",
		`{"memory":{"supported":true,"writable":false}}`:                                           "r--",
		`{"agents":{"memoryBackends":["long-term"]}}`:                                              "--l",
		`{"memory":{"supported":false,"writable":true}}`:                                           "---",
	} {
		m, err := Parse([]byte(doc))
		require.NoError(t, err)
		have := slices.DeleteFunc(Dimensions(), func(d Dimension) bool { return !m.Satisfies(d) })
		assert.Equal(t, host, letters(setOf(have...)), doc)
		for _, shape := range shapes() {
			assert.ElementsMatch(t, shape.lacks(m.Satisfies), m.Degraded(shape), doc)
		}
	}
}
