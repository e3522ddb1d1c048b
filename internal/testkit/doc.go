// Package testkit holds what the tests of this tree share and no program needs, in a module of its own: kill
// tests of stores in crashload, what they forget in forgetting, PostgreSQL servers in pgcluster, laws of bridges in
// bridgetest, mutants in mutate.
package testkit
