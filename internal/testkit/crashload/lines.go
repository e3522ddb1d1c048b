package crashload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// lines is a file of JSON values, one a line, that is only ever appended to. One
// append is one write to the kernel: it survives the death of the process, not that
// of the machine.
type lines struct {
	mu    sync.Mutex
	f     *os.File
	count int
	grown func(count int) // called after each append; nil outside of tests
}

// openLines opens a file, or makes it. What a process was writing when it died, and so
// never went on from, is cut off.
func openLines(name string) (*lines, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	if err == nil {
		err = f.Truncate(int64(bytes.LastIndexByte(content, '\n') + 1))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &lines{f: f, count: bytes.Count(content, []byte{'\n'})}, nil
}

// add appends values together and returns when the kernel has them.
func (l *lines) add(values ...any) error {
	var text []byte
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.f.Write(text); err != nil {
		return err
	}
	l.count += len(values)
	if l.grown != nil {
		l.grown(l.count)
	}
	return nil
}

// readLines returns all values of a file.
func readLines[T any](l *lines) ([]T, error) {
	content, err := os.ReadFile(l.f.Name())
	if err != nil {
		return nil, err
	}
	var all []T
	for i, text := range bytes.Split(bytes.TrimSuffix(content, []byte{'\n'}), []byte{'\n'}) {
		if len(text) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("crashload: line %d of a file of the load is not readable", i+1)
		}
		all = append(all, v)
	}
	return all, nil
}
