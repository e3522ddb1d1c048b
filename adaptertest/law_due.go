package adaptertest

func dueLaw() law {
	return law{name: "DUE", number: "K3, K9", says: "what is due is found over all tenants, in order, and nothing else", cases: generate(
		generation{name: "instants", says: "a document is due from the very millisecond on, at the instant that the call carries, and a limit keeps what is due first",
			needs: []Offer{Transactor, Scheduler}, topics: []topic{basic, documents}, plans: oddInstants, sequences: [3]int{1, 2, 10}, steps: 4, audited: 20})}
}
