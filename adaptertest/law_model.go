package adaptertest

import "slices"

func modelLaw() law {
	return law{name: "MODEL", number: "M1-M10", says: "random operations of several tenants agree with a model", cases: slices.Concat(generate(
		generation{name: "short", says: "every short sequence of steps about the same entries ends as it should",
			topics: everyTopic[:6], plans: alone, sequences: [3]int{220, 1500, 30_000}, steps: 8, shared: true},
		generation{name: "random", says: "random mutations, deliveries, purges and reads agree with a model, over handles and reopenings",
			topics: everyTopic, plans: severalScopes, sequences: [3]int{8, 40, 300}, steps: 27, audited: 3},
	), loopCases())}
}
