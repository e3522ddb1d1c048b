package adaptertest

func durableLaw() law {
	g := generation{topics: everyTopic[:6], plans: severalScopes, sequences: [3]int{4, 8, 60}, steps: 27}
	settled := func(name, says string, needs Offer, settle func(w *world)) generation {
		g := g
		g.name, g.says, g.needs, g.settle = name, says, []Offer{needs}, settle
		return g
	}
	return law{name: "DURABLE", number: "M7, M8", says: "a store that is opened again has everything that it had, and processes that share it see each other's writes", cases: append(generate(
		settled("reopened", "all that was done is there in a store that is closed and opened again, now and then", Durable, (*world).reopen),
		settled("killed", "all that was acknowledged is there in a store whose process is killed, now and then", Killed, (*world).crash),
		settled("shared", "what one of two open stores has done the other one shows at once", Shared, (*world).turnHandle),
	), raceCases("DURABLE")...)}
}
