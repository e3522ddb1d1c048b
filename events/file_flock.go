//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package events

import (
	"errors"
	"os"
	"syscall"
)

// lock makes sure that no other File has the file open, in any process. It ends
// with the file's closing.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// syncDir makes a new file's name durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
