//go:build !unix

package pgcluster

import "context"

type home struct{}

type server struct{}

func newHome(context.Context, string) (*home, error) { return nil, ErrNoServer }

func (*home) dsn() string                            { return "" }
func (*home) serve(context.Context) (*server, error) { return nil, ErrNoServer }
func (*home) remove() error                          { return nil }

func (*server) kill() error { return nil }
func (*server) quit() error { return nil }
