// Command mutate breaks a store in one place at a time and runs the kit on each of the
// broken stores. It lists those that the kit does not find.
//
//	go run ./adaptertest/internal/mutate -short          # the in-memory store, some minutes
//	go run ./adaptertest/internal/mutate -every 7        # the same with all rungs, of each seventh mutant
//	go run ./adaptertest/internal/mutate -short -every 12  # the same of each twelfth mutant
//	go run ./adaptertest/internal/mutate -short -limit 5m -sql -C memory/sqlite -run '^TestStore$' . .
//
// The arguments are directories of packages, or files, that are broken, behind the
// directory of the test that is run. Without arguments it is the in-memory store, the
// rules of package driver that it goes by, and the kit's own test of it.
//
// Of each twelfth mutant of the in-memory store, 169 of 2,037, the kit with -short finds
// 147, which is 87.0 %. Those that it does not find are mostly such as show in time or
// memory only, or with more entries than -short has.
//
// With -equivalent adaptertest/internal/mutate/equivalent.txt those are left out that are
// judged to show in no answer of a store, each with the reason.
//
// All mutants are compiled into one test binary, and the variable MUTANT of the
// environment chooses one. A mutant that does not compile is dropped. One that panics,
// hangs or ends its process is found, as one is on which a case fails.
package main
