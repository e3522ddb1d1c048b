package events

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// lineStart is how every line of a log file begins.
const lineStart = `{"eventId":"`

var errNoLog = &InvalidError{Rule: "is no line of a log of events"}

// scanLines gives the events of every whole batch to each, with their tenants and with
// where their lines begin, and returns where the last whole batch ends. What follows it is the start of a batch
// whose writing was interrupted, or nothing. Anything else is an error with the
// line's number.
func scanLines(r io.Reader, each func(ev RunEvent, at int64) error) (end int64, err error) {
	in := bufio.NewReader(r)
	var batch []RunEvent
	var starts []int64   // of the lines of the batch
	var more, size int64 // lines to come, bytes so far, of the batch
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			// Zeros are what some file systems leave of a write that a crash cut short.
			tail := string(bytes.TrimRight(line, "\x00"))
			if n := min(len(tail), len(lineStart)); tail[:n] != lineStart[:n] {
				return 0, broken(number, errNoLog)
			}
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		ev, left, err := readLine(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && len(batch) > 0 && left != more-1 {
			err = &InvalidError{Rule: "is not the next line of its batch"}
		}
		if err != nil {
			return 0, broken(number, err)
		}
		batch, starts, more, size = append(batch, ev), append(starts, end+size), left, size+int64(len(line))
		if more > 0 {
			continue
		}
		for i, ev := range batch {
			if err := each(ev, starts[i]); err != nil {
				return 0, broken(number-len(batch)+1+i, err)
			}
		}
		batch, starts, end, size = batch[:0], starts[:0], end+size, 0
	}
}

// readLine reads a line and how many of its batch are to come.
func readLine(line []byte) (ev RunEvent, more int64, err error) {
	doc, err := parse(line)
	if err != nil {
		return ev, 0, &InvalidError{Rule: err.Error()}
	}
	ev, err = readEvent(doc, line)
	if err != nil {
		return ev, 0, err
	}
	own, ok := doc.(map[string]any)["x-agentmemory"].(map[string]any)
	if !ok {
		return ev, 0, errNoLog
	}
	f := &fields{check: &check{}, m: own, path: "/x-agentmemory"}
	ev.Tenant, more = f.required("tenant"), f.integer("more")
	f.check.integer("/x-agentmemory/more", more, 0)
	return ev, more, f.err()
}

func broken(line int, err error) error {
	return fmt.Errorf("events: line %d of the file is broken: %w", line, err)
}
