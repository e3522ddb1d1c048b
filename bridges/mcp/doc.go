// Package mcp serves an agent's memory to any client of the Model Context Protocol: a small set
// of tools and a resource for each entry. The program is in cmd/agentmemory-mcp.
//
//	s, err := mcp.New(ctx, mcp.Config{Bank: bank, Tenant: "acme", Ref: "assistant", Secrets: secrets})
//	err = s.MCP().Run(ctx, &sdk.StdioTransport{})
//
// # Tools
//
//   - memory_remember stores an entry, redacted, and returns it as it is stored.
//   - memory_recall finds the entries that answer a question, best first, with the reasons.
//   - memory_list lists entries without a question, newest first and page by page: all of them, or
//     those with a tag, about a subject or since an instant.
//   - memory_get and memory_delete are about one entry.
//   - memory_forget erases everything about a subject, in every ref of the tenant: erasure by ref
//     would leave a part of what is known of a person. It is served only if it is asked for.
//
// With Config.Files there is one tool instead, "memory", with the commands of Anthropic's memory
// tool. Each entry is also the resource memory://{ref}/{id}, and resources/list lists them.
//
// # Guarantees
//
//   - CTI-1: tenant and ref come from the server's configuration or from the caller's bearer token,
//     never from an argument.
//   - SR-1: what is stored is redacted, and so is every question before it is compared.
//   - Reads are of live memory. With Config.View they are of one run's view, which holds as long
//     as the server: it sees its own writes and not those of others, and what it has deleted stays
//     gone.
//   - A failed call changes nothing and says so in the tool's result (isError); its text holds
//     nothing that was stored.
//   - What was acknowledged is not lost, also if others write: an edit of a file replaces the version
//     that it read, and needs a store that is a driver.Transactor.
//
// # Concurrency
//
// A Server serves any number of sessions. Any number of processes may serve one store.
package mcp
