package adaptertest

func idempotenceLaw() law {
	return law{name: "IDEMPOTENCE", number: "M8", says: "the same entry again is a success that changes nothing; an id is never used for another", cases: generate(
		generation{name: "again", says: "the same entry again, nil lists or empty ones, is a success and stays deleted; one that differs in anything is a conflict that changes nothing",
			topics: everyTopic[:1], plans: alone, sequences: [3]int{40, 200, 1000}, steps: 12, shared: true})}
}
