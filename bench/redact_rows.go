package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/redact"
)

const redactSize = 64 << 10

// redactRows measures the redaction of 64 KB of text. Unless a row says
// otherwise, encoded forms are off on our side, since the peers do not look for
// them, and the figures are MB/s of text.
//
// The peer strings.NewReplacer is given the values longest first. It does not
// cover overlapping values as one; in these texts there are none, and the results
// are compared before anything is timed.
func redactRows() []row {
	prose := func([]string) string { return redactText(redactSize, nil) }
	note := func([]string) string { return redactText(1<<10, nil) }
	var rows []row
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		rows = append(rows, redactRow("nohit", n, redactSecrets, prose))
	}
	rows = append(rows,
		redactRow("hit4k", 100, redactSecrets, hitEvery4K),
		redactRow("dense", 100, redactSecrets, halfSecret),
		redactRow("text1k", 100, redactSecrets, note),
		streamRow(100))
	rows = append(rows, hostileRows(100)...)
	return append(rows, encodedRow(100), derivedRow(100), buildRow(1000), rebuildRow(1000))
}

func hitEvery4K(secrets []string) string {
	rnd := rand.New(rand.NewPCG(13, 0))
	next := 2 << 10
	return redactText(redactSize, func(sofar int) string {
		if sofar < next {
			return ""
		}
		next += 4 << 10
		return "key=" + secrets[rnd.IntN(len(secrets))] + "\n"
	})
}

// halfSecret has as many bytes of secrets as of other text, in pieces of a line.
func halfSecret(secrets []string) string {
	rnd := rand.New(rand.NewPCG(14, 0))
	plain := redactText(redactSize/2, nil)
	var b strings.Builder
	for b.Len() < redactSize && plain != "" {
		s := secrets[rnd.IntN(len(secrets))]
		b.WriteString(s + " ")
		n := min(len(plain), len(s))
		b.WriteString(plain[:n] + " ")
		plain = plain[n:]
	}
	return b.String()
}

func registryOf(secrets []string, cfg redact.Config) (*redact.SecretRegistry, error) {
	r := redact.New(cfg)
	for i, s := range secrets {
		if err := r.Register(fmt.Sprintf("secret-%05d", i), []byte(s)); err != nil {
			return nil, err
		}
	}
	_, err := r.Redact("")
	return r, err
}

func replacerOf(secrets []string) *strings.Replacer {
	order := make([]int, len(secrets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(secrets[b]), len(secrets[a])) })
	var pairs []string
	for _, i := range order {
		pairs = append(pairs, secrets[i], fmt.Sprintf("[REDACTED:secret-%05d]", i))
	}
	return strings.NewReplacer(pairs...)
}

var errDiffer = errors.New("the results differ")

// redactRow redacts one text: with hits by Append into a buffer that is large
// enough, without hits by Redact.
func redactRow(name string, n int, secretsOf func(int) []string, textOf func([]string) string) row {
	return row{name: fmt.Sprintf("redact/%s/n=%d", name, n), peer: "strings.NewReplacer", setup: func() (sides, error) {
		secrets := secretsOf(n)
		text := textOf(secrets)
		r, err := registryOf(secrets, redact.Config{PlainOnly: true})
		if err != nil {
			return sides{}, err
		}
		peer := replacerOf(secrets)
		want := peer.Replace(text)
		in, buf := []byte(text), make([]byte, 0, 4*len(text))
		s := sides{
			check: func() error {
				got, err := r.Redact(text)
				app, err2 := r.Append(nil, in)
				if err := errors.Join(err, err2); err != nil {
					return err
				}
				if got != want || string(app) != want || (name == "hit4k" || name == "dense") == (want == text) {
					return errDiffer
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
					_ = peer.Replace(text)
				}
			},
			bytes: len(text),
		}
		if want == text {
			s.ours = func(n int) {
				for range n {
					_, _ = r.Redact(text)
				}
			}
		}
		return s, nil
	}}
}

// streamRow writes the text of hit4k through a writer in chunks of 1 KB, against
// strings.NewReplacer on the whole text, which it writes at once.
func streamRow(n int) row {
	return row{name: fmt.Sprintf("redact/stream/n=%d", n), peer: "strings.NewReplacer", setup: func() (sides, error) {
		secrets := redactSecrets(n)
		text := hitEvery4K(secrets)
		r, err := registryOf(secrets, redact.Config{PlainOnly: true})
		if err != nil {
			return sides{}, err
		}
		peer := replacerOf(secrets)
		in := []byte(text)
		stream := func(w io.Writer) error {
			out := r.NewWriter(w)
			for chunk := range slices.Chunk(in, 1<<10) {
				if _, err := out.Write(chunk); err != nil {
					return err
				}
			}
			return out.Close()
		}
		return sides{
			check: func() error {
				var got bytes.Buffer
				if err := stream(&got); err != nil {
					return err
				}
				if got.String() != peer.Replace(text) {
					return errDiffer
				}
				return nil
			},
			ours: func(n int) {
				for range n {
					_ = stream(io.Discard)
				}
			},
			theirs: func(n int) {
				for range n {
					_, _ = peer.WriteString(io.Discard, text)
				}
			},
			bytes: len(text),
		}, nil
	}}
}

// encodedRow is the price of looking for encoded forms too: ours with them,
// theirs is our own registry without.
func encodedRow(n int) row {
	return row{name: fmt.Sprintf("redact/encoded/n=%d", n), peer: "without encoded forms", setup: func() (sides, error) {
		secrets := redactSecrets(n)
		text := redactText(redactSize, nil)
		with, err := registryOf(secrets, redact.Config{})
		if err != nil {
			return sides{}, err
		}
		without, err := registryOf(secrets, redact.Config{PlainOnly: true})
		if err != nil {
			return sides{}, err
		}
		side := func(r *redact.SecretRegistry) func(int) {
			return func(n int) {
				for range n {
					_, _ = r.Redact(text)
				}
			}
		}
		return sides{ours: side(with), theirs: side(without), bytes: len(text)}, nil
	}}
}

// derivedRow is RedactDerived on a text that has nothing to replace.
func derivedRow(n int) row {
	return row{name: fmt.Sprintf("redact/derived/n=%d", n), setup: func() (sides, error) {
		text := redactText(redactSize, nil)
		r, err := registryOf(redactSecrets(n), redact.Config{})
		if err != nil {
			return sides{}, err
		}
		return sides{ours: func(n int) {
			for range n {
				_, _ = r.RedactDerived(text)
			}
		}, bytes: len(text)}, nil
	}}
}

// buildRow registers n secrets in an empty registry and makes it ready to redact.
func buildRow(n int) row {
	return row{name: fmt.Sprintf("redact/build/n=%d", n), setup: func() (sides, error) {
		secrets := redactSecrets(n)
		return sides{ours: func(times int) {
			for range times {
				r, _ := registryOf(secrets, redact.Config{})
				r.Close()
			}
		}}, nil
	}}
}

// rebuildRow changes one of n secrets and makes the registry ready to redact again.
func rebuildRow(n int) row {
	return row{name: fmt.Sprintf("redact/rebuild/n=%d", n), setup: func() (sides, error) {
		r, err := registryOf(redactSecrets(n), redact.Config{})
		if err != nil {
			return sides{}, err
		}
		return sides{ours: func(times int) {
			for i := range times {
				r.Unregister("changing")
				_ = r.Register("changing", fmt.Appendf(nil, "a value that changes: %d", i))
				_, _ = r.Redact("")
			}
		}}, nil
	}}
}
