package adaptertest

func recordLaw() law {
	return law{name: "RECORD", number: "M8", says: "an entry comes back as it was put, and a call sees every write that was acknowledged before it began", cases: append(generate(
		generation{name: "texts", says: "every text that is kept comes back byte for byte, and is found by itself only",
			topics: everyTopic[:4], plans: sharing(len(texts)+1, holdText), sequences: [3]int{1, 3, 20}, steps: 6, audited: 200},
	), raceCases("RECORD")...)}
}
