//go:build !unix

package pgcluster

import "context"

type home struct{ bin, dir string }

type server struct{}

func newHome(context.Context, string, func(context.Context, *home) error) (*home, error) {
	return nil, ErrNoServer
}
func initdb(context.Context, *home) error { return ErrNoServer }

func (*home) dsn() string                                       { return "" }
func (*home) serve(context.Context, ...string) (*server, error) { return nil, ErrNoServer }
func (*home) remove() error                                     { return nil }

func (*server) kill() error { return nil }
func (*server) quit() error { return nil }

func (*home) run(context.Context, string, ...string) error               { return ErrNoServer }
func (*home) launch(context.Context, string, ...string) (*server, error) { return nil, ErrNoServer }
func (*home) add(string, string) error                                   { return ErrNoServer }
func (*home) program(name string) string                                 { return name }
func (*home) data() string                                               { return "" }
func (*home) log() string                                                { return "" }
func (*server) running() bool                                            { return false }
