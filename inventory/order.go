package inventory

import (
	"cmp"
	"slices"
	"strings"
)

// place is where an agent stands in the input. It has no pointer, so that sorting
// places costs the garbage collector nothing.
type place struct {
	head uint64 // of its ID, behind what all IDs begin with
	at   int
}

// order returns the agents in the order of the inventory: by ID, and those of equal
// ID as they came.
func order(agents []Agent) []place {
	shared := sharedPrefix(agents)
	places := make([]place, len(agents))
	for i := range agents {
		places[i] = place{head(agents[i].ID[shared:]), i}
	}
	places = sortByHead(places)
	// Heads decide almost always. Where some are equal, the whole IDs do.
	byID := func(a, b place) int {
		return cmp.Or(strings.Compare(agents[a.at].ID, agents[b.at].ID), a.at-b.at)
	}
	for from := 0; from < len(places); {
		to := from + 1
		for to < len(places) && places[to].head == places[from].head {
			to++
		}
		if to > from+1 {
			slices.SortFunc(places[from:to], byID)
		}
		from = to
	}
	return places
}

// sortByHead is a radix sort, byte by byte from the last, which leaves out the
// bytes that are the same in all heads.
func sortByHead(places []place) []place {
	var counts [8][256]int
	for _, p := range places {
		for b := range counts {
			counts[b][byte(p.head>>(8*b))]++
		}
	}
	sorted := make([]place, len(places))
	for b := range counts {
		if len(places) == 0 || counts[b][byte(places[0].head>>(8*b))] == len(places) {
			continue
		}
		next := 0
		for v, n := range counts[b] {
			counts[b][v] = next
			next += n
		}
		for _, p := range places {
			v := byte(p.head >> (8 * b))
			sorted[counts[b][v]] = p
			counts[b][v]++
		}
		places, sorted = sorted, places
	}
	return places
}

// sharedPrefix is the length of what all IDs begin with. Most begin with the
// vendor's name.
func sharedPrefix(agents []Agent) int {
	if len(agents) == 0 {
		return 0
	}
	first := agents[0].ID
	n := len(first)
	for i := range agents {
		id := agents[i].ID
		for n > len(id) || id[:n] != first[:n] {
			n--
		}
	}
	return n
}

// head is the first eight bytes of s as a number, in the order of the bytes. A
// shorter s is filled up with zeros.
func head(s string) (h uint64) {
	for i := range 8 {
		h <<= 8
		if i < len(s) {
			h |= uint64(s[i])
		}
	}
	return h
}
