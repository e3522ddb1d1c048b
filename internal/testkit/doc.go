// Package testkit holds what the tests of this tree share and no program needs, in a module of its own: kill
// tests of stores in crashload, PostgreSQL servers in pgcluster, mutants in mutate. The program that makes
// releases stands beside them in release, a module that requires none of this tree.
package testkit
