//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package events

import "os"

func lock(*os.File) error { return nil }

func syncDir(string) error { return nil }
