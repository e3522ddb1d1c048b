package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// ErrBroken is returned by a [File] once writing failed. What the disk holds is
// not known then; only opening the file again finds out.
var ErrBroken = errors.New("events: the log file failed and has to be opened again")

// File is a [RunLog] in a file. It drops an id that the run's log already has, also one
// from before the file was opened again. A tenant is not taken out of a file: a host that
// has to be able to let go of one gives it a file of its own.
//
// A call of Emit is one write and one fsync. When it returns nil, its records are
// on the disk. After a crash at any point a call's records are in the log all
// together or not at all, and what was acknowledged is there.
//
// The file holds one RunEventDoc a line. The document is open, and every line has
// one more field for the log itself, by which a batch that was torn is recognised:
//
//	"x-agentmemory":{"tenant":"t1","more":2}
//
// That is the tenant, which is on no wire, and how many lines of the same call are
// still to follow. Ids of all events are held in memory, with where each line begins; payloads are not.
//
// All methods are safe for concurrent use. One File at a time may have a path open;
// where the system has flock, a second one is refused.
type File struct {
	mu     sync.Mutex
	f      storage
	size   int64 // where the committed batches end
	ledger ledger
	err    error // why nothing can be written any more
}

var _ RunLog = (*File)(nil)

// storage is what a File needs of an [os.File].
type storage interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// place is the field of a line that is the file's own.
type place struct {
	Tenant string `json:"tenant"`
	More   int    `json:"more"`
}

// OpenFile opens or makes the log at path, for its owner only to read. A batch
// that a crash tore is cut off: it was never acknowledged. Any other broken line
// is an error that says its number and matches [ErrInvalid]; then nothing in the
// file is changed.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("events: %s is open already: %w", path, err), f.Close())
	}
	file, err := openStorage(f)
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return file, nil
}

func openStorage(f storage) (*File, error) {
	file := &File{f: f}
	size, err := scanLines(io.NewSectionReader(f, 0, 1<<62), func(ev RunEvent, at int64) error {
		if placed, fresh := file.ledger.admit(ev.Record, at); !fresh || placed.Sequence != ev.Sequence {
			return &InvalidError{Rule: "has an event that is there already, or a wrong sequence"}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	// What is read may not have reached the disk yet. It has to before an event in
	// it is acknowledged as known.
	if err := f.Sync(); err != nil {
		return nil, err
	}
	file.size = size
	return file, nil
}

// Emit appends the records in one write and one fsync; without any that is new it
// does neither. The error matches [ErrInvalid] when a record is invalid, [ErrTaken] when
// an id has another payload, and [ErrBroken] when this or an earlier call failed to write;
// but for the last, and when the context is done, nothing was written.
func (f *File) Emit(ctx context.Context, recs ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := validate(recs); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	err := f.ledger.check(recs, func(at int64) (Payload, error) {
		ev, _, err := f.line(at, f.size)
		return ev.Payload, err
	})
	if err != nil {
		return err
	}
	if err := f.append(recs); err != nil {
		f.err = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.err
	}
	return nil
}

// append changes the ledger before it writes, so that after an error the file may
// not be used.
func (f *File) append(recs []Record) error {
	var fresh []RunEvent
	for _, rec := range recs {
		if ev, ok := f.ledger.admit(rec, f.size); ok {
			fresh = append(fresh, ev)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf) // ends every line
	for i, ev := range fresh {
		f.ledger.moved(&ev, f.size+int64(buf.Len()))
		w, err := wire(ev)
		if err != nil {
			return err
		}
		w.File = &place{Tenant: ev.Tenant, More: len(fresh) - 1 - i}
		if err := enc.Encode(w); err != nil {
			return err
		}
	}
	if _, err := f.f.WriteAt(buf.Bytes(), f.size); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	f.size += int64(buf.Len())
	return nil
}

// Read returns events of a run from a sequence on, see [RunLog]. It reads their lines and
// no others.
func (f *File) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]RunEvent, error) {
	f.mu.Lock()
	size, page := f.size, f.ledger.page(tenant, runID, from, limit)
	f.mu.Unlock()
	var out []RunEvent
	bytes := 0
	for _, at := range page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if at >= size || bytes > pageBytes {
			break // what was not written whole is in no answer
		}
		ev, n, err := f.line(at, size)
		if err != nil {
			return nil, err
		}
		out, bytes = append(out, ev), bytes+n
	}
	return out, ctx.Err()
}

// line reads the event whose line begins at a place, and says how long the line is.
func (f *File) line(at, size int64) (RunEvent, int, error) {
	line, err := bufio.NewReader(io.NewSectionReader(f.f, at, size-at)).ReadBytes('\n')
	if err != nil {
		return RunEvent{}, 0, err
	}
	ev, _, err := readLine(line[:len(line)-1])
	return ev, len(line), err
}

// Close closes the file. Everything that was acknowledged is on the disk already.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = os.ErrClosed
	return f.f.Close()
}
