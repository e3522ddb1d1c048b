// Agentmemory looks after what agents remember, in a SQLite file, PostgreSQL, MariaDB or MySQL.
//
//	agentmemory -db memory.db inspect                          tenants, refs, entries
//	agentmemory -db memory.db -tenant acme search notes tea    what answers a question, and why
//	agentmemory -db memory.db -tenant acme why mem_01ab        who wrote an entry, and what would erase it
//	agentmemory -db memory.db -tenant acme diff TOKEN TOKEN    what changed between two tokens of runs
//	agentmemory -db memory.db -tenant acme export > acme.jsonl
//	agentmemory -db memory.db -tenant acme import acme.jsonl   redacted, and resumable
//	agentmemory -db memory.db -tenant acme import -from mem0 memories.json
//	agentmemory -db memory.db -tenant acme forget user:ann     erases a subject for good
//	agentmemory -db memory.db -tenant acme subject user:ann    all that is held about a subject
//	agentmemory -db memory.db certify                          what the kit proves of such a store
//	agentmemory -db memory.db doctor                           what is wrong with the store
//	agentmemory help | version | completion bash
//
// With -postgres DSN or -mysql DSN in the place of -db FILE each works on a database of a server. The program may be
// used while hosts have the same memory open. It ends with the status 0, with 1 if something failed or
// doctor found something wrong, and with 2 for a command line that makes no sense.
package main
