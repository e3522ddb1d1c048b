package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// page is a Markdown file of the documentation.
type page struct {
	name   string // relative to the root of the repository
	text   string
	blocks []block
}

// block is what stands between two lines of backticks.
type block struct {
	lang string // what follows the first backticks
	line int    // where they stand
	text string // with the final line end
}

// documents are all pages of docs and the README.
func documents(t *testing.T) []page {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, filepath.Join("..", "README.md"))
	var pages []page
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown := "docs/" + name
		if filepath.Dir(name) == ".." {
			shown = filepath.Base(name)
		}
		pages = append(pages, page{name: shown, text: string(text), blocks: blocksOf(string(text))})
	}
	return pages
}

// blocksOf returns the fenced blocks of a page. The indentation of the opening backticks, as a
// list has it, is taken off every line.
func blocksOf(text string) []block {
	var blocks []block
	var open *block
	indent := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(bare, "```"):
			indent = line[:strings.Index(line, "`")]
			open = &block{lang: strings.TrimPrefix(bare, "```"), line: n}
		case open != nil && bare == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	return blocks
}

func TestBlocksOf(t *testing.T) {
	got := blocksOf("a\n```go\nx\n```\n1. b\n\n   ```\n   y\n     z\n   ```\n")
	want := []block{{"go", 2, "x\n"}, {"", 7, "y\n  z\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
