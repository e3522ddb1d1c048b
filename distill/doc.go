// Package distill condenses an agent's memory: compaction (RFC 0012) into one entry,
// and distillation (RFC 0062) under a token budget into an archive that can be
// audited, with an index that the next session loads.
//
// A [Runner] works through a [memory.Job] on the live entries of one ref, narrowed by
// [Options]. [Runner.Compact] needs a bank over a [memory.Transactor] and nothing
// else; [Runner.Distill] also needs an [ArchiveStore]: [MemoryStore], [FileStore] or
// one of the host's. The default [Summarizer] and the default [Tokenizer] need no
// model and no vocabulary; a host plugs in its own.
//
// # Guarantees
//
//   - D1: a pass reads one version of memory, as far as the store has versions. Input
//     and output together take at most the budget, on the tokenizer that is named;
//     otherwise the error is a [*BudgetError] and nothing was written. Its minimum is
//     exact for [Extractive]. A summarizer that overruns is replaced by that.
//   - D2: an archive is canonical JSON (RFC 8785) under its SHA-256. The same sources,
//     budget, tokenizer, summarizer and redaction have the same bytes, in whatever
//     order they were written and whatever the summarizer would say a second time. Of
//     two passes at once one wins, and the other reports its archive. What is stored
//     passes today's redactor before it is used again.
//   - D3: the entry is the commit point. It commits with its event, and all sources
//     must be live then. The archive is there before it and the index is written after
//     it; a reader reaches an archive through a live entry only ([Runner.Open],
//     [Runner.LoadIndex]).
//   - D4: what is stored was redacted as derived text, at every level. The outputs of
//     earlier passes are sources only where [Options.Recursive] says so.
//   - D5: an entry lives as long as the retention says, by the calendar in UTC, or
//     shorter with its sources. [Runner.GC] drops its archive after that, once the
//     index does not name it. The retention is advertised as it was given.
//   - R5: registered secrets, leak forms and well-known shapes of secrets are in no
//     archive, index, event, error or digest.
//   - E3: memory.compacted commits with the entry. workspace.updated is the
//     [Workspace]'s to emit.
//
// A digest of redacted text is not a secret's digest, but it does confirm a guess of
// what an entry says: archives are as confidential as the entries.
//
// # Errors
//
// Errors are those of package memory and match its classes; [*BudgetError],
// [ErrArchive] and [ErrIndex] are this package's own. No text of one holds content,
// tags, ids or secrets. What a store, a summarizer or a workspace of the host said is
// reachable by [errors.Unwrap] only.
//
// # Concurrency
//
// A [Runner] is safe for concurrent use, and several processes may run passes over the
// same stores. What a host implements is called outside any lock, with the caller's
// context.
package distill
