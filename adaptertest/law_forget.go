package adaptertest

func forgetLaw() law {
	return law{name: "FORGET", number: "M10", says: "what is erased is gone everywhere, and nothing else is", cases: generate(
		generation{name: "erased", says: "no read shows what was erased, nor a document made of it, and of its record its id, state and successor stay", needs: transactor,
			topics: []topic{basic, entries, documents}, plans: alone, sequences: [3]int{20, 100, 1000}, steps: 12, shared: true})}
}
