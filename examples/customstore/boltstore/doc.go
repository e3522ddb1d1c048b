// Package boltstore keeps agents' memory in one file of bbolt.
package boltstore
