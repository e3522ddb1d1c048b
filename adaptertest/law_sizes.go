package adaptertest

func sizesLaw() law {
	return law{name: "SIZES", number: "M5, M8", says: "what holds for a few holds for many, and for long texts", cases: append(manyCases(),
		testCase{"long-texts", "long texts come back, and are told apart by their last byte", nil, longTexts},
		testCase{"long-values", "long values of documents come back, and are retained", []Offer{Transactor}, longValues})}
}
