package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	hexits = "0123456789abcdef"
)

func randomOf(rnd *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(b)
}

// redactSecrets makes n different secrets of 20 to 64 characters. A third of them
// begin with one of five prefixes, one in ten is hex.
func redactSecrets(n int) []string {
	rnd := rand.New(rand.NewPCG(11, uint64(n)))
	prefixes := []string{"sk-live-", "ghp_", "AKIA", "xoxb-", "glpat-"}
	list := make([]string, n)
	for i := range list {
		size := 20 + rnd.IntN(45)
		switch kind := rnd.IntN(30); {
		case kind < 10:
			p := prefixes[rnd.IntN(len(prefixes))]
			list[i] = p + randomOf(rnd, base62, size-len(p))
		case kind < 13:
			list[i] = randomOf(rnd, hexits, size)
		default:
			list[i] = randomOf(rnd, base62, size)
		}
	}
	return list
}

// redactText makes about size bytes of prose, Go, JSON and logs in turn. between
// is called after each paragraph with the length so far, and its result added.
func redactText(size int, between func(sofar int) string) string {
	rnd := rand.New(rand.NewPCG(12, 0))
	words := strings.Fields(`the of and a to in is you that it he was for on are as with his they I at be this have from
		or one had by word but not what all were we when your can said there use an each which she do how their if will up
		other about out many then them these so some her would make like him into time has look two more write go see number
		no way could people my than first water been call who oil its now find long down day did get come made may part`)
	word := func() string { return words[rnd.IntN(len(words))] }
	paragraphs := []func(*strings.Builder){
		func(b *strings.Builder) {
			for range 40 + rnd.IntN(40) {
				b.WriteString(word())
				b.WriteString([]string{" ", " ", " ", " ", " ", ", ", ". "}[rnd.IntN(7)])
			}
			b.WriteByte('\n')
		},
		func(b *strings.Builder) {
			fmt.Fprintf(b, "func (s *%sStore) %s(ctx context.Context, id string) (*%s, error) {\n", word(), word(), word())
			for range 3 + rnd.IntN(6) {
				fmt.Fprintf(b, "\tif err := s.%s(ctx, %q, %d); err != nil {\n\t\treturn nil, fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", word(), word(), rnd.IntN(1000), word(), word())
			}
			b.WriteString("\treturn s.items[id], nil\n}\n")
		},
		func(b *strings.Builder) {
			b.WriteString(`{"items":[`)
			for range 3 + rnd.IntN(6) {
				fmt.Fprintf(b, `{"id":"%s-%s","name":"%s %s","count":%d,"tags":["%s","%s"],"ok":true},`,
					randomOf(rnd, hexits, 8), randomOf(rnd, hexits, 12), word(), word(), rnd.IntN(100000), word(), word())
			}
			b.WriteString("null]}\n")
		},
		func(b *strings.Builder) {
			for range 4 + rnd.IntN(8) {
				fmt.Fprintf(b, "2026-03-%02dT%02d:%02d:%02d.%03dZ INFO %s %s trace=%s user=%d took=%dms path=/v1/%s/%s\n",
					1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000), word(), word(), randomOf(rnd, hexits, 32), rnd.IntN(1e6), rnd.IntN(1000), word(), randomOf(rnd, base62, 12))
			}
		},
	}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		paragraphs[i%len(paragraphs)](&b)
		if between != nil {
			b.WriteString(between(b.Len()))
		}
	}
	return b.String()[:size]
}
