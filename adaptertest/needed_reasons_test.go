package adaptertest

// neverAlone are the cases that are kept though no broken store in the catalogue is
// found by them alone, with the reason. A case that comes to find one alone has to
// leave the list, except those that race.
var neverAlone = []struct {
	reason string
	cases  []string
}{
	{"which of the cases that race a store meets the defect is chance; now and then it alone does", []string{
		"entries:RECORD/racing-puts", "entries:RECORD/racing-deletes", "entries:RECORD/racing-writers",
		"entries:BATCH/racing-put", "entries:BATCH/racing-merges", "entries:BATCH/racing-swaps",
		"entries:BATCH/readers-see-whole", "entries:OUTBOX/racing-relays", "entries:VIEW/reading-while-writing",
		"entries:DURABLE/shared-ids", "entries:DURABLE/shared-swaps", "entries:CONSOLIDATE/racing-writes",
		"commitments:CLAIM/race", "commitments:CLAIM/acknowledged", "commitments:DURABLE/race",
		"commitments:ENGINE/at-once", "archives:ARCHIVE/racing-keeps", "archives:ARCHIVE/racing-stores",
	}},
	{"an engine makes the calls that other cases make one by one; it shows that together they suffice, and fails with them", []string{
		"entries:CONSOLIDATE/merges-and-supersedes", "entries:CONSOLIDATE/held-view",
		"entries:CONSOLIDATE/write-in-a-pass", "entries:DISTILL/compact-keeps", "entries:DISTILL/compact-expires",
		"entries:DISTILL/compact-removes", "entries:DISTILL/same-address", "entries:DISTILL/held-view",
		"entries:FAULT/merge-pass", "entries:FAULT/forget-pass", "entries:FAULT/scrub-pass", "entries:FAULT/relay-pass",
		"entries:FAULT/consolidation-pass", "entries:FAULT/distillation-pass", "entries:FAULT/compaction-pass",
	}},
	{"what is left of the erased shows in every answer that is searched for it, and each case erases on another occasion", []string{
		"entries:SR-1/erased", "entries:SR-1/erased-versions", "entries:SR-1/late-secret", "entries:SR-1/erased-reopened",
		"entries:SR-1/canary-reopened", "entries:FORGET/erased-get", "entries:FORGET/erased-list",
		"entries:FORGET/erased-get-at", "entries:FORGET/erased-list-at", "entries:FORGET/stub", "entries:FORGET/labels",
		"entries:FORGET/subject", "entries:FORGET/many", "entries:FORGET/gives-back", "entries:FORGET/superseded-stays",
		"entries:FORGET/deleted-takes-along", "entries:FORGET/expired-stays", "entries:FORGET/view",
		"entries:FORGET/scan-fixed",
	}},
	{"a view loses or shows an entry for one reason whatever happens meanwhile; each case is one thing that happens", []string{
		"entries:VIEW/held-across-put", "entries:VIEW/held-across-backdated-put", "entries:VIEW/held-across-delete",
		"entries:VIEW/held-across-merge", "entries:VIEW/held-across-supersede", "entries:VIEW/held-across-restore",
		"entries:VIEW/held-across-erase-of-retired", "entries:VIEW/held-across-purge",
		"entries:VIEW/held-across-everything", "entries:VIEW/erased", "entries:VIEW/of-mutation", "entries:VIEW/restored",
		"entries:VIEW/other-incarnation", "entries:VIEW/purge-horizon", "entries:VIEW/purge-view",
		"entries:VIEW/purge-later", "entries:VIEW/purge-merged", "entries:VIEW/run", "entries:VIEW/run-token",
		"entries:DURABLE/shared-versions",
	}},
	{"what is lost when a store is opened again is missed by whatever looks next", []string{
		"commitments:DURABLE/two-at-once",
	}},
	{"a part of a mutation that is wrong is wrong in every mutation that has it; the case has it with least beside it", []string{
		"entries:CTI-1/foreign-history", "entries:CTI-1/foreign-events", "entries:RECORD/deleted-record",
		"entries:IDEMPOTENCE/apply-conflict", "entries:IDEMPOTENCE/delivered-again",
		"entries:BATCH/whole", "entries:BATCH/retired", "entries:BATCH/retired-is-final", "entries:BATCH/retire-for-new",
		"entries:BATCH/restored", "entries:BATCH/history", "entries:OUTBOX/all-tenants", "entries:OUTBOX/relay",
	}},
	{"other cases rest on it: a store that is wrong here is wrong there too, and this case says so in the fewest steps", []string{
		"entries:CTI-1/foreign-put", "entries:TTL/never-get", "entries:TTL/never-list", "entries:TTL/milliseconds",
		"entries:ORDER/newest-first-list", "entries:ORDER/newest-first-search", "entries:ORDER/limit-one",
		"entries:ORDER/pages", "entries:ORDER/tag", "entries:ORDER/tag-pages", "entries:RECORD/round-trip-get",
		"entries:RECORD/deleted-get", "entries:RECORD/deleted-list", "entries:RECORD/deleted-search",
		"entries:RECORD/deleted-get-at", "entries:RECORD/deleted-list-at", "entries:RECORD/written-get",
		"entries:RECORD/written-list", "entries:RECORD/written-get-at", "entries:RECORD/written-list-at",
		"entries:RECORD/subjects-and-sources", "entries:RECORD/lookalike-ids", "entries:RECORD/delete-once",
		"entries:IDEMPOTENCE/put-again", "entries:IDEMPOTENCE/put-again-deleted", "entries:IDEMPOTENCE/put-again-expired",
		"entries:IDEMPOTENCE/conflict-deleted", "entries:IDEMPOTENCE/conflict-expired",
		"entries:IDEMPOTENCE/conflict-subjects", "entries:SEARCH/period",
	}},
}
