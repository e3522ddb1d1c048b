package adaptertest

// neverAlone are the cases that are kept though no broken store in the catalogue is
// found by them alone, with the reason. A case that comes to find one alone has to
// leave the list, except those that race.
var neverAlone = []struct {
	reason string
	cases  []string
}{
	{"what is lost when a store is opened again is missed by whatever looks next", []string{}},
}
