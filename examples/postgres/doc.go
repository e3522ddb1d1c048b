// Command postgres is a host that keeps its memory in PostgreSQL. Each time it is
// started, a run reads what earlier ones left and adds what it is told; with -forget it
// erases a subject.
//
// Usage:
//
//	postgres [-dsn DSN] [-about SUBJECT] [NOTE]
//	postgres [-dsn DSN] -forget SUBJECT
//
// The DSN is a connection string of libpq's kind, by default what AGENTMEMORY_POSTGRES_DSN
// says. The database must exist; the program makes the tables. Start it twice, on any
// machines:
//
//	export AGENTMEMORY_POSTGRES_DSN="postgres://agents@db.example/agents"
//	postgres -about customer:1 "Lena prefers e-mail."
//	postgres "The office is closed on Fridays."
//	postgres -forget customer:1
package main
