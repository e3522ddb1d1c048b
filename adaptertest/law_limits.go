package adaptertest

func limitsLaw() law {
	return law{name: "LIMIT", number: "M9", says: "no mutation makes a tenant more than its limits allow", cases: append(generate(
		generation{name: "counted", says: "what lives or has expired counts by its bytes, until it ends or is erased, and counts again once it is restored", needs: transactor,
			topics: []topic{basic, entries, outgoing}, plans: alone, sequences: [3]int{40, 300, 3000}, steps: 12, shared: true},
	), raceCases("LIMIT")...)}
}
