// Package storerules holds what every store of this project decides alike, whatever
// it keeps entries in: whether a mutation may be committed, how a version is written
// down, and what a purge removes. A store looks up what it has, asks here, and writes.
//
// The functions are pure and know no storage, so that a rule is changed, and tested,
// once.
package storerules
