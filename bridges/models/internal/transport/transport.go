package transport

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/memory"
)

// MaxBody bounds the body of an answer in bytes.
const MaxBody = 8 << 20

var errTooLong = errors.New("the answer is too long")

var errRedirected = errors.New("the request was redirected to nowhere")

// Bound is a middleware of both SDKs, by which reading a body of more than MaxBody fails, and so does a
// redirect that was not followed, which the SDKs would read as an answer.
func Bound(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if res == nil || res.Body == nil {
		return res, err
	}
	if err == nil && res.StatusCode >= 300 && res.StatusCode < 400 {
		res.Body.Close()
		return nil, errRedirected
	}
	res.Body = &bounded{res.Body, MaxBody}
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

// Failed is the error for a request that was answered with an error, whose body said what, or not at all; then res
// is nil.
func Failed(res *http.Response, said string, err error) error {
	e := &models.Error{Kind: models.CodeUnavailable, Again: true, Err: err}
	switch {
	case errors.Is(err, errTooLong):
		e.Kind, e.Again = models.CodeUnusable, false
	case res == nil || res.StatusCode < 400:
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusConflict,
		res.StatusCode == http.StatusTooManyRequests, res.StatusCode >= 500:
		e.After = after(res.Header)
	default:
		e.Kind, e.Again = rejected(res.StatusCode, said), false
	}
	return e
}

// What services say, in a bad request's code or message, of a prompt that a filter stopped or that is too long.
var (
	filtered = []string{"content_filter", "content filter", "content_policy", "invalid_prompt"}
	tooLong  = []string{"context_length", "context length", "context size", "prompt is too long"}
)

// rejected tells whether it is the text of a prompt for which a request was not taken. Then another prompt may be,
// and one note must not keep the others from being looked at.
func rejected(status int, said string) memory.Code {
	if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity {
		said = strings.ToLower(said)
		in := func(word string) bool { return strings.Contains(said, word) }
		switch {
		case slices.ContainsFunc(filtered, in):
			return models.CodeRefused
		case slices.ContainsFunc(tooLong, in):
			return models.CodeUnusable
		}
	}
	return models.CodeRejected
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

// duration is between nothing and a day, also if a header says more.
func duration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, float64(24*time.Hour/unit)) * float64(unit))
}
