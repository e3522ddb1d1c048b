// Package memory is OpenWOP agent memory over any store: what a host keeps for its agents
// from run to run, and the rules under which it does. Eight lines store a note without the
// secret that is in it; errors are left out here, and a program looks at each:
//
//	bank, _ := memory.New(inmem.New(), memory.Config{})
//	secrets := redact.New(redact.Config{})
//	secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x"))
//	run, _ := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
//	run.Put(ctx, "support", memory.Draft{Content: "The key is acme-live-7Qm2vT9x."})
//	entries, _ := run.Memory().List(ctx, "support", memory.ListOptions{})
//	fmt.Println(entries[0].Content) // The key is [REDACTED:billing-key].
//	run.End(ctx)
//
// Packages memory/inmem and redact are beside this one. Here the lines use [New], [Bank.Start],
// [Draft], [Run.Put], [Reader] and [Run.End], and you need no others at first: the zero
// [Config] is a good one. Come back for
//
//   - [Bank.Keep], once memory outlives the process: the one loop that every host runs, for
//     itself and for all engines over the bank
//   - [Draft].Subjects and [Bank.Forget], once it holds what a person may want erased
//   - [Bank.Background] and [Job], to import, and for the engines
//   - [Run.Replace], when a fact has changed, and [Bank.Search], to ask questions
//   - Config.WriteEvents with a Sink or KeepEvents, to tell the host's log of writes
//   - [Token] and [Replay], once runs are suspended or replayed
//
// [View] and [Ranker] are for those who write a ranker, and [Engines], [Rewrite] and
// [driver.Document] for those who write an engine. The pages in docs/ of the repository begin
// with the concepts and go on to a whole host.
//
// # Overview
//
// A host gives a [Bank] its store (a driver.Adapter) and works through two handles
// that carry a tenant, a run id and a redactor, so that no call can forget them:
//
//   - [Run], for a workflow run. It reads a view fixed at its start, sees its own
//     writes, has tokens and children, and ends before the run's terminal event.
//   - [Job], for a background pass such as consolidation. It reads live memory
//     and rewrites it by whole, conditional mutations.
//
// What a node sees as ctx.memory is a [Reader]. A store author implements the
// interfaces of package driver.
//
// Beside entries a store keeps documents: small named values such as leases,
// commitments and archives. They change in the same mutation as entries and events,
// see [Job.Rewrite], and a document that was made of an entry goes with it.
//
// # Guarantees
//
//   - M1 (CTI-1): a scope is the exact pair of tenant and ref. A read through a
//     ref that is foreign, malformed or unresolvable looks like a read of an
//     absent entry and never reaches the store.
//   - M2: no error text holds content, tags, ids or secrets.
//   - M3 (SR-1): nothing reaches the store but through the redactor. Free text is
//     rewritten; an identifier that holds a secret is refused. Ids are issued.
//   - M4: an entry is live iff now < ExpiresAt, in every read.
//   - M5: lists are newest first, ties by id bytes descending.
//   - M6: a run sees memory as it was when it started, its own writes, and those
//     of completed children. An entry that it replaced shows as the new one.
//     Others' writes, deletes and passes are invisible; expiry and Forget are not.
//   - M7: reading as of a [Token] gives exactly what the run saw there, or
//     [ErrSnapshotUnavailable]; never live memory.
//   - M8: entries never change, ids are never reused, and what a derived entry
//     was made from is live when it commits.
//   - M9: limits hold for the redacted form, and nothing is cut.
//   - M10: forgetting a subject erases its entries, all that was derived from them
//     and the documents made of those, and brings back what others had lost to a
//     merge with them.
//   - S1: a ranked read shows nothing that a list would not: the bank reads what a ranker
//     finds through the view at hand.
//   - S5: a token budget holds exactly in the bank's counter; an entry is left out, never cut.
//   - E3: a write and its events commit together; [Bank.Maintain] delivers them at
//     least once, each under one id. With Config.KeepEvents they are in the log of their run,
//     under their sequences, as soon as the write is committed, and stay there when what they
//     tell of is forgotten (RFC 0080 §A).
//
// # Errors
//
// Errors match their class by [errors.Is], for example [ErrNotFound]; [CodeOf] gives
// a code, and Code.OnWire the protocol's. An error of a context is returned as it is.
// What the store, the sink or the redactor said is reachable by [errors.Is] and [errors.As],
// and is in no text. [errors.Unwrap] gives it too, but not of two errors that came at once:
// [Run.End], [Job.End] and [Bank.Maintain] join those.
//
// # Operations
//
// Config.Tracer is told where each operation begins and ends, how it ended and how much it did, by
// types that can hold no content, see package telemetry. Config.Logger has a line for maintenance and
// for each pass.
//
// # Concurrency
//
// A Bank, a Run and a Job are safe for concurrent use. A tenant's mutations commit
// one at a time.
package memory
