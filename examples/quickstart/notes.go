package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
)

//go:embed notes.jsonl
var bundled string

// ownNotes reads the notes that -in names; none if it names nothing.
func ownNotes(name string, stdin io.Reader) ([]memory.Draft, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return readNotes("standard input", stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readNotes(name, file)
}

// readNotes reads one JSON object from each line that is not blank. An error names the line and
// quotes nothing of it, since it may be a secret.
func readNotes(name string, r io.Reader) (notes []memory.Draft, err error) {
	lines := bufio.NewScanner(r)
	number := 1
	for ; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var n memory.Draft
		object := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		object.DisallowUnknownFields()
		err := object.Decode(&n)
		_, end := object.Token()
		if err != nil || end != io.EOF || n.Content == "" || !utf8.Valid(lines.Bytes()) {
			return nil, fmt.Errorf(`%s, line %d: want {"content": "…"}, with "tags" and "subjects" if there are any`, name, number)
		}
		notes = append(notes, n)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s, line %d: longer than 64 KB", name, number)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(notes) == 0:
		return nil, fmt.Errorf(`%s: no notes: want lines such as {"content": "Lena prefers e-mail."}`, name)
	}
	return notes, nil
}
