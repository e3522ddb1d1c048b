package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	minhashlsh "github.com/ekzhu/minhash-lsh"

	"github.com/openwop/agentmemory/consolidate"
)

const (
	alike   = 0.8 // Jaccard similarity from which on two notes are near-duplicates
	hashes  = 256 // of a MinHash signature: fewer miss the recall that is asked for
	minSeed = 1
)

// standingNotes makes a corpus of n notes of 8 to 40 words over a vocabulary whose
// frequencies follow Zipf's law. One in five is an edit of an earlier note: a word
// replaced, left out or put in. One in ten begins with one of a few boilerplate
// sentences.
func standingNotes(n int) []string {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	zipf := rand.NewZipf(r, 1.1, 20, 50_000)
	boilerplate := make([]string, 8)
	note := func(words int) string {
		var b strings.Builder
		for i := range words {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "w%x", zipf.Uint64())
		}
		return b.String()
	}
	for i := range boilerplate {
		boilerplate[i] = note(6+i) + ". "
	}
	notes := make([]string, n)
	for i := range notes {
		switch {
		case i > 0 && i%5 == 0:
			words := strings.Fields(notes[r.IntN(i)])
			at := r.IntN(len(words))
			switch r.IntN(3) {
			case 0:
				words[at] = note(1)
			case 1:
				words = append(words[:at], words[at+1:]...)
			default:
				words[at] += " " + note(1)
			}
			notes[i] = strings.Join(words, " ")
		case i%10 == 1:
			notes[i] = boilerplate[r.IntN(len(boilerplate))] + note(8+r.IntN(25))
		default:
			notes[i] = note(8 + r.IntN(33))
		}
	}
	return notes
}

// LastPairs is where results go, so that the compiler cannot leave out the work.
var LastPairs any

func again(f func()) func(int) {
	return func(n int) {
		for range n {
			f()
		}
	}
}

type couple struct{ a, b int }

// truePairs finds the near-duplicates by counting the shingles, as strings, that
// every two notes share.
func truePairs(notes []string) map[couple]bool {
	of := make([][]string, len(notes))
	holders := map[string][]int32{}
	for i, note := range notes {
		of[i] = shinglesOf(note)
		for _, s := range of[i] {
			holders[s] = append(holders[s], int32(i))
		}
	}
	found := map[couple]bool{}
	shared := make([]int, len(notes))
	for i := range notes {
		var seen []int32
		for _, s := range of[i] {
			for _, o := range holders[s] {
				if int(o) >= i {
					break
				}
				if shared[o] == 0 {
					seen = append(seen, o)
				}
				shared[o]++
			}
		}
		for _, o := range seen {
			if float64(shared[o]) >= alike*float64(len(of[i])+len(of[o])-shared[o]) {
				found[couple{int(o), i}] = true
			}
			shared[o] = 0
		}
	}
	return found
}

// shinglesOf are the distinct word 3-shingles of a note, whose words are lower-case
// letters, digits and single separators.
func shinglesOf(note string) []string {
	words := strings.FieldsFunc(note, func(r rune) bool { return r == ' ' || r == '.' })
	if len(words) < 3 {
		return []string{strings.Join(words, " ")}
	}
	seen := make(map[string]bool, len(words))
	out := make([]string, 0, len(words))
	for k := 0; k+3 <= len(words); k++ {
		s := strings.Join(words[k:k+3], " ")
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func ourPairs(notes []string, workers int) []consolidate.Pair {
	pairs, err := consolidate.NearDuplicates(context.Background(), notes, alike, workers)
	if err != nil {
		panic(err)
	}
	return pairs
}

// theirPairs is the peer's way to the same pairs: sign every note, index the
// signatures, ask for each note's candidates and compare the shingles of these.
func theirPairs(notes []string) []couple {
	index := minhashlsh.NewMinhashLSH32(hashes, alike-0.2)
	of := make([][]string, len(notes))
	signatures := make([][]uint64, len(notes))
	for i, note := range notes {
		of[i] = shinglesOf(note)
		m := minhashlsh.NewMinhash(minSeed, hashes)
		for _, s := range of[i] {
			m.Push([]byte(s))
		}
		signatures[i] = m.Signature()
		index.Add(i, signatures[i])
	}
	index.Index()
	var found []couple
	for i := range notes {
		in := make(map[string]bool, len(of[i]))
		for _, s := range of[i] {
			in[s] = true
		}
		for _, key := range index.Query(signatures[i]) {
			o := key.(int)
			if o >= i {
				continue
			}
			both := 0
			for _, s := range of[o] {
				if in[s] {
					both++
				}
			}
			if float64(both) >= alike*float64(len(of[i])+len(of[o])-both) {
				found = append(found, couple{o, i})
			}
		}
	}
	return found
}

// consolidateRows measures finding the near-duplicates of n notes: all pairs whose
// Jaccard similarity over word 3-shingles is at least 0.8. Both sides begin with the
// texts and end with verified pairs. One operation is the whole corpus, and the
// figures are entries per second.
//
//	consolidate/neardup/n=…          on one core
//	consolidate/neardup/…/cores=2    with two workers, against ours with one
func consolidateRows() []row {
	row1 := func(n int) row {
		return row{fmt.Sprintf("consolidate/neardup/n=%d", n), "ekzhu/minhash-lsh", func() (sides, error) {
			notes := standingNotes(n)
			return sides{
				check:  func() error { return checkPairs(notes) },
				ours:   again(func() { LastPairs = ourPairs(notes, 1) }),
				theirs: again(func() { LastPairs = theirPairs(notes) }),
				items:  n,
			}, nil
		}}
	}
	million := func() []string { return standingNotes(1_000_000) }
	return []row{
		row1(10_000),
		row1(100_000),
		{"consolidate/neardup/n=1000000", "", func() (sides, error) {
			notes := million()
			return sides{ours: again(func() { LastPairs = ourPairs(notes, 1) }), items: len(notes)}, nil
		}},
		{"consolidate/neardup/n=1000000/cores=2", "ours, one core", func() (sides, error) {
			notes := million()
			return sides{
				ours:   again(func() { LastPairs = ourPairs(notes, 2) }),
				theirs: again(func() { LastPairs = ourPairs(notes, 1) }),
				items:  len(notes),
			}, nil
		}},
	}
}

// checkPairs prints how much of the truth each side finds, and fails if ours is less
// than it should be. The peer's own figures may be what they are.
func checkPairs(notes []string) error {
	truth := truePairs(notes)
	var ours []couple
	for _, p := range ourPairs(notes, 1) {
		ours = append(ours, couple{p.A, p.B})
	}
	measure := func(name string, found []couple) (recall, precision float64) {
		right := 0
		for _, c := range found {
			if truth[c] {
				right++
			}
		}
		recall, precision = float64(right)/float64(len(truth)), float64(right)/float64(len(found))
		fmt.Fprintf(os.Stderr, "  n=%d, %d pairs: %s recall %.5f, precision %.5f\n", len(notes), len(truth), name, recall, precision)
		return recall, precision
	}
	recall, precision := measure("ours", ours)
	measure("theirs", theirPairs(notes))
	if recall < 0.999 || precision < 0.999 {
		return fmt.Errorf("recall %.5f and precision %.5f, want 0.999", recall, precision)
	}
	return nil
}
