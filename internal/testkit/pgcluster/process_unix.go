//go:build unix

package pgcluster

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// separate gives a command a process group of its own, so that an interrupt of the test is not for
// it, and another user if this one is root, whom the server refuses.
func separate(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("pgcluster: the server refuses to run as root: %w", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// killAll kills the server and its children, which are in process groups of their own. The server is
// stopped first, so that it makes no more of them: one that it was making as it stopped is met the next time.
func killAll(server *os.Process) error {
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for some := true; some; time.Sleep(tick) {
		some = false
		for _, pid := range childrenOf(server.Pid) {
			some = some || running(pid)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
		}
	}
	return server.Kill()
}

// childrenOf lists the processes that pid started itself, as far as the system tells by /proc.
func childrenOf(pid int) (children []int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for _, child := range strings.Fields(string(list)) {
		n, _ := strconv.Atoi(child)
		children = append(children, n)
	}
	return children
}

// running reports whether a process runs still, as far as the system tells by /proc. One that has
// ended and was not waited for has no command any more.
func running(pid int) bool {
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return len(command) > 0
}
