// Package memory keeps what agents remember from run to run, over any store: one tenant never
// reads another, secrets are redacted before storage, and a replay sees what its run saw. These
// lines store a note without the secret that is in it. A program checks each error, which they
// leave out:
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
// Store and redactor are packages memory/inmem and redact. At first you need no more of this
// package than the lines use, and the zero [Config]. Then each task has its call:
//
//   - keep memory beyond the process: the store memory/sqlite, memory/postgres or memory/mysql,
//     and [Bank.Keep], the one maintenance loop of a host, for the bank and all engines over it
//   - erase what is about a person: [Draft].Subjects and [Bank.Forget]
//   - change a fact: [Run.Replace]
//   - keep one live entry under a name, such as the path of a file, or write several entries in one
//     mutation: [Draft].Name and [Run.PutAll]
//   - ask a question: [Run.Search], and [Bank.Search] outside of a run
//   - import, or work in the background: [Bank.Pass], which opens and ends a [Job]
//   - announce writes in the host's log: Config.WriteEvents, with KeepEvents or a Sink
//   - suspend a run and resume it elsewhere: [Run.Token], [Run.Abort], [RunConfig].Resume
//   - replay a run: [Replay]
//
// The authors of a ranker need [View] and [Ranker], those of an engine [Engines], [Rewrite] and
// [driver.Document], and a host none of them. In the repository, docs/concepts.md explains the
// words, and docs/host-in-an-hour.md builds a host.
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
// see [Job.Rewrite]. Their class says what they hold: content was made of entries, and is erased
// with them; host text is what the host wrote; machinery is the identifiers, digests and
// positions of an engine.
//
// # Guarantees
//
//   - M1 (CTI-1): a scope is the exact pair of tenant and ref. A read through a
//     ref that is foreign, malformed or unresolvable looks like a read of an
//     absent entry and never reaches the store.
//   - M2: no error text holds content, tags, ids or secrets.
//   - M3 (SR-1): nothing reaches the store but through the redactor. Free text is
//     rewritten; an identifier that holds a secret is refused. Ids are issued.
//   - M4: in every read an entry is live if now < ExpiresAt, and otherwise not.
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
// A Bank, a Run and a Job are safe for concurrent use. So are their iterators: the body of a
// loop may call the bank, run or job that yields. A tenant's mutations commit one at a time.
//
// # Map
//
// Which file answers which question:
//
//   - What does a host set up? bank.go: Config, New, and how a ref becomes a scope. engines.go: what an
//     engine may do. plugin.go, telemetry.go: how the host's parts are called and told. store.go: the
//     names taken over from package driver. errors.go: which error has which class and code. check.go:
//     which values are refused. clock.go: instants and ids.
//   - How does a run live? run.go: start, resume and reads. run_write.go, put_all.go, replace.go: its
//     writes. run_events.go: its events. run_end.go: tokens, children and the end. job.go: passes.
//   - How is an entry written? draft.go: from a draft to a redacted entry. write.go: into a mutation,
//     within limits. key.go: once under a key. name.go: under a name. provenance.go: its tags.
//     rewrite.go: derived, retired, restored and erased by a pass. document.go: documents.
//   - How is an answer made? reader.go: lists, and budgets. search.go: candidates, rank, resolve.
//     ranker.go: what a ranker is given, and how its hits are read. scan.go: pages of a whole scope.
//   - What does a run see? view.go: a version with the run's own writes over it. token.go, own_list.go:
//     tokens, and the writes too many for one. asof.go: reads as of a token. record.go: recorded reads.
//     replay.go, replay_all.go: replays.
//   - What became of an entry? lineage.go.
//   - How is something removed? forget.go: subjects, step by step. ledger.go: that it stays so after a
//     restore. scrub.go: secrets. purge.go: what no view shows. tenants.go: whole tenants. export.go:
//     what is stored about a subject.
//   - What happens by itself? maintain.go: the rounds. upkeep.go: the work of engines in them.
//     outbox.go, backlog.go: events to the sink, and how many wait.
package memory
