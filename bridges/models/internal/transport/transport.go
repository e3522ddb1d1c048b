package transport

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/openwop/agentmemory/bridges/models"
)

// MaxBody bounds the body of an answer in bytes.
const MaxBody = 8 << 20

var errTooLong = errors.New("the answer is too long")

// Bound is a middleware of both SDKs, by which reading a body of more than MaxBody fails.
func Bound(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if res != nil && res.Body != nil {
		res.Body = &bounded{res.Body, MaxBody}
	}
	return res, err
}

type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Failed is the error for a request that was answered with an error, or not at all; then res is nil.
func Failed(res *http.Response, err error) error {
	e := &models.Error{Kind: models.CodeUnavailable, Again: true, Err: err}
	switch {
	case errors.Is(err, errTooLong):
		e.Kind, e.Again = models.CodeUnusable, false
	case res == nil || res.StatusCode < 400:
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusConflict,
		res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500:
		e.After = after(res.Header)
	default:
		e.Kind, e.Again = models.CodeRejected, false
	}
	return e
}

// after is how long a service asks to wait.
func after(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(s, time.Second)
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// duration is between nothing and a day, whatever a header says.
func duration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, float64(24*time.Hour/unit)) * float64(unit))
}
