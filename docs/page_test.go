package docs

import (
	"go/parser"
	"go/token"
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

// documents are all pages of docs, the README, and what pkg.go.dev shows of package memory.
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
	return append(pages, packageComment(t, "memory/doc.go"))
}

// packageComment is the page that a package comment is on pkg.go.dev. Its code is indented.
func packageComment(t *testing.T, name string) page {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p := page{name: name}
	var open *block
	for i, line := range strings.Split(file.Doc.Text(), "\n") {
		code, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented:
			open = nil
		case open == nil:
			p.blocks = append(p.blocks, block{lang: "go", line: i + 1, text: code + "\n"})
			open = &p.blocks[len(p.blocks)-1]
		default:
			open.text += code + "\n"
		}
	}
	if len(p.blocks) == 0 {
		t.Errorf("%s shows no code", name)
	}
	return p
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
