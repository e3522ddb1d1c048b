package adaptertest

// neverAlone are the cases that are kept though no broken store in the catalogue is
// found by them alone, with the reason. A case that comes to find one alone has to
// leave the list, except those that race.
var neverAlone = []struct {
	reason string
	cases  []string
}{
	{"which of the cases that race a store meets the defect is chance; now and then it alone does", []string{
		"RECORD/racing-puts", "RECORD/racing-deletes", "RECORD/racing-writers",
		"BATCH/racing-put", "BATCH/racing-merges", "DOCUMENT/racing-swaps", "RECORD/one-state-lookup", "RECORD/one-state-get-at", "FIRE/at-once",
		"BATCH/readers-see-whole", "OUTBOX/racing-relays", "VIEW/reading-while-writing",
		"DURABLE/shared-ids", "DURABLE/shared-swaps", "LIMIT/racing", "DURABLE/shared-limits", "CONSOLIDATE/racing-writes",
	}},
	{"an engine makes the calls that other cases make one by one; it shows that together they suffice, and fails with them", []string{
		"CONSOLIDATE/merges-and-supersedes",
		"DISTILL/compact-keeps", "DISTILL/compact-expires",
		"DISTILL/compact-removes", "DISTILL/same-address", "DISTILL/held-view",
		"FAULT/merge-pass", "FAULT/firing-pass", "FIRE/once", "DISTILL/archive", "FORGET/documents", "FAULT/forget-pass", "FAULT/relay-pass",
		"FAULT/consolidation-pass", "FAULT/distillation-pass", "FAULT/compaction-pass",
	}},
	{"what is left of the erased shows in every answer that is searched for it, and each case erases on another occasion", []string{
		"SR-1/erased", "SR-1/erased-versions", "SR-1/late-secret", "SR-1/erased-reopened",
		"FORGET/erased-get", "FORGET/erased-list",
		"FORGET/erased-get-at", "FORGET/erased-list-at", "FORGET/stub", "FORGET/labels",
		"FORGET/subject",
		"FORGET/view",
		"FORGET/scan-fixed",
	}},
	{"a view loses or shows an entry for one reason whatever happens meanwhile; each case is one thing that happens", []string{
		"VIEW/held-across-put", "VIEW/held-across-backdated-put", "VIEW/held-across-delete",
		"VIEW/held-across-merge", "VIEW/held-across-supersede", "VIEW/held-across-restore",
		"VIEW/held-across-erase-of-retired", "VIEW/held-across-purge",
		"VIEW/held-across-everything", "VIEW/erased", "VIEW/of-mutation", "VIEW/restored",
		"VIEW/other-incarnation", "VIEW/purge-horizon", "VIEW/purge-view",
		"VIEW/purge-later", "VIEW/purge-merged", "VIEW/run", "VIEW/run-token",
		"DURABLE/shared-versions",
	}},
	{"a part of a mutation that is wrong is wrong in every mutation that has it; the case has it with least beside it", []string{
		"CTI-1/foreign-history", "CTI-1/foreign-events", "RECORD/deleted-record",
		"IDEMPOTENCE/apply-conflict", "IDEMPOTENCE/delivered-again",
		"BATCH/whole", "BATCH/retired", "BATCH/retired-is-final", "BATCH/retire-for-new",
		"BATCH/restored", "BATCH/history", "OUTBOX/all-tenants", "OUTBOX/relay",
	}},
	{"other cases rest on it: a store that is wrong here is wrong there too, and this case says so in the fewest steps", []string{
		"CTI-1/foreign-put", "TTL/never-get", "TTL/never-list", "TTL/milliseconds",
		"ORDER/newest-first-list", "ORDER/newest-first-search", "ORDER/limit-one",
		"ORDER/pages", "ORDER/tag", "ORDER/tag-pages", "RECORD/round-trip-get",
		"RECORD/deleted-get", "RECORD/deleted-list", "RECORD/deleted-search",
		"RECORD/deleted-get-at", "RECORD/deleted-list-at", "RECORD/written-get",
		"RECORD/written-list", "RECORD/written-get-at", "RECORD/written-list-at",
		"RECORD/subjects-and-sources", "RECORD/lookalike-ids", "RECORD/delete-once",
		"IDEMPOTENCE/put-again", "IDEMPOTENCE/put-again-deleted", "IDEMPOTENCE/put-again-expired",
		"IDEMPOTENCE/conflict-deleted", "IDEMPOTENCE/conflict-expired",
		"IDEMPOTENCE/conflict-subjects", "SEARCH/period",
	}},
}
