// Package distill condenses an agent's memory: compaction (RFC 0012) into one entry,
// and distillation (RFC 0062) under a token budget into an archive that can be
// audited, with an index that the next session loads.
//
//	runner, err := distill.New(distill.Config{})
//	…
//	err = bank.Pass(ctx, pass, func(job *memory.Job) error {
//		done, err := runner.Distill(ctx, job, "support", distill.Options{TokenBudget: 2000})
//		fmt.Println(done.Output.Content)
//		return err
//	})
//
// A [Runner] works through a [memory.Job] on the live entries of one ref, narrowed by
// [Options]. It needs a bank over a store that is a Transactor, and nothing else: the
// store keeps archives and the head of the index as documents. The default [Summarizer]
// and the default [Tokenizer] need no model and no vocabulary; a host plugs in its own.
//
// # Guarantees
//
//   - D1: a pass reads one version of memory, as far as the store has versions. Input
//     and output together take at most the budget, on the tokenizer that is named;
//     otherwise the error is a [*BudgetError] and nothing was written. Its minimum is
//     exact for [Extractive]. A summarizer that overruns is replaced by that. Days that
//     lines begin with count.
//   - C8: a line that is relative to the day on which its source was written begins with that
//     day, in UTC: "2026-03-02: Ann moves to Berlin tomorrow." So does one whose language is not
//     known. Package consolidate says what is relative. Each line of a summarizer is held to
//     its sources as a merged text is, by consolidate.Unsupported: what they do not say is left
//     out and counted in [Result].Refused, and passages of the sources take its place.
//   - D2: an archive is canonical JSON (RFC 8785) under its SHA-256. The same sources,
//     budget, tokenizer, summarizer and redaction have the same bytes, in any
//     order of writing, also if the summarizer would say otherwise a second time. Of
//     two passes at once one wins, and the other reports its archive. What is stored
//     passes today's redactor before it is used again.
//   - D3: the entry, its archive, the head of the index and the events commit together,
//     and all sources must be live then. A reader reaches an archive through the live
//     entry that names it only ([Runner.Open]). The index is rendered from what is there
//     ([Runner.Index], [Runner.LoadIndex]), so that no pass can lose another's line. Where
//     entries have ended, who reads it commits its next version.
//   - D4: what is stored was redacted as derived text, at every level. The outputs of
//     earlier passes are sources only where [Options.Recursive] says so.
//   - D5: an entry lives as long as the retention says, or shorter with its sources. Its
//     archive goes when it is purged.
//   - M10: [memory.Bank.Forget] and [memory.Bank.Scrub] erase an archive with its entry,
//     and with that its line; nothing else needs to be called. What a host keeps of the
//     rendered index is the host's to erase.
//   - R5: registered secrets, leak forms and well-known shapes of secrets are in no
//     archive, index, event, error or digest.
//   - E3: memory.compacted and workspace.updated are events of the mutation that they
//     tell of. The version of the index ascends by one with each workspace.updated.
//
// A digest of redacted text is not a secret's digest, but it does confirm a guess of
// what an entry says: archives are as confidential as the entries.
//
// # Cost
//
// A pass is near-linear in the bytes of its sources and of the history of their ref. It does
// not depend on how many other refs and archives the tenant has: of the index it moves the
// head only. The index is rendered in full, in time near-linear in the number and size of the
// summaries, by [Runner.Index]. Passes of one tenant that commit at the same time swap its head
// again, without asking a model again.
//
// # Errors
//
// Errors are those of package memory and match its classes; [*BudgetError],
// [ErrArchive] and [ErrNewerFormat] are this package's own. No text of one holds content,
// tags, ids or secrets. What a store or a summarizer of the host said is reachable by
// [errors.Unwrap] only.
//
// A [Runner] is safe for concurrent use, and several processes may run passes over the
// same store. What a host implements is called outside any lock, with the caller's
// context.
package distill
