// Package commitment turns intentions that are found in memory into standing
// commitments, and fires each once (RFC 0068 §C, §D):
//
//	engine, err := commitment.New(bank, commitment.Config{Redactor: secretsOf, Enqueuer: queue})
//	…
//	err = bank.Pass(ctx, pass, func(job *memory.Job) error {
//		_, err := engine.Infer(ctx, job, "support") // arms what the notes intend
//		return err
//	})
//	err = bank.Keep(ctx, time.Second) // gives queue each run when it is due
//
// An [Engine] works over a [memory.Bank]. [Engine.Infer] asks an [Inferrer], a model or [Tagged], what the
// entries of a ref intend, and arms it; [Engine.Arm] arms by hand. An [Arm] is data: an instant, an interval, a schedule or
// the name of a predicate. The host calls [Engine.Tick] in a loop, and tells by
// [Engine.Observe] the state of its predicates. When a commitment fires, an
// [Enqueuer] starts a run, which reads in memory what to do, and a commitment.fired
// event goes out.
//
// A commitment goes from armed to claimed, and with its run and its event to acknowledged,
// or back to armed if it recurs; or it ends as lapsed, or was given up. It is kept as a document of
// its tenant in the bank's store. Every step is one compare-and-set on that document, and
// every tick takes up what it finds in the state in which a crash has left it. memory.Bank.Keep
// does both, the sweep once a day: [Engine.Sweep] removes what has ended and is not needed any
// more.
//
// # Guarantees
//
//   - K1 (CTI-1): a commitment is bound to a tenant, a ref and an entry of it. Its
//     event and its run belong to that tenant. Its id derives from the entry and the
//     arm, so that inferring twice arms once, and with each entry it is remembered which
//     inferrer has read it, in the mutation that arms what was found. An entry that replaced
//     another goes on where that one's commitment with the same arm is: what was fired or
//     canceled is not armed again. A ref of another tenant
//     cannot be told from one that no tenant has.
//   - K2: a firing is claimed, under a key made of the commitment and the instant or
//     the transition. A high-water mark that only rises sees to it that no key is
//     claimed twice, by any number of processes, crashes and clocks.
//   - K3: what is claimed is delivered until the host has returned a run, or is given up after
//     [Config.GiveUpAfter] of trying, a day unless the host says otherwise. Giving up ends the
//     firing and never what recurs, which goes on with its next instant or transition. It is
//     logged at Warn, counted in [Ticked], and stays in Commitment.GivenUp until a later
//     firing succeeds or a person calls [Engine.Retry] or [Engine.Cancel]. A claim may be
//     delivered more than once, always with one key: "once" rests on the contract of
//     [Enqueuer]. If the event cannot be committed, because too many wait for the sink,
//     say, the commitment is delivered with its run until it can be.
//   - K4: what passed between two ticks fires once or is skipped, by declared
//     policy. There is never a backlog. A time of day fires once for each date that it names, in a
//     gap of the clocks at the first instant behind it, if the [Schedule] gives it so: dates.Cron does.
//   - K5: a predicate fires on an edge: its state has changed, and it holds. Stale
//     and repeated observations change nothing.
//   - K6: before every delivery the entry is read once more. If it was deleted, has
//     expired or was forgotten, the commitment lapses; if it was merged, the head of its
//     lineage fires once for all that were, and so does the head of one that was superseded
//     if it has the same arm: by its tags, or because [Engine.Infer] has found it, before the
//     instant or after it. Otherwise what was superseded lapses. A firing under way moves with its
//     key. When that is undone, what recurs goes on with the next [Engine.Sweep].
//   - K7: nothing here takes part in a replay. The events are re-emitted from the
//     record, as all are.
//   - K8: documents and events hold identifiers, arms and states, never what an entry says,
//     and no identifier in which the redactor finds a secret.
//   - K9: a tick costs what is due, not what is armed.
//   - E3: the event goes to the outbox of memory in the mutation that records the run, with
//     the key as its id and in the log of a run that is named after the commitment.
//
// A run that was started by a process which crashed before it could record so is
// found again by its key. If meanwhile the commitment was canceled or its source
// settled, it lapses instead, and that run has no event: nothing fires after the
// matter is settled.
//
// # Time
//
// Instants are whole milliseconds. A schedule is read by [Config.Schedule] in any
// notation the host has; module bridges/dates has one for cron. A schedule whose next instant is zero, not
// later than the last, or beyond the horizon ends the commitment, visibly; at arming
// it is refused. Instants closer together than ticks are missed instants.
//
// # Errors
//
// Errors match the classes of package memory by errors.Is and never hold text of an
// entry or of an arm. [*HorizonError] carries schedule_horizon_exceeded, and
// [ErrNewerFormat] says that a newer version of this package is at work beside this one.
// What a host or a store said is reachable by errors.Is and errors.As only.
//
// # Concurrency
//
// An Engine is safe for concurrent use, and any number of engines in any number of
// processes may share a store. What a host implements is called outside any lock; a tick
// works on several tenants at once.
package commitment
