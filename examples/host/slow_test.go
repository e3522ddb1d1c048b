package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are in memory, so that a test owns the clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A body that never comes to its end holds a handler no longer than the request's time, and an
// answer may take longer.
func TestASlowBodyEnds(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		arrives bool
	}{
		"a slow body": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{", false},
		"a body":      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}", true},
		"no body":     {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				server := newServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					began := time.Now() // of the test's clock
					_, err := io.ReadAll(r.Body)
					if !c.arrives {
						require.Error(t, err)
						require.LessOrEqual(t, time.Since(began), requestTime)
						return
					}
					require.NoError(t, err)
					select {
					case <-r.Context().Done():
						t.Error("the answer was cut off")
					case <-time.After(100 * requestTime):
					}
				}))
				served := make(chan error)
				go func() { served <- server.Serve(listener) }()
				here, there := net.Pipe()
				listener.conns <- there
				go func() { _, _ = io.WriteString(here, c.request) }()
				answer, err := http.ReadResponse(bufio.NewReader(here), nil)
				require.NoError(t, err)
				require.Equal(t, !c.arrives, answer.Close, "the connection of a slow body ends")
				require.NoError(t, server.Close())
				require.ErrorIs(t, <-served, http.ErrServerClosed)
				require.NoError(t, here.Close())
			})
		})
	}
}
