//go:build unix

package pgcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// childrenOf lists the processes that pid started itself, as far as the system tells by /proc.
func childrenOf(pid int) []int {
	var children []int
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		child, err := strconv.Atoi(filepath.Base(name))
		if _, parent := status(child); err == nil && parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// running reports whether a process runs still. One that has ended and was not waited for does
// not.
func running(pid int) bool {
	state, _ := status(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// status is the state and the parent of a process, or 0 if there is none.
func status(pid int) (state byte, parent int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}
