// Agentmemory-mcp serves an agent's memory to clients of the Model Context Protocol, from a file
// or a PostgreSQL database.
//
//	agentmemory-mcp -db memory.db                    one client on standard input and output
//	agentmemory-mcp -db memory.db -http 127.0.0.1:0 -tokens tokens.json
//
// Any number of these programs may have the same file open. With -postgres DSN in the place of -db
// the memory is in a PostgreSQL database, for clients on any number of machines. Secrets that must never be stored come
// from -secrets, a JSON object of ids and values, and from variables AGENTMEMORY_SECRET_<ID>.
package main
