package adaptertest

// documentValues overwrites a value that was given, and that which was read.
func documentValues(w *world) {
	d := note(home, "n", "mine")
	d.Due = w.now
	given := d.Value
	w.quietly(`set the document "n" to the value "mine", and write "xine" over the slice that was given`, func() { d = w.set(d) })
	w.watch.forget()
	given[0] = 'x'
	d.Value = []byte("mine")
	for range 2 {
		got := w.documents(exactly(&d))
		if w.scheduler != nil {
			got = append(got, w.due(d.Kind, w.now, 1)...)
		}
		for i := range got {
			w.check(string(got[i].Value) == "mine", "the value as it was given", "%s", describe(got[i]))
			got[i].Value[0] = 'x'
		}
		w.watch.forget()
	}
	w.unmirrored()
}
