// Command mutate breaks a store in one place at a time and runs the kit on each of the
// broken stores. It lists those that the kit does not find.
//
//	go run ./adaptertest/internal/mutate -short            # the in-memory store, half an hour of two processors
//	go run ./adaptertest/internal/mutate -short -every 12  # the same of each twelfth mutant
//	go run ./adaptertest/internal/mutate -only survivors   # the whole kit on what a run with -short has printed
//	go run ./adaptertest/internal/mutate -short -limit 5m -sql -C memory/sqlite -run '^TestStore$' . .
//
// The arguments are directories of packages, or files, that are broken, behind the
// directory of the test that is run. Without arguments it is the in-memory store, the
// rules of package driver that it goes by, and the kit's own test of it.
//
// Of 2,024 mutants of the in-memory store and the rules that it goes by, the kit with
// -short found 1,838. Of the other 186, 138 are judged equivalent (6.8 %), nearly all in the
// chunks, bounds and pages that make the store fast; of the 48 that remain the whole kit
// finds 47: 1,885 of 1,886, which is 99.9 %. The one that is left shows when two writers
// meet at a new tenant on two processors.
//
// Of the 866 mutants of the SQL text of memory/sqlite a small sample has been run. Those of
// them that are judged equivalent are in equivalent_sql.txt.
//
// With -equivalent adaptertest/internal/mutate/equivalent.txt those are left out that are
// judged to show in no answer of a store, each with the reason. What can show in time,
// memory or the text of an error only is not made where a rule can say so.
//
// All mutants are compiled into one test binary, and the variable MUTANT of the
// environment chooses one. A mutant that does not compile is dropped. One that panics,
// hangs or ends its process is found, as one is on which a case fails.
package main
