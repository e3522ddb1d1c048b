package adaptertest

// documentValues overwrites a value that was given, and that which was read.
func documentValues(w *world) {
	d := note(home, "n", "mine")
	given := d.Value
	d = w.set(d)
	w.watch.forget()
	given[0] = 'x'
	d.Value = []byte("mine")
	for range 2 {
		got := w.documents(exactly(&d))
		w.check(len(got) == 1 && string(got[0].Value) == "mine", "the value as it was given", "%s", describe(got))
		w.watch.forget()
		got[0].Value[0] = 'x'
	}
	w.unmirrored()
}
