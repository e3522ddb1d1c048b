package inmem

import "strings"

// sets holds values under keys, of which each may have several.
type sets[T comparable] map[string]map[T]bool

func (s sets[T]) add(key string, x T) {
	if s[key] == nil {
		s[strings.Clone(key)] = map[T]bool{} // what came in may be part of a larger string
	}
	s[key][x] = true
}

func (s sets[T]) remove(key string, x T) {
	if delete(s[key], x); len(s[key]) == 0 {
		delete(s, key)
	}
}
