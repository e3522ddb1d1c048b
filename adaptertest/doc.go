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
// IDEMPOTENCE/again. [Check] does the same without a test, so that a program can
// certify a store where it runs.
//
// Beside the store alone, it proves the engines of this module on the store: what they
// keep is in documents of it.
//
// Every step of a case on the store alone is also taken on a reference, which is the
// contract in the most obvious words. At the end of the case an audit compares all that
// can be read: every entry by every way to read, records, lineage, documents, events,
// versions, changes, what is due and the scopes. A case runs as far up as the store climbs;
// if it fails, the lowest step on which it fails is to blame.
//
// With -short the sweeps take fewer names, sizes and random steps. With AGENTMEMORY_LONG in
// the environment each run has another seed, which the report tells, so that runs add up. It also draws how many
// there are of everything, up to 10,001, but 1,001 successors in a chain.
//
// A store must leave alone what it was given and what it has handed out: values of one write
// in eight and of one read in sixteen are looked at again some calls later. A case
// whose store makes no answer for 50 seconds fails, and names the call. [Config.Progress] is told
// which law is looked at.
//
// A host whose log of run events is its own proves that by [RunLog]. Code that stands on a
// store meets the failures of one by [Inject].
//
// # Map
//
//   - config.go, frame.go, findings.go, report.go, certificate.go: how a store is looked at, how a case
//     runs, and what is reported.
//   - world.go, script.go, steps.go, steps_offers.go, steps_documents.go: what a case works
//     in, and the steps that it takes. describe.go and names.go are
//     the words for them.
//   - reference.go, reference_queries.go, audit.go and audit_queries.go: what every step is
//     compared with.
//   - generate.go, dimensions.go, moves.go and plan.go: the generator. Nearly all cases on the store
//     alone are random sequences of moves, which differ in what plans are called and hold, in
//     instants, in how many there are of everything, and in what happens to the store
//     between moves. A test of the kit counts which states they reach.
//   - sweep_methods.go, sweep_refused.go, sweep_loops.go: contexts and error texts through
//     every method, malformed names in every part of a mutation, and changes in the body of every loop.
//   - run_log.go: the cases of a log of run events, a store's or a host's own.
//   - laws.go: the table of all laws and their cases.
//   - law_*.go: the cases of a law that generated ones do not show at once, or that one
//     looks at first. host.go and host_work.go: a bank over the store, and random work of a host and
//     its engines, some of whose calls fail, compared with that of a host over the in-memory store.
//   - resources.go: what a call and a loop may not leave behind.
//   - fault.go: a store whose calls fail, are cancelled, late or unacknowledged, for tests of
//     code over a store. watch.go: what every call of a case goes through.
//
// The program internal/testkit/mutate breaks a store's source, or its SQL text, by machine, and
// lists what the kit does not find.
//
// # Guarantees
//
//   - T1: every law that a store can break is proven by generated operations, or by a case
//     where these cannot reach. What the kit finds is measured by
//     mutants of the in-memory store and of the rules of package driver, of which each is
//     broken in one operator, constant, condition or statement (go run -C
//     internal/testkit ./mutate, whose documentation has what was found), and by sixty stores that are
//     wrong where no mutant of one source is: at a kill, in a race, in what is told, with certain names,
//     under an engine.
//   - T2: isolation (CTI-1) and redaction (SR-1) have no opt-out.
//   - T3: nothing sleeps. The kit owns the clock: a store is told every instant. It waits only for
//     goroutines and files that a store has left behind, which may be about to end.
//   - T4: a failure names the law, the steps that were taken, what was expected and
//     what came. A cause that shows in several cases is told of once, under the first law
//     that it breaks, with the names of the other cases: those that fail at the same
//     operation, and those that go through a bank, an engine or goroutines when a case on
//     the store alone has failed. What random steps found is shrunk to the shortest sequence that
//     shows it. The same seed gives the same steps and the same text: ids that a bank or
//     an engine issues are called by a number (mem#1), as they are random. The exception
//     are cases in which goroutines use the store at once; their texts say so. What a
//     store says of itself, in an error or a panic, is shown as it says it, and one that
//     picks the order of a history at random may be found out in another step.
//   - T5: what a store does not offer is reported with the reason, also by the certificate
//     ([Report.Certificate]), which is kept beside the store and compared by each run.
//
// # Laws
//
//   - RECORD (M8): an entry comes back as it was put, and every acknowledged write
//     is seen.
//   - IDEMPOTENCE (M8): the same again changes nothing; an id is never reused.
//   - ORDER (M5): newest first, ties by the bytes of the id, descending.
//   - TTL (M4): an entry is live iff now < expiresAt, in every read.
//   - QUERY (M4, M5): a list holds what its query asks for, whichever fields it names together.
//   - BATCH (M8): a mutation happens whole or not at all.
//   - DOCUMENT (M8, M10, K2): a document changes by compare-and-swap with its mutation,
//     and goes with the entries that it is made of.
//   - DUE (K3, K9): what is due is found over all tenants, in order.
//   - OUTBOX (E3): an event commits with its mutation and waits until delivered.
//   - LOG (E3): in a store that keeps the log of runs, an event has its sequence in the
//     mutation that it tells of.
//   - LIMIT (M9): a mutation that goes beyond the limits of its tenant is refused.
//   - VIEW (M6, M7): reading at a version is exact, or refused.
//   - CHANGES (M7, S3): what has changed between two versions is told exactly.
//   - FORGET (M10): what is erased is gone everywhere; nothing else is.
//   - TENANT (M1, M7, M10): the scopes that hold anything are listed, and a tenant that is
//     dropped is gone with all its versions.
//   - CTI-1 (M1): a scope is the exact pair of tenant and ref, and every other name is
//     exact too.
//   - RACING (M1, M8, E3): writers of different scopes do not touch each other.
//   - SR-1 (M2, M3): a store adds no way by which a secret could get out.
//   - FAULT (M8, E3): a cancelled context leaves memory whole.
//   - DURABLE (M7, M8): a store that is opened again, or whose process was killed, has everything
//     that it had.
//   - CONSOLIDATE (C2, C5, C7): a consolidation on the store does what it says, once.
//   - DISTILL (D1, D2, D3, D5): so do a compaction and a distillation.
//   - FIRE (K1, K2, K6): commitments on the store fire once.
//   - RECALL (S1, S2, S3, S4): what answers a question is found, and nothing else.
//   - MODEL (M1-M10): short and long random sequences agree with the reference; loops may change
//     the store.
//   - SIZES (M5, M8): what holds for a few holds for many.
//
// # Errors
//
// [Check] returns an error if it could not look at the store at all, or if its context
// was done. Laws that are broken are in the [Report].
//
// # Concurrency
//
// Cases run one after the other, each on a store of its own; some of them use it from several
// goroutines. A store of 50 milliseconds a call takes an hour and three quarters with -short that way, and a
// quarter of an hour with [Config.Parallel] set to 16. A call may be slow, but not for ever: no limit
// is on the time of several.
package adaptertest
