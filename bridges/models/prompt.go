package models

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

//go:embed prompts
var files embed.FS

// instructions are the files of a task.
type instructions struct {
	task    Task
	system  string
	schema  map[string]any
	version string // a digest of both files
}

var (
	merging     = load(Merge)
	inferring   = load(Infer)
	summarizing = load(Summarize)
	extracting  = load(Extract)
	expanding   = load(Expand)
)

func load(task Task) instructions {
	system, err := files.ReadFile("prompts/" + string(task) + ".md")
	if err != nil {
		panic(err) // it is in the program
	}
	schema, err := files.ReadFile("prompts/" + string(task) + ".json")
	if err != nil {
		panic(err)
	}
	in := instructions{task: task, system: string(system), version: digest(string(system), string(schema))[:16]}
	if err := json.Unmarshal(schema, &in.schema); err != nil {
		panic(err)
	}
	return in
}

// prompt is the prompt about some notes. head goes before them.
func (in instructions) prompt(head string, notes []note) Prompt {
	texts := make([]string, len(notes))
	for i := range notes {
		texts[i] = notes[i].text
	}
	key := keyFor(texts)
	var b strings.Builder
	b.WriteString(head)
	for i, n := range notes {
		fmt.Fprintf(&b, "<note-%s n=%d%s>\n%s\n</note-%s>\n", key, i+1, n.about, n.text, key)
	}
	return Prompt{Task: in.task, System: in.system, Schema: in.schema, Text: b.String()}
}

// note is text of memory, and attributes of its own that are no text of memory.
type note struct{ about, text string }

// dayOf is the day of an instant as a note's attribute says it: in UTC, by which the engines tell days apart.
func dayOf(at time.Time) string { return at.UTC().Format("2006-01-02") }

// keyFor returns what marks the lines between which texts stand: a digest of them, of which none
// of them has an occurrence.
func keyFor(texts []string) string {
	for n := 0; ; n++ {
		key := digest(append([]string{fmt.Sprint(n)}, texts...)...)[:32]
		if !strings.Contains(strings.Join(texts, "\n"), key) {
			return key
		}
	}
}

// digest is the SHA-256 of texts and where each ends, in hex.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
