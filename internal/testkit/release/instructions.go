package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// instruction is a command of the go tool in Markdown: a line of code, perhaps behind a
// prompt, or a piece of code within a line.
var instruction = regexp.MustCompile("(?m)(?:^[ \t>$]*|`)(go (?:get|install) [^`#\n]*)")

// instructions are the commands of all Markdown files of the tree below root that get or
// install something of ours, each once and without the modules of others that it names too:
// which of their versions is the newest is not for this tree to prove. The error names the
// commands that no tagged module can serve, and the tagged modules for people that no command
// mentions.
func instructions(root string, modules []module) ([][]string, error) {
	var lines [][]string
	var problems []error
	mentioned := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			return err
		}
		for _, match := range instruction.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(match[1])
			line, ours := words[:2:2], false
			for _, argument := range words[2:] {
				packagePath, _, _ := strings.Cut(argument, "@")
				switch m, ok := holder(modules, packagePath); {
				case strings.HasPrefix(argument, "-"):
				case !inTree(packagePath):
					continue
				case !ok || !m.tagged:
					problems = append(problems, fmt.Errorf("%s: %q: nothing that is tagged has %s", name, match[1], packagePath))
					continue
				default:
					mentioned[m.dir], ours = true, true
				}
				line = append(line, argument)
			}
			if ours && !slices.ContainsFunc(lines, func(l []string) bool { return slices.Equal(l, line) }) {
				lines = append(lines, line)
			}
		}
		return nil
	})
	problems = append(problems, err)
	for _, m := range modules {
		if m.tagged && !m.forTests() && !mentioned[m.dir] {
			problems = append(problems, fmt.Errorf("%s: no Markdown file says how to get or install it", m.dir))
		}
	}
	return lines, errors.Join(problems...)
}
