package adaptertest

// neverAlone are the cases that are kept though no broken store in the catalogue is
// found by them alone, with the reason. A pattern of the cases is one of package path.
var neverAlone = []struct {
	reason string
	cases  []string
}{}
