package inspector

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"net/http"
	"strings"
)

//go:embed page.html
var page string

// policy lets the page run its own script and style, ask its own host, and nothing else.
var policy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"script-src " + digest("script") + "; style-src " + digest("style")

// digest is the hash of the page's one element of a name, as a policy has it.
func digest(element string) string {
	_, rest, _ := strings.Cut(page, "<"+element+">")
	text, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func servePage(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	_, err := w.Write([]byte(page))
	return err
}
