package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// imported tells what became of the entries of an import.
type imported struct {
	what     string    // that the numbers of Refused count
	Entries  int       `json:"entries"`
	Written  int       `json:"written"`
	Present  int       `json:"present"` // by an earlier import
	Deleted  int       `json:"deleted"` // since an earlier import, and left so
	Expired  int       `json:"expired"`
	Untagged int       `json:"untagged"` // written without the tags of a compaction
	Refused  []refused `json:"refused"`
	// Commitments are as they were in the other store. Unbound ones are left out, since their
	// entries are not in the file or were not taken.
	Commitments int `json:"commitments"`
	Unbound     int `json:"unbound"`
	// Unsaid is set for a file that does not say what commitments there were.
	Unsaid bool `json:"unsaid"`
}

// refused is an entry that memory does not take.
type refused struct {
	Line int         `json:"line"`
	Code memory.Code `json:"code"`
	Why  string      `json:"why"`
}

func (p *program) load(ctx context.Context, path, from, ref, secretsOf string) (err error) {
	if p.tenant == "" {
		return misuse("say whose memory: -tenant ID")
	}
	f, err := formatOf(from)
	if err != nil {
		return err
	}
	registry, err := secrets(secretsOf, p.environ, f.foreign)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	done := imported{what: f.what, Refused: []refused{}, Unsaid: !f.foreign}
	bound := map[located]string{} // by what a commitment of the file rests on, the id of the entry here
	if err := f.readFrom(file, func(_ int, l line) error { return done.foresee(l, bound) }); err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if done.Entries == 0 {
		return advice("the file has no entry; nothing was imported: name a file that has " + f.about)
	}
	at, err := p.open(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	job, err := at.job(p.tenant, registry)
	if err != nil {
		return err
	}
	working := p.progress("imported", done.Entries, "entry", "entries")
	same := map[[sha256.Size]byte]int{} // how often an entry has come
	err = f.readFrom(file, func(n int, l line) error {
		if l.commitment != nil || l.last != nil {
			return nil
		}
		if f.foreign {
			l.Ref = ref
		}
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		same[sum]++
		key := fmt.Sprintf("agentmemory-import:%s:%d", hex.EncodeToString(sum[:]), same[sum])
		id, err := done.put(ctx, job, n, l, key)
		if was := (located{l.Ref, l.Entry.ID}); err == nil && id != "" {
			if _, rests := bound[was]; rests {
				bound[was] = id
			}
		}
		working.step()
		return err
	})
	working.end()
	if err == nil {
		err = done.restore(ctx, at, job, bound, func(each func(int, line) error) error {
			return f.readFrom(file, each)
		})
	}
	if err != nil {
		return fmt.Errorf("the import stopped after %s: %w; the same command goes on there", count(working.done, "entry", "entries"), err)
	}
	if err := job.End(ctx); err != nil {
		return err
	}
	return p.told(done)
}

// readFrom reads a file from its beginning.
func (f format) readFrom(file *os.File, each func(int, line) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return advice("the import is read twice, so it must be a file and no pipe")
	}
	return f.read(file, each)
}

// foresee counts the entries of a file, and notes on which of them commitments rest.
func (done *imported) foresee(l line, bound map[located]string) error {
	switch {
	case l.last != nil:
		done.Unsaid = false
	case l.commitment == nil:
		done.Entries++
	case l.commitment.MemoryID != "":
		bound[located{l.commitment.Ref, l.commitment.MemoryID}] = ""
	}
	return nil
}

// restore makes the commitments of a file what they were, on the entries that are here now.
func (done *imported) restore(ctx context.Context, at *session, job *memory.Job, bound map[located]string,
	read func(func(int, line) error) error) error {
	engine, err := at.commitments()
	if err != nil {
		return err
	}
	return read(func(n int, l line) error {
		if l.commitment == nil {
			return nil
		}
		c := l.commitment.Commitment
		if c.MemoryID != "" {
			c.MemoryID = bound[located{c.Ref, c.MemoryID}]
			if c.MemoryID == "" {
				done.Unbound++
				return nil
			}
		}
		_, err := engine.Restore(ctx, job, c)
		switch code := memory.CodeOf(err); {
		case err == nil:
			done.Commitments++
		case code == memory.CodeNotFound:
			done.Unbound++
		case code == memory.CodeValidation, code == memory.CodeSecretLeakage, code == memory.CodeForbidden:
			done.Refused = append(done.Refused, refused{n, code, err.Error()})
		default:
			return err
		}
		return nil
	})
}

// put writes one entry, under a key by which the same entry of the same file is known again. It
// returns the id of the entry, which is empty if there is none.
func (done *imported) put(ctx context.Context, job *memory.Job, n int, l line, key string) (string, error) {
	draft := memory.Draft{Content: l.Entry.Content, ExpiresAt: l.Entry.ExpiresAt, CreatedAt: l.Entry.CreatedAt, Subjects: l.Subjects, Key: key}
	for _, tag := range l.Entry.Tags {
		if !strings.HasPrefix(tag, memory.CompactedPrefix) && !strings.HasPrefix(tag, memory.ArchivePrefix) {
			draft.Tags = append(draft.Tags, tag)
		}
	}
	if !l.Entry.LiveAt(job.Now()) {
		done.Expired++
		return "", nil
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
		return "", err
	}
	return written.ID, nil
}

// told prints what an import did. Entries that were refused are an error.
func (p *program) told(done imported) error {
	if p.json {
		if err := printJSON(p.out, done); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%s: %d written, %d there already, %d deleted since, %d expired, %d refused\n",
			count(done.Entries, "entry", "entries"), done.Written, done.Present, done.Deleted, done.Expired, len(done.Refused))
		if done.Untagged > 0 {
			fmt.Fprintf(p.out, "%s written without the tags of a compaction, which only a bank writes\n", count(done.Untagged, "was", "were"))
		}
		if n := done.Commitments + done.Unbound; n > 0 {
			fmt.Fprintf(p.out, "%s as they were, %d left out with their entries\n",
				count(done.Commitments, "commitment", "commitments"), done.Unbound)
		}
		for _, r := range done.Refused {
			fmt.Fprintf(p.out, "%s %d: %s\n", done.what, r.Line, r.Why)
		}
		if done.Unsaid {
			fmt.Fprintln(p.out, "the file does not say how far reminders had come: those that a host finds in these "+
				"entries are new, and what had fired or was canceled fires again")
		}
	}
	if n := len(done.Refused); n > 0 {
		return fmt.Errorf("%d refused: mend the file and import it again", n)
	}
	return nil
}
