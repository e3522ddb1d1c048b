package adaptertest

import "slices"

// What most cases need.
var (
	transactor = []Offer{Transactor}
	versioned  = []Offer{Transactor, Versioned}
)

// laws are all laws with all cases, in the order in which they run: those first in which
// little can be wrong, as a cause that shows in several is told of the first. What a case leaves is
// read by all ways when it ends: at instants around each expiry, by pages and by each field of a query.
func laws() []law {
	return []law{
		{"RECORD", "M8", "an entry comes back as it was put, and a call sees every write that was acknowledged before it began", append(generate(
			generation{name: "texts", says: "every text that is kept comes back byte for byte, and is found by itself only",
				topics: everyTopic[:4], plans: sharing(len(texts)+1, holdText), sequences: [2]int{1, 3}, steps: 6, audited: 200},
		), raceCases("RECORD")...)},
		{"IDEMPOTENCE", "M8", "the same entry again is a success that changes nothing; an id is never used for another", generate(
			generation{name: "again", says: "the same entry again, nil lists or empty ones, is a success and stays deleted; one that differs in anything is a conflict that changes nothing",
				topics: everyTopic[:1], plans: alone, sequences: [2]int{40, 200}, steps: 12, shared: true},
		)},
		{"ORDER", "M5", "newest first by createdAt, ties by the bytes of the id, descending", append([]testCase{
			{"limit-one", "limit 1 is the newest", nil, limitOne},
			{"limit-huge", "the largest limit means all", nil, limitHuge},
		}, generate(
			generation{name: "tied", says: "entries of one instant are in the order of the bytes of their ids",
				topics: everyTopic[:1], plans: sharing(len(tied), func(_ *world, p *plan, k int) { p.own = tied[k] }), sequences: [2]int{1, 3}, steps: 6, audited: 20},
		)...)},
		{"TTL", "M4", "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries", generate(
			generation{name: "instants", says: "every instant that is kept comes back, in UTC, and is judged to the millisecond, and by no clock of the store",
				topics: everyTopic[:6], plans: oddInstants, sequences: [2]int{1, 3}, steps: 5, audited: 10},
		)},
		{"QUERY", "M4, M5", "a list holds what its query asks for, in any combination", generate(
			generation{name: "fields", says: "each field of a query narrows, alone and with each other one, now and at versions",
				topics: []topic{basic, entries}, plans: sharing(20, alikeFields), sequences: [2]int{1, 4}, steps: 6, audited: 3},
		)},
		{"BATCH", "M8", "a mutation happens whole or not at all", slices.Concat(generate(
			generation{name: "parts", says: "a mutation of parts of each kind happens whole, and if one of them fails, nothing of it happens", needs: transactor,
				topics: []topic{entries, documents, outgoing}, plans: alone, sequences: [2]int{80, 400}, steps: 8, shared: true},
		), []testCase{
			{"readers-see-whole", "a reader sees all of a mutation or nothing of it", transactor, readersSeeWhole},
		}, raceCases("BATCH"))},
		{"DOCUMENT", "M8, M10, K2", "a document changes by compare-and-swap, together with its mutation, and goes with the entries that it is made of", slices.Concat(generate(
			generation{name: "steps", says: "a swap holds only for the revision and the class that are there, and content goes with its entries", needs: transactor,
				topics: []topic{basic, entries, documents}, plans: alone, sequences: [2]int{40, 300}, steps: 12, shared: true},
		), []testCase{
			{"values", "a store has a value of its own", transactor, documentValues},
			{"refused-names", "a mutation with a malformed name is invalid wherever the name stands, and one with the longest names is not", transactor, sweepMalformed},
			{"refused-parts", "a mutation that no state makes possible is invalid, and nothing of it happens", transactor, sweepInvalid},
		}, raceCases("DOCUMENT"))},
		{"DUE", "K3, K9", "what is due is found over all tenants, in order, and nothing else", generate(
			generation{name: "instants", says: "a document is due from the very millisecond on, at the instant that the call carries, and a limit keeps what is due first",
				needs: []Offer{Transactor, Scheduler}, topics: []topic{basic, documents}, plans: oddInstants, sequences: [2]int{1, 2}, steps: 4, audited: 20},
		)},
		{"OUTBOX", "E3", "an event commits with its mutation, and waits in commit order until it is delivered", append(generate(
			generation{name: "waits", says: "an event of any payload waits in the order of commits, and not of its own time, until it is delivered", needs: transactor,
				topics: []topic{entries, outgoing}, plans: severalScopes, sequences: [2]int{1, 10}, steps: 20, audited: 5},
		), testCase{"racing-relays", "banks that relay at once lose no event", transactor, racingRelays})},
		{"LOG", "E3", "a kept event has its sequence in its run when its mutation commits", append(generate(
			generation{name: "kept", says: "kept events have sequences in the order of their mutations, an id takes one number, what is refused takes none, and a purge removes whole runs",
				needs: []Offer{Transactor, Events}, topics: []topic{outgoing}, plans: alone, sequences: [2]int{8, 30}, steps: 60, audited: 5},
		), testCase{"racing", "of kept events that race, alone and beside entries, none is lost, doubled, torn or without its place", []Offer{Transactor, Events}, keptRacing})},
		{"LIMIT", "M9", "no mutation makes a tenant more than its limits allow", append(generate(
			generation{name: "counted", says: "what lives or has expired counts by its bytes, until it ends or is erased, and counts again once it is restored", needs: transactor,
				topics: []topic{basic, entries, outgoing}, plans: alone, sequences: [2]int{40, 300}, steps: 12, shared: true},
		), raceCases("LIMIT")...)},
		{"VIEW", "M6, M7", "reading at a version gives the same entries for ever, or is refused; it is never live memory", append(generate(
			generation{name: "lives", says: "each version shows what lived then, until a purge, which removes what no later one shows and no record needs, and says how much", needs: versioned,
				topics: []topic{basic, entries, versions}, plans: alone, sequences: [2]int{40, 300}, steps: 20, shared: true},
		), []testCase{
			{"unknown-version", "a version that the store never gave is refused", versioned, unknownVersion},
			{"other-incarnation", "a version of another store is refused", versioned, otherIncarnation},
			workCase("run-token", "reading as of a token and resuming from one show what the run saw, and a token that could have seen what was forgotten is refused", versioned,
				startRunWork, putInRunWork, forgetWork),
			{"purging-at-once", "of purges at once each removes something else, and what is read meanwhile is whole", versioned, purgeAtOnce},
		}...)},
		{"CHANGES", "M7, S3", "what has changed in a scope between two versions is just what the mutations between them did", generate(
			generation{name: "kinds", says: "what was put, retired, restored and erased is told, each in its list, and nothing that did not change",
				needs: []Offer{Transactor, Versioned, Changes}, topics: []topic{basic, entries}, plans: alone, sequences: [2]int{10, 100}, steps: 20, shared: true},
		)},
		{"FORGET", "M10", "what is erased is gone everywhere, and nothing else is", generate(
			generation{name: "erased", says: "no read shows what was erased, nor a document made of it, and of its record its id, state and successor stay", needs: transactor,
				topics: []topic{basic, entries, documents}, plans: alone, sequences: [2]int{20, 100}, steps: 12, shared: true},
		)},
		{"TENANT", "M1, M7, M10", "the scopes that hold anything are listed, and of a tenant that is dropped nothing is left", generate(
			generation{name: "order", says: "every scope that holds anything is listed once, in the byte order of tenant and ref, from any scope on", needs: []Offer{Tenants},
				topics: []topic{basic, documents}, plans: sharing(len(scopeNames)*len(scopeNames), orderedScopes), sequences: [2]int{1, 2}, steps: 2},
			generation{name: "dropped", says: "a tenant is dropped by calls with a small limit, and all of it is gone: entries, documents, events and versions",
				needs: []Offer{Transactor, Tenants}, topics: []topic{basic, documents, outgoing, tenants}, plans: severalScopes, sequences: [2]int{3, 10}, steps: 20, audited: 5},
		)},
		{"CTI-1", "M1", "a scope is the exact pair of tenant and ref, byte for byte, and so is every other name", append([]testCase{
			{"foreign-version", "a version of one tenant does not read another's memory", versioned, foreignVersion},
		}, nameCases()...)},
		{"RACING", "M1, M8, E3", "writers of different scopes do not touch each other, in all that they do at once", append([]testCase{
			{"scopes", "what writers of several tenants and refs do at once is all there, and each version shows what its scopes had then, ever after", nil, racingScopes},
		}, raceCases("RACING")...)},
		{"SR-1", "M2, M3", "a store adds no way by which a secret could get out: it keeps markers as they are, says nothing of entries, and forgets what is erased", append([]testCase{
			{"marker", "redaction markers come back byte for byte", nil, markersStay},
			{"string", "no printed form of the store holds anything of an entry", nil, printedForms},
			{"erased", "nothing that the store returns or says, at any version, holds what was erased, live, merged, superseded or deleted", transactor, erasedIsUnsaid},
			workCase("late-secret", "a secret that was registered too late is gone after a scrub, and its marker stands there", transactor, scrubWork),
		}, methodCases("errors", "no error holds content, a tag, a subject, an id or another name", sweepErrors)...)},
		{"FAULT", "M8, E3", "a failed call, a lost acknowledgement or a cancelled context leaves memory whole, and the same again completes it", slices.Concat(
			methodCases("cancelled", "a call whose context is done returns the context's error, or all that there is, and changes nothing", sweepCancelled),
			methodCases("resources", "no call leaves a goroutine, a file or a connection behind, however it ends", sweepResources),
			midwayCases(), []testCase{
				workCase("work", "a forgetting, a scrub, a relay or a dropped tenant reaches what it reaches on another store, open views too, and is completed by the same again if any call of it fails",
					transactor, forgetWork, scrubWork, maintainWork),
			})},
		{"DURABLE", "M7, M8", "a store that is opened again has everything that it had, and processes that share it see each other's writes", append(generate(
			settled("reopened", "all that was done is there in a store that is closed and opened again, now and then", Durable, (*world).reopen),
			settled("killed", "all that was acknowledged is there in a store whose process is killed, now and then", Killed, (*world).crash),
			settled("shared", "what one of two open stores has done the other one shows at once", Shared, (*world).turnHandle),
		), raceCases("DURABLE")...)},
		{"CONSOLIDATE", "C2, C5, C7", "a consolidation on this store does what it says, and only once", []testCase{
			workCase("work", "a consolidation leaves what it leaves on another store, though calls fail", transactor, consolidateWork),
			{"racing-writes", "what is written by others at the same time is still there, or in a lineage", transactor, raceConsolidation},
		}},
		{"DISTILL", "D1, D2, D3, D5", "a compaction or distillation on this store does what it says, and the same sources give the same archive", []testCase{
			workCase("work", "a distillation or compaction leaves what it leaves on another store, though calls fail, and its archive goes with its entry", transactor,
				distillWork, distillWork, compactWork),
		}},
		{"FIRE", "K1, K2, K6", "commitments on this store fire once, though others tick too, and what is settled does not", []testCase{
			workCase("work", "what is armed fires once, though calls fail, and lapses or fires for the head with its entry", []Offer{Transactor, Scheduler},
				armWork, observeWork, tickWork, outageWork, retryWork, editWork),
			{"at-once", "of engines that tick and observe at the same time one claims each firing", []Offer{Transactor, Scheduler}, enginesAtOnce},
		}},
		{"RECALL", "S1, S2, S3, S4", "what answers a question is found completely, in its scope, as the view at hand shows it, and no more once it is erased", []testCase{
			workCase("work", "a process that has followed the store, one that has just begun and one over another store find the same", nil, searchWork),
		}},
		{"MODEL", "M1-M10", "random operations of several tenants agree with a model", slices.Concat(generate(
			generation{name: "short", says: "every short sequence of steps about the same entries ends as it should",
				topics: everyTopic[:6], plans: alone, sequences: [2]int{220, 1500}, steps: 8, shared: true},
			generation{name: "random", says: "random mutations, deliveries, purges and reads agree with a model, over handles and reopenings",
				topics: everyTopic, plans: severalScopes, sequences: [2]int{8, 40}, steps: 27, audited: 3},
		), loopCases())},
		{"SIZES", "M5, M8", "what holds for a few holds for many, and for long texts", slices.Concat(generate(
			sized("entries", "many entries, of which four have one instant", basic),
			sized("parts", "mutations of many parts, of which only the last fails, or none", basic, entries, documents, outgoing),
			sized("versions", "many records, documents and events at versions, purged and dropped", everyTopic[:6]...),
		), manyCases(), []testCase{
			{"long-texts", "long texts come back, and are told apart by their last byte", nil, longTexts},
			{"long-values", "long values of documents come back, and are retained", transactor, longValues},
		})},
	}
}

// settled is a generation whose store is opened in another way now and then.
func settled(name, says string, needs Offer, settle func(w *world)) generation {
	return generation{name: name, says: says, needs: []Offer{needs}, settle: settle, topics: everyTopic[:6], plans: severalScopes, sequences: [2]int{4, 8}, steps: 27, audited: 3}
}

// sized is a generation with many of everything.
func sized(name, says string, topics ...topic) generation {
	return generation{name: "many-" + name, says: "the store is right with " + says, topics: topics, plans: manyOfEach, sequences: [2]int{1, 2}, steps: 12, audited: 8}
}
