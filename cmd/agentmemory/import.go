package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
)

// maxLine bounds a line of an import.
const maxLine = 16 << 20

// imported tells what became of the lines of an import.
type imported struct {
	Lines    int       `json:"lines"`
	Written  int       `json:"written"`
	Present  int       `json:"present"` // by an earlier import of the line
	Deleted  int       `json:"deleted"` // since an earlier import of the line, and left so
	Expired  int       `json:"expired"`
	Untagged int       `json:"untagged"` // written without the tags of a compaction
	Refused  []refused `json:"refused"`
}

// refused is a line that memory does not take.
type refused struct {
	Line int         `json:"line"`
	Code memory.Code `json:"code"`
	Why  string      `json:"why"`
}

func (p *program) load(ctx context.Context, args *arguments) (err error) {
	path := args.String("secrets", "", "a JSON `FILE` {\"id\": \"value\"} of what must never be stored, beside variables "+variable+"<ID>")
	if err := args.take(1, 1); err != nil {
		return err
	}
	if p.tenant == "" {
		return misuse("say whose memory: -tenant ID")
	}
	registry, err := secrets(*path, p.environ)
	if err != nil {
		return err
	}
	file, err := os.Open(args.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	var done imported
	err = eachLine(file, func(n int, raw []byte) error {
		done.Lines++
		_, err := parseLine(n, raw)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if done.Lines == 0 {
		return advice("the file has no line; nothing was imported: name a file that export has written")
	}
	at, err := p.openTenant(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	job, err := at.job(p.tenant, registry)
	if err != nil {
		return err
	}
	working := p.progress("imported lines", done.Lines)
	same := map[[sha256.Size]byte]int{} // how often a line has come
	err = eachLine(file, func(n int, raw []byte) error {
		l, err := parseLine(n, raw)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(raw)
		same[sum]++
		err = done.put(ctx, job, n, l, fmt.Sprintf("agentmemory-import:%s:%d", hex.EncodeToString(sum[:]), same[sum]))
		working.step()
		return err
	})
	working.end()
	if err != nil {
		return fmt.Errorf("the import stopped after %d lines: %w; the same command goes on there", working.done, err)
	}
	if err := job.End(ctx); err != nil {
		return err
	}
	return p.told(done)
}

// put writes one line, under a key by which the same line of the same file is known again.
func (done *imported) put(ctx context.Context, job *memory.Job, n int, l line, key string) error {
	draft := memory.Draft{Content: l.Entry.Content, ExpiresAt: l.Entry.ExpiresAt, CreatedAt: l.Entry.CreatedAt, Subjects: l.Subjects, Key: key}
	for _, tag := range l.Entry.Tags {
		if !strings.HasPrefix(tag, memory.CompactedPrefix) && !strings.HasPrefix(tag, memory.ArchivePrefix) {
			draft.Tags = append(draft.Tags, tag)
		}
	}
	if !l.Entry.LiveAt(job.Now()) {
		done.Expired++
		return nil
	}
	written, err := job.Put(ctx, l.Ref, draft)
	switch code := memory.CodeOf(err); {
	case err == nil && written.RunID == job.ID():
		done.Written++
		if len(draft.Tags) < len(l.Entry.Tags) {
			done.Untagged++
		}
	case err == nil:
		done.Present++
	case errors.Is(err, memory.ErrDeleted):
		done.Deleted++
	case errors.Is(err, memory.ErrConflict):
		done.Refused = append(done.Refused, refused{n, code, "it was imported before while other secrets were registered"})
	case code == memory.CodeValidation && !l.Entry.LiveAt(job.Now()):
		done.Expired++
	case code == memory.CodeValidation, code == memory.CodeSecretLeakage, code == memory.CodeForbidden:
		done.Refused = append(done.Refused, refused{n, code, err.Error()})
	default:
		return err
	}
	return nil
}

// told prints what an import did. Lines that were refused are an error.
func (p *program) told(done imported) error {
	if p.json {
		if err := printJSON(p.out, done); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%d lines: %d written, %d were there already, %d deleted since, %d expired, %d refused\n",
			done.Lines, done.Written, done.Present, done.Deleted, done.Expired, len(done.Refused))
		if done.Untagged > 0 {
			fmt.Fprintf(p.out, "%d were written without their tags of a compaction, which only a bank writes\n", done.Untagged)
		}
		for _, r := range done.Refused {
			fmt.Fprintf(p.out, "line %d: %s\n", r.Line, r.Why)
		}
	}
	if len(done.Refused) > 0 {
		return fmt.Errorf("%d lines were refused: mend them and import the file again", len(done.Refused))
	}
	return nil
}

// eachLine calls f with each line of a file that is not blank, from the file's beginning.
func eachLine(file *os.File, f func(n int, raw []byte) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return advice("the import is read twice, so it must be a file and no pipe")
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		raw := bytes.TrimSpace(lines.Bytes())
		if len(raw) == 0 {
			continue
		}
		if err := f(n, raw); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d bytes", n+1, maxLine)
	}
	return lines.Err()
}

// parseLine reads what export has written. Its errors hold nothing of the line.
func parseLine(n int, raw []byte) (line, error) {
	var read struct {
		Ref      string   `json:"ref"`
		Subjects []string `json:"subjects"`
		Entry    *struct {
			memory.Entry
			Content *string `json:"content"`
		} `json:"entry"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&read)
	if err == nil {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) || !utf8.Valid(raw) || read.Ref == "" || read.Entry == nil || read.Entry.Content == nil {
		return line{}, fmt.Errorf(`line %d is not {"ref": "…", "subjects": ["…"], "entry": {"content": "…", …}} as export writes it`, n)
	}
	read.Entry.Entry.Content = *read.Entry.Content
	return line{Ref: read.Ref, Subjects: read.Subjects, Entry: read.Entry.Entry}, nil
}
