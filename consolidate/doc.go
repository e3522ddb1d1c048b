// Package consolidate reconciles an agent's standing memory: it merges entries that
// say the same, lets a newer fact supersede an older one, and strengthens what is
// corroborated (RFC 0068). It is not distillation, which turns much recent memory
// into little under a token budget (RFC 0062).
//
// A [Consolidator] makes one pass over one ref with a [memory.Job]: it reads the live
// entries, plans, commits group by group, and announces the pass by one event.
// [Consolidator.Plan] alone is the dry run: a [Plan] is a value, and every merge in it
// explains itself. [Consolidator.Undo] takes a pass back.
//
// The default planner, [Rules], needs no model. A host may bring its own [Planner], and
// a [Merger] that writes merged texts; what they return goes through the redactor and
// the same checks. [NearDuplicates] finds candidates for them among a million texts.
//
// # Guarantees
//
//   - C1 (CTI-1): a pass reads and writes one scope.
//   - C2: a pass over an unchanged corpus writes no entry and calls neither planner nor
//     merger, whichever they are. It remembers the digest of the ids that its plan
//     leaves, with the versions of selection, planner, merger, slots and redactor.
//   - C3: the default plan is a pure function of the entries, whatever their order.
//   - C4 (SR-1): a merged text is redacted as derived text.
//   - C5: one conditional mutation per group. A write that lands meanwhile survives and
//     is looked at next time; a group that has changed is skipped. A group that retires
//     more than 64 entries in favour of one that stays takes a mutation for each 64.
//   - C6: one agent.memory.consolidated event for each completed pass, also for one that
//     changed nothing, committed with the pass's last mutation under an id made from the
//     job's id and the ref.
//   - C7: a pass takes a [memory.Job], which has no view and is no part of a replay.
//   - C8: entries that differ in a number, date, unit, name, negation, quantifier,
//     quotation or identifier are not duplicates; to the default planner every word
//     counts that it does not know as a mere form of another. Only a newer value of the
//     same declared slot supersedes, and the older one stays in the lineage.
//   - C9: entries of different expiry merge only if their texts are equal after
//     normalisation, and the longest-lived stays.
//   - C10: what a compaction wrote (a tag "compacted-from:…") is neither merged nor
//     retired. The default plan's cost grows near-linearly.
//   - E3: crash anywhere, and nothing is lost: each group is whole or absent, and the
//     next pass goes on. A lease, renewed by every mutation, keeps a second process out
//     of the scope, and one that lost it cannot commit.
//
// The lease, the digest, the journal that Undo reads and the list of what was undone
// are documents of the ref, of kinds "consolidate/…". They hold ids and counts.
//
// # Errors
//
// Errors match the classes of package memory: [memory.ErrConflict] while another pass
// holds the scope, [memory.ErrInternal] when a planner or merger fails, and what a
// [memory.Job] returns. None holds what an entry says; what the host's code said is
// reachable by [errors.Unwrap]. A group that breaks a rule is no error: it is in
// [Result].Refused with the rule.
//
// # Concurrency
//
// A Consolidator is safe for concurrent use. Passes over different refs run side by
// side; of two over one ref the second fails at once. The host's planner and merger are
// called outside any lock, with a deadline.
package consolidate
