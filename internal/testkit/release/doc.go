// Command release makes releases of the modules of this tree and proves, before there is
// one, that strangers can install them. RELEASING.md at the root says when to use it.
//
// Usage, from anywhere in the tree:
//
//	go run -C internal/testkit/release . check             build everything that is committed as a stranger would
//	go run -C internal/testkit/release . api               compare the public packages with those of the last tag
//	go run -C internal/testkit/release . prepare vX.Y.Z    let the modules require each other at a version
//	go run -C internal/testkit/release . tag [-yes]        show the tags of the commit; with -yes check it and make them
//	go run -C internal/testkit/release . reopen            go back to working in the tree
//
// # Modules
//
// The table in modules.go holds every module, each behind those that it requires, and says
// which of them get tags. All have the same version. The tag of the root is vX.Y.Z, that of
// another module has its directory before it: memory/sqlite/vX.Y.Z.
//
// # Replace directives
//
// Between releases every go.mod replaces the modules of this tree by their directories, so
// that a change is tested everywhere at once. Nobody who requires a module sees that, but
// "go install module/cmd@version" refuses a go.mod that has such a line. A release is
// therefore a commit in which the tagged modules have none, made by prepare, followed by one
// in which they have them again, made by reopen. The go.sum files of the release hold the
// sums of the modules of that very commit, as the go command will compute them from the tags.
//
// A module also replaces what its requirements require: "go mod tidy" looks for the tests of
// the packages that a module imports. Therefore internal/testkit, which tests of the stores
// import, is tagged. This program is a module of its own, since it runs in the commit of a
// release too, whose modules require versions that cannot be got yet.
//
// # What check does
//
// It exports HEAD into a temporary directory. Unless HEAD is a release, it prepares the copy
// with a pseudo-version. Then it packs each tagged module as a module proxy would and serves
// the zips to the go command from a folder; other modules come from the module cache of the
// machine, and from its proxy if they are not there. So nothing is downloaded or compiled
// twice, and a machine that has built the tree needs no network. The version that is checked
// is removed from the module cache at the end, so two checks of one commit must not run at
// the same time. With nothing but that it builds
//
//   - each tagged module, in the order of the table, from a module that requires it and
//     replaces nothing;
//   - each program, by go install;
//   - each module without a tag, copied out of the tree without its replace directives. An
//     example gets another module path on the way, since that is what becomes of a copy;
//   - what the Markdown files tell a newcomer to type: each line that begins with "go get" or
//     "go install" and names a module of this tree is run in an empty module.
//
// Sums of the other modules are those of the go.sum files of the tree.
package main
