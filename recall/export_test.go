package recall

import (
	"strings"
	"testing"

	"github.com/openwop/agentmemory/memory"
)

// SmallImages has images written of a few entries, in pages of a few.
func SmallImages(t *testing.T) {
	entries, bytes := imageMin, pageBytes
	imageMin, pageBytes = 2, 600
	t.Cleanup(func() { imageMin, pageBytes = entries, bytes })
}

// Words returns the other words that the index of a ref has.
func (r *Ranker) Words(tenant, ref string) (words []string) {
	for t := range r.indexOf(memory.Scope{Tenant: tenant, Ref: ref}).index.terms {
		if word, is := strings.CutPrefix(t, otherPrefix); is {
			words = append(words, word)
		}
	}
	return words
}
