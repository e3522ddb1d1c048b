package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What a page shows of the tree is made of the tree, so that there is one text of it. With
// AGENTMEMORY_UPDATE_DOCS=1 the test writes the pages anew.
func TestIncludedTextsAreThoseOfTheTree(t *testing.T) {
	for _, p := range documents(t) {
		if !strings.HasPrefix(p.name, "docs/") {
			continue
		}
		text := includedFile.ReplaceAllStringFunc(p.text, func(old string) string {
			part := includedFile.FindStringSubmatch(old)
			source, err := os.ReadFile("../" + part[2])
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			return part[1] + part[3] + string(source) + "```\n"
		})
		text = includedPages.ReplaceAllStringFunc(text, func(old string) string {
			part := includedPages.FindStringSubmatch(old)
			doc, err := os.ReadFile("../" + part[2])
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			return part[1] + tableOfPages(strings.TrimSuffix(part[2], "doc.go"), string(doc))
		})
		if text == p.text {
			continue
		}
		if os.Getenv("AGENTMEMORY_UPDATE_DOCS") == "" {
			t.Errorf("%s does not show what is in the tree: AGENTMEMORY_UPDATE_DOCS=1 go test -C docs writes it anew", p.name)
		} else if err := os.WriteFile(strings.TrimPrefix(p.name, "docs/"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	includedFile  = regexp.MustCompile("(?s)(<!-- this block is (\\S+) -->\n)(```go\n// \\S+\n).*?```\n")
	includedPages = regexp.MustCompile(`(<!-- this table is made of (\S+) -->\n)(?:\|.*\n)+`)
)

// tableOfPages lists the pages of a tutorial as its package comment has them.
func tableOfPages(dir, doc string) string {
	var b strings.Builder
	b.WriteString("| page | is about | afterwards |\n|---|---|---|\n")
	steps := strings.Split(doc, "\n// Step ")[1:]
	for i, step := range steps {
		pages := regexp.MustCompile(`(?m)^//  (\d)\. (\w+\.go): (.*)$`).FindAllStringSubmatch(step, -1)
		name := regexp.MustCompile(`for (?:the .*? of )?\[(driver\.\w+)\]|of \[(driver\.\w+)\]`).FindStringSubmatch(step)
		for j, p := range pages {
			after := ""
			about := strings.NewReplacer("[", "`", "]", "`").Replace(p[3])
			if j == len(pages)-1 {
				after = fmt.Sprintf("step %d, `%s%s`", i+1, name[1], name[2])
			}
			fmt.Fprintf(&b, "| %s. [%s](../%s%s) | %s | %s |\n", p[1], p[2], dir, p[2], about, after)
		}
	}
	return b.String()
}
