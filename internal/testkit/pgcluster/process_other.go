//go:build unix && !linux

package pgcluster

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has no means here: the server stops when it misses its files.
func dieWithParent(*syscall.SysProcAttr) {}

// childrenOf lists the processes that pid started itself.
func childrenOf(pid int) []int {
	var children []int
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(fields[0]); err == nil {
			children = append(children, child)
		}
	}
	return children
}

func running(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
