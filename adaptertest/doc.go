// Package adaptertest is the kit by which a store proves that it may hold agents'
// memory. A store author calls it from one test:
//
//	func TestStore(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Config{
//			New: func(ctx context.Context) (driver.Adapter, error) { return mystore.New(), nil },
//		})
//	}
//
// It runs one subtest for each case, named after the law that the case proves:
// TTL/expired-in-list. [Check] does the same without a test, so that a program can
// certify a store where it runs.
//
// Beside the store alone, it proves the engines of this module on the store: what they
// keep is in documents of it.
//
// With AGENTMEMORY_LONG in the environment the largest documents are of 32 megabytes
// instead of one.
//
// # Guarantees
//
//   - T1: every law that a store can break has a case, and every case is known to
//     fail on a store that is broken in just that way: a catalogue of such stores is
//     kept beside the kit's own tests.
//   - T2: isolation (CTI-1) and redaction (SR-1) have no opt-out.
//   - T3: nothing sleeps. The kit owns the clock: a store is told every instant.
//   - T4: a failure names the law, the steps that were taken, what was expected and
//     what came. One that random steps found is shrunk to the shortest sequence that
//     shows it. The same seed gives the same steps and the same text: ids that a bank or
//     an engine issues are called by a number (mem#1), as they are random. The exception
//     are cases in which goroutines use the store at once; their texts say so. What a
//     store says of itself, in an error or a panic, is shown as it says it, and one that
//     picks the order of a history at random may be found out in another step.
//   - T5: what a store does not offer is reported with the reason.
//
// # Laws
//
//   - CTI-1 (M1): a scope is the exact pair of tenant and ref.
//   - SR-1 (M2, M3): a store adds no way by which a secret could get out.
//   - TTL (M4): an entry is live iff now < expiresAt, in every read.
//   - ORDER (M5): newest first, ties by the bytes of the id, descending.
//   - RECORD (M8): an entry comes back as it was put, and every acknowledged write
//     is seen.
//   - IDEMPOTENCE (M8): the same again changes nothing; an id is never reused.
//   - BATCH (M8): a mutation happens whole or not at all.
//   - DOCUMENT (M8, M10, K2): a document changes by compare-and-swap with its mutation,
//     and goes with the entries that it is made of.
//   - DUE (K3, K9): what is due is found over all tenants, in order.
//   - OUTBOX (E3): an event commits with its mutation and waits until delivered.
//   - VIEW (M6, M7): reading at a version is exact, or refused.
//   - CHANGES (M7, S3): what has changed between two versions is told exactly.
//   - FORGET (M10): what is erased is gone everywhere; nothing else is.
//   - TENANT (M1, M7, M10): the scopes that hold anything are listed, and a tenant that is
//     dropped is gone with all its versions.
//   - SEARCH: a search by the store finds what a filter would.
//   - DURABLE: a store that is opened again has everything that it had.
//   - CONSOLIDATE (C2, C5, C7): a consolidation on the store does what it says, once.
//   - DISTILL (D1, D2, D3, D5): so do a compaction and a distillation.
//   - FIRE (K1, K2, K6): commitments on the store fire once.
//   - FAULT: a failed call, a lost acknowledgement or a cancelled context leaves
//     memory whole.
//   - MODEL: random operations agree with a model.
//
// # Errors
//
// [Check] returns an error if it could not look at the store at all, or if its context
// was done. Laws that are broken are in the [Report].
//
// # Concurrency
//
// Cases run one after the other, each on a store of its own; some of them use it
// from several goroutines. The functions of this package may themselves run in parallel
// if the stores that New gives have nothing in common.
package adaptertest
