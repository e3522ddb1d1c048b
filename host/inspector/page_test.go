package inspector

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page is one file that loads nothing, and its policy lets nothing but its own script run. That
// it does not is shown in a browser, by the module pagetest.
func TestI4_PageRunsItsOwnScriptOnly(t *testing.T) {
	x := inspect(t)
	w := x.do("GET", "", "/")
	require.Equal(t, 200, w.Code)
	body, said := w.Body.String(), w.Header().Get("Content-Security-Policy")
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		assert.Contains(t, said, want)
	}
	assert.NotContains(t, said, "unsafe")
	assert.Len(t, regexp.MustCompile(`(script|style)-src 'sha256-[A-Za-z0-9+/]{43}='`).FindAllString(said, -1), 2)
	for _, element := range []string{"script", "style"} {
		assert.Equal(t, 1, strings.Count(body, "<"+element), element)
	}
	// The only addresses are names of XML name spaces.
	for _, found := range regexp.MustCompile(`https?://[^'" )]*`).FindAllString(body, -1) {
		assert.Equal(t, "http://www.w3.org/2000/svg", found)
	}
	for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "document.cookie", " style=", "javascript:"} {
		assert.NotContains(t, body, way)
	}
}
