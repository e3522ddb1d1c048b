package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	ahocorasick "github.com/BobuSumisu/aho-corasick"
	"github.com/openwop/agentmemory/redact"
)

// hostileRows are 64 KB of text made to cost as much as possible, with n secrets. The peer is an
// Aho–Corasick automaton that reports every occurrence; a few lines of ours make
// the same output of them, and it is compared before anything is timed.
func hostileRows(n int) []row {
	prefix := "sk-live-0123456789abcdef"
	cases := []struct {
		name   string
		secret func(rnd *rand.Rand) string
		text   func(rnd *rand.Rand) string
	}{
		// aaaa… and secrets that begin so but never end so.
		{"aaaa", func(rnd *rand.Rand) string {
			return strings.Repeat("a", 20+rnd.IntN(40)) + randomOf(rnd, base62[1:], 4)
		}, func(*rand.Rand) string { return strings.Repeat("a", redactSize) }},
		// aaaa… in which every place is a hit.
		{"aaaahit", func(rnd *rand.Rand) string {
			return strings.Repeat("a", 20+rnd.IntN(12)) + strings.Repeat("b", rnd.IntN(3))
		}, func(*rand.Rand) string { return strings.Repeat("a", redactSize) }},
		// The prefix that all secrets share, with wrong ends.
		{"prefix", func(rnd *rand.Rand) string { return prefix + randomOf(rnd, base62, 8+rnd.IntN(32)) },
			func(rnd *rand.Rand) string {
				var b strings.Builder
				for b.Len() < redactSize {
					b.WriteString(prefix + randomOf(rnd, base62, 2))
				}
				return b.String()
			}},
		// Hex among hex.
		{"hex", func(rnd *rand.Rand) string { return randomOf(rnd, hexits, 20+rnd.IntN(45)) },
			func(rnd *rand.Rand) string { return randomOf(rnd, hexits, redactSize) }},
	}
	var rows []row
	for _, c := range cases {
		rows = append(rows, row{name: fmt.Sprintf("redact/hostile/%s/n=%d", c.name, n), peer: "BobuSumisu/aho-corasick", setup: func() (sides, error) {
			rnd := rand.New(rand.NewPCG(15, uint64(n)))
			seen := map[string]bool{}
			var secrets []string
			for range n {
				if s := c.secret(rnd); !seen[s] {
					seen[s] = true
					secrets = append(secrets, s)
				}
			}
			return hostileSides(secrets, c.text(rnd))
		}})
	}
	return rows
}

func hostileSides(secrets []string, text string) (sides, error) {
	r, err := registryOf(secrets, redact.Config{PlainOnly: true})
	if err != nil {
		return sides{}, err
	}
	peer := newPeerAutomaton(secrets)
	in, buf, peerBuf := []byte(text), make([]byte, 0, 8*len(text)), make([]byte, 0, 8*len(text))
	return sides{
		check: func() error {
			for range 100 { // until ours has seen enough to change its ways
				got, err := r.Append(buf, in)
				if err != nil {
					return err
				}
				if !bytes.Equal(got, peer.redact(peerBuf, in)) {
					return errors.Join(errDiffer)
				}
			}
			return nil
		},
		ours: func(n int) {
			for range n {
				_, _ = r.Append(buf, in)
			}
		},
		theirs: func(n int) {
			for range n {
				_ = peer.redact(peerBuf, in)
			}
		},
		bytes: len(text),
	}, nil
}

// peerAutomaton makes a redactor of the peer: the longest match at each start,
// and a marker for each one that extends what is covered.
type peerAutomaton struct {
	trie    *ahocorasick.Trie
	markers []string
	longest []int32 // by start: length, and pattern
	pattern []int32
}

func newPeerAutomaton(secrets []string) *peerAutomaton {
	p := &peerAutomaton{trie: ahocorasick.NewTrieBuilder().AddStrings(secrets).Build()}
	for i := range secrets {
		p.markers = append(p.markers, fmt.Sprintf("[REDACTED:secret-%05d]", i))
	}
	return p
}

func (p *peerAutomaton) redact(dst, text []byte) []byte {
	if len(p.longest) < len(text) {
		p.longest, p.pattern = make([]int32, len(text)), make([]int32, len(text))
	}
	clear(p.longest)
	found := false
	p.trie.Walk(text, func(end, n, pattern int64) bool {
		if start := end - n + 1; p.longest[start] < int32(n) {
			p.longest[start], p.pattern[start], found = int32(n), int32(pattern), true
		}
		return true
	})
	if !found {
		return append(dst, text...)
	}
	covered := 0
	for i := range text {
		if end := i + int(p.longest[i]); end > i && end > covered {
			dst = append(dst, p.markers[p.pattern[i]]...)
			covered = end
		}
		if i >= covered {
			dst = append(dst, text[i])
		}
	}
	return dst
}
