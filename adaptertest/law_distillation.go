package adaptertest

func distillationLaw() law {
	return law{name: "DISTILL", number: "D1, D2, D3, D5", says: "a compaction or distillation on this store does what it says, and the same sources give the same archive", cases: []testCase{
		workCase("work", "a distillation or compaction leaves what it leaves on another store, though calls fail, and its archive goes with its entry",
			[]Offer{Transactor}, distillWork, distillWork, compactWork),
	}}
}
