// Package inspector shows people what a host's memory holds and does: a page, and the read-only
// routes behind it, as one handler that any host can mount.
//
//	mux.Handle("/", &inspector.Handler{Bank: bank, Tenant: wire.Bearer(tokens), Model: model, Log: log})
//
// The page is one file without anything from outside. It is at the root of the handler and asks the
// routes beside it, all of them GET:
//
//	inspector/host         what the host can do, in eight dimensions with reasons
//	inspector/agents       its agents, and what each has to do without
//	inspector/refs         the refs of the tenant
//	inspector/entries      ?ref=            the entries of a ref (with &tag=) as stored, newest first
//	inspector/recall       ?ref=&q=         a question with its hits, their terms, scores and similarities
//	inspector/lineage      ?ref=&id=        what became of an entry, and what its head replaced
//	inspector/subject      ?subject=        all about a subject, which is what forgetting it would erase
//	inspector/runs         the newest runs
//	inspector/view         ?ref=&run=       what a run saw (or &token=), beside live memory
//	inspector/events       ?run=            the events of a run; server-sent ones for a client that takes them
//	inspector/commitments  what is armed, was fired, given up and has lapsed
//	inspector/usage        entries, bytes and backlog, now and lately, and the entries of each ref
//
// Lists take limit, and after with the "next" of the page before. A host that mounts the handler
// elsewhere than at its root takes the path away with [http.StripPrefix] and keeps the final slash.
//
// # Guarantees
//
//   - I1 (CTI-1): the tenant is what the request's credentials say, in every route, and never a part
//     of its address. What belongs to another tenant looks like what does not exist.
//   - I2: nothing is written, by any route: the handler works over a bank that is ReadOnly as well.
//   - I3: events, usage and commitments hold no word of an entry.
//   - I4: the page shows text as text, loads nothing, and runs no script but its own
//     (Content-Security-Policy).
//
// # Errors
//
// Every refusal is the protocol's error envelope. A part that the host has not given to the handler
// is capability_not_provided (not_found in version 2).
//
// # Concurrency
//
// A Handler is safe for concurrent use.
package inspector
