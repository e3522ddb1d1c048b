package adaptertest

func recallLaw() law {
	return law{name: "RECALL", number: "S1, S2, S3, S4", says: "what answers a question is found completely, in its scope, as the view at hand shows it, and no more once it is erased", cases: []testCase{
		workCase("work", "a process that has followed the store, one that has just begun and one over another store find the same", nil, searchWork),
	}}
}
