// Command quickstart tells in eight screens what memory for agents needs, and proves each
// of them on a file: a secret that never reaches the disk, questions, tenants, a restart, a
// merge, a commitment, a forgotten customer, and what the host may claim.
//
// Usage, in this directory:
//
//	go run . [-db FILE | -postgres DSN] [-in FILE] [-quiet]
//
// Without -db and -postgres the file is a temporary one. With -in, notes of your own are
// added to those of the story, one JSON object on each line as in notes.jsonl. Each screen is
// in a file of its own, which the last line of the screen names. host.go is what they share:
// a host that copies from here begins with it.
package main
