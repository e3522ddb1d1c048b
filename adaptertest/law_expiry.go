package adaptertest

import ()

// Expiry is judged by each audit too, at the instants around the first that expire.
func expiryLaw() law {
	return law{name: "TTL", number: "M4", says: "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries", cases: []testCase{
		{"instants", "every instant that is kept comes back, in UTC, and is judged to the millisecond, by no clock of the store", nil, sweepInstants},
	}}
}
