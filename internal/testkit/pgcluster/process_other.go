//go:build !unix

package pgcluster

import (
	"os"
	"os/exec"
)

func separate(*exec.Cmd) error  { return ErrNoServer }
func killAll(*os.Process) error { return ErrNoServer }
