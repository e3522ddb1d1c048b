package inventory

import (
	"cmp"
	"slices"
	"strings"
)

// place is where an agent stands in the input. It has no pointer, so that sorting
// places costs the garbage collector nothing.
type place struct {
	head uint64 // eight bytes of the ID, as a number in the order of the bytes
	at   int
}

// order returns the agents in the order of the inventory: by ID, and those of equal
// ID as they came.
func order(agents []Agent) []place {
	places := make([]place, len(agents))
	for i := range places {
		places[i].at = i
	}
	s := sorter{agents, make([]place, len(agents))}
	s.sort(places, 0)
	return places
}

// sorter sorts by heads, eight bytes of the IDs at a time, and goes on behind them
// where they are equal. IDs mostly begin with the same names, over and over.
type sorter struct {
	agents  []Agent
	scratch []place
}

// fewPlaces are sorted faster by comparison.
const fewPlaces = 48

// sort sorts places whose IDs have the same first from bytes.
func (s *sorter) sort(places []place, from int) {
	if len(places) < fewPlaces {
		s.compare(places)
		return
	}
	from += s.shared(places, from)
	longest := 0
	for i, p := range places {
		id := s.agents[p.at].ID
		longest = max(longest, len(id))
		places[i].head = head(id[from:])
	}
	byHead(places, s.scratch)
	for i := 0; i < len(places); {
		end := i + 1
		for end < len(places) && places[end].head == places[i].head {
			end++
		}
		switch run := places[i:end]; {
		case len(run) == 1:
		case longest > from+8 && s.all(run, from+8):
			s.sort(run, from+8)
		default:
			s.compare(run)
		}
		i = end
	}
}

// compare sorts by the whole IDs.
func (s *sorter) compare(places []place) {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(strings.Compare(s.agents[a.at].ID, s.agents[b.at].ID), a.at-b.at)
	})
}

// all reports whether no ID of the places is shorter than n.
func (s *sorter) all(places []place, n int) bool {
	return !slices.ContainsFunc(places, func(p place) bool { return len(s.agents[p.at].ID) < n })
}

// shared is how many bytes behind the first from all IDs have in common.
func (s *sorter) shared(places []place, from int) int {
	first := s.agents[places[0].at].ID[from:]
	n := len(first)
	for _, p := range places {
		id := s.agents[p.at].ID[from:]
		for n > len(id) || id[:n] != first[:n] {
			n--
		}
	}
	return n
}

// head is the first eight bytes of s; a shorter s is filled up with zeros.
func head(s string) (h uint64) {
	if len(s) >= 8 {
		return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 |
			uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
	}
	for i := range 8 {
		h <<= 8
		if i < len(s) {
			h |= uint64(s[i])
		}
	}
	return h
}

// byHead is a stable radix sort, byte by byte from the last, which leaves out the
// bytes that are the same in all heads.
func byHead(places, scratch []place) {
	var counts [8][256]int32
	for _, p := range places {
		for b := range counts {
			counts[b][byte(p.head>>(8*b))]++
		}
	}
	from, to := places, scratch[:len(places)]
	for b := range counts {
		if int(counts[b][byte(places[0].head>>(8*b))]) == len(places) {
			continue
		}
		next := int32(0)
		for v, n := range counts[b] {
			counts[b][v] = next
			next += n
		}
		for _, p := range from {
			v := byte(p.head >> (8 * b))
			to[counts[b][v]] = p
			counts[b][v]++
		}
		from, to = to, from
	}
	if &from[0] != &places[0] {
		copy(places, from)
	}
}
