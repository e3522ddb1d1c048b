package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxLine bounds a line of JSON Lines.
	maxLine = 16 << 20
	// maxFile bounds a file that is one JSON value, which is held in memory.
	maxFile = 256 << 20
)

// format is a form of file that import reads.
type format struct {
	name, about string
	foreign     bool // no bank has redacted it
	// read calls each with the entries of a file, in its order. n is the number of the line or
	// record that an entry is from, what says which of the two. Errors hold nothing of the file.
	read func(file *os.File, each func(n int, l line) error) error
	what string
}

// formats are all forms, the default first.
var formats = []format{
	{"agentmemory", "what export writes: a line for each entry, and for each commitment", false, eachOf("line", exportedLine), "line"},
	{"mem0", "the JSON that Mem0's get_all returns", true, readMem0, "record"},
	{"mcp-memory", "memory.jsonl of MCP's reference memory server: entities with observations, and relations", true, eachOf("line", graphLine), "line"},
	{"letta", "an agent file (.af) of Letta, for its memory blocks, or a list of archival passages", true, readLetta, "record"},
}

// formatOf returns the form of that name.
func formatOf(name string) (format, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, misuse("there is no such format: -from is one of " + strings.Join(formatNames(), ", "))
	}
	return formats[i], nil
}

func formatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// aboutFormats tells of all forms.
func aboutFormats() string {
	text := "FORMAT is one of"
	for _, f := range formats {
		text += fmt.Sprintf("\n  %-12s %s", f.name, f.about)
	}
	return text
}

// eachOf reads JSON Lines, each of which has the entries that parse returns.
func eachOf(what string, parse func(raw []byte) ([]line, error)) func(*os.File, func(int, line) error) error {
	return func(file *os.File, each func(int, line) error) error {
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			raw := bytes.TrimSpace(lines.Bytes())
			if len(raw) == 0 {
				continue
			}
			if err := eachIn(what, n, raw, parse, each); err != nil {
				return err
			}
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return fmt.Errorf("line %d is longer than %d bytes", n+1, maxLine)
		}
		return lines.Err()
	}
}

// eachIn calls each with the entries of one line or record.
func eachIn(what string, n int, raw []byte, parse func([]byte) ([]line, error), each func(int, line) error) error {
	found, err := parse(raw)
	if err == nil && !utf8.Valid(raw) {
		err = errors.New("is not UTF-8")
	}
	if err != nil {
		return fmt.Errorf("%s %d %w", what, n, err)
	}
	for _, l := range found {
		if err := each(n, l); err != nil {
			return err
		}
	}
	return nil
}

// exportedLine reads what export has written.
func exportedLine(raw []byte) ([]line, error) {
	var read struct {
		Ref      string   `json:"ref"`
		Subjects []string `json:"subjects"`
		Entry    *struct {
			entry
			Content *string `json:"content"`
		} `json:"entry"`
		Commitment  *standing `json:"commitment"`
		Commitments *int      `json:"commitments"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&read)
	if err == nil {
		_, err = d.Token()
	}
	switch {
	case !errors.Is(err, io.EOF):
	case read.Commitment != nil && read.Entry == nil && read.Commitments == nil:
		read.Commitment.Commitment.ID, read.Commitment.Commitment.Due = read.Commitment.ID, read.Commitment.Due
		return []line{{commitment: read.Commitment}}, nil
	case read.Commitments != nil && read.Entry == nil && read.Commitment == nil:
		return []line{{last: read.Commitments}}, nil
	}
	if !errors.Is(err, io.EOF) || read.Ref == "" || read.Entry == nil || read.Entry.Content == nil {
		return nil, errors.New(`is not {"ref": "…", "subjects": ["…"], "entry": {"content": "…", …}} as export writes it, and -from names no other format`)
	}
	read.Entry.entry.Content = *read.Entry.Content
	return []line{{Ref: read.Ref, Subjects: read.Subjects, Entry: read.Entry.entry}}, nil
}

// graphLine reads a line of the reference server's file. Each observation is an entry about its
// entity, of whose kind it has a tag; a relation is an entry about both.
func graphLine(raw []byte) ([]line, error) {
	var read struct {
		Type         string
		Name         string
		EntityType   string
		Observations []string
		From, To     string
		RelationType string
	}
	if json.Unmarshal(raw, &read) == nil {
		switch {
		case read.Type == "entity" && read.Name != "":
			if len(read.Observations) == 0 && read.EntityType != "" {
				read.Observations = []string{read.EntityType}
			}
			var all []line
			for _, o := range read.Observations {
				all = append(all, saying(read.Name+": "+o, entry{Tags: []string{read.EntityType}}, read.Name)...)
			}
			return all, nil
		case read.Type == "relation" && read.From != "" && read.To != "" && read.RelationType != "":
			return saying(read.From+" "+read.RelationType+" "+read.To, entry{Tags: []string{read.RelationType}}, read.From, read.To), nil
		}
	}
	return nil, errors.New(`is neither {"type": "entity", "name": "…", …} nor {"type": "relation", "from": "…", "to": "…", …}`)
}

// readMem0 reads {"results": […]} or the list alone.
func readMem0(file *os.File, each func(int, line) error) error {
	raw, err := readWhole(file)
	if err != nil {
		return err
	}
	var page struct{ Results, Memories *[]json.RawMessage }
	var list []json.RawMessage
	if json.Unmarshal(raw, &page) == nil && page.Results != nil {
		list = *page.Results
	} else if json.Unmarshal(raw, &list) != nil || list == nil {
		return errors.New(`the file is not {"results": [{"memory": "…", …}]} as Mem0's get_all returns it`)
	}
	return eachRecord(list, mem0Memory, each)
}

// mem0Memory is one memory. It is about its user; other owners are tags.
func mem0Memory(raw []byte) ([]line, error) {
	var m struct {
		Memory     *string
		UserID     string `json:"user_id"`
		AgentID    string `json:"agent_id"`
		AppID      string `json:"app_id"`
		RunID      string `json:"run_id"`
		Categories []string
		CreatedAt  instant `json:"created_at"`
		// ExpirationDate is the last day of the memory's life.
		ExpirationDate instant `json:"expiration_date"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Memory == nil {
		return nil, errors.New(`is not {"memory": "…", "created_at": "…", …} as Mem0's get_all returns it`)
	}
	e := entry{Tags: m.Categories, CreatedAt: m.CreatedAt.Time}
	for _, owner := range []struct{ kind, id string }{{"agent:", m.AgentID}, {"app:", m.AppID}, {"run:", m.RunID}} {
		if owner.id != "" {
			e.Tags = append(e.Tags, owner.kind+owner.id)
		}
	}
	if !m.ExpirationDate.IsZero() {
		e.ExpiresAt = m.ExpirationDate.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	if m.UserID == "" {
		return saying(*m.Memory, e), nil
	}
	return saying(*m.Memory, e, "user:"+m.UserID), nil
}

// saying is an entry of another memory; none if it says nothing.
func saying(content string, e entry, subjects ...string) []line {
	if e.Content = strings.TrimSpace(content); e.Content == "" {
		return nil
	}
	return []line{{Subjects: subjects, Entry: e}}
}

// readLetta reads an agent file, also one that stands in a JSON string, or a list of passages.
func readLetta(file *os.File, each func(int, line) error) error {
	raw, err := readWhole(file)
	if err != nil {
		return err
	}
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		raw = []byte(inner)
	}
	var agents struct {
		Blocks     *[]json.RawMessage
		CoreMemory *[]json.RawMessage `json:"core_memory"` // before there were several agents in a file
	}
	var passages []json.RawMessage
	switch {
	case json.Unmarshal(raw, &agents) == nil && agents.Blocks != nil:
		return eachRecord(*agents.Blocks, lettaBlock, each)
	case agents.CoreMemory != nil:
		return eachRecord(*agents.CoreMemory, lettaBlock, each)
	case json.Unmarshal(raw, &passages) == nil && passages != nil:
		return eachRecord(passages, lettaPassage, each)
	}
	return errors.New(`the file is neither an agent file {"agents": […], "blocks": […], …} nor a list of passages [{"text": "…", …}]`)
}

// lettaBlock is a block of core memory.
func lettaBlock(raw []byte) ([]line, error) {
	var b struct{ Label, Value *string }
	if json.Unmarshal(raw, &b) != nil || b.Label == nil || b.Value == nil {
		return nil, errors.New(`is not a block {"label": "…", "value": "…", …}`)
	}
	return saying(*b.Value, entry{Tags: []string{*b.Label}}), nil
}

func lettaPassage(raw []byte) ([]line, error) {
	var m struct {
		Text      *string
		Tags      []string
		CreatedAt instant `json:"created_at"`
		IsDeleted bool    `json:"is_deleted"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Text == nil {
		return nil, errors.New(`is not a passage {"text": "…", "created_at": "…", …}`)
	}
	if m.IsDeleted {
		return nil, nil
	}
	return saying(*m.Text, entry{Tags: m.Tags, CreatedAt: m.CreatedAt.Time}), nil
}

// eachRecord calls each with the entries of a list, whose records count from 1.
func eachRecord(list []json.RawMessage, parse func([]byte) ([]line, error), each func(int, line) error) error {
	for i, raw := range list {
		if err := eachIn("record", i+1, raw, parse, each); err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads a file that is one JSON value.
func readWhole(file *os.File) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxFile:
		return nil, fmt.Errorf("the file is longer than %d bytes: export it in parts", maxFile)
	case len(bytes.TrimSpace(raw)) > 0 && !json.Valid(raw):
		return nil, errors.New("the file is not JSON, or ends in the middle of it")
	}
	return raw, nil
}

// instant is a time as other memories write it: RFC 3339, or the same without a zone, which is UTC,
// or a day.
type instant struct{ time.Time }

func (t *instant) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil || *text == "" {
		return err
	}
	var err error
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.DateTime, time.DateOnly} {
		if t.Time, err = time.Parse(layout, *text); err == nil {
			return nil
		}
	}
	return errors.New("no instant")
}
