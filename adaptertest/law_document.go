package adaptertest

// documentValues overwrites a value that was given, and that which was read.
func documentValues(w *world) {
	d := note(home, "n", "mine")
	d.Due = w.now
	given := d.Value
	w.quietly(`set the document "n" to the value "mine", and write "xine" over the slice that was given`, func() { d = w.set(d) })
	w.watch.forget()
	given[0], d.Value = 'x', []byte("mine")
	for range 2 {
		got, want := w.documents(exactly(&d)), 1
		if w.scheduler != nil {
			want, got = 2, append(got, w.due(d.Kind, w.now, 1)...)
		}
		w.check(len(got) == want, "the document from every read", "%d", len(got))
		for i := range got {
			w.check(string(got[i].Value) == "mine", "the value as it was given", "%s", describe(got[i]))
			got[i].Value[0] = 'x'
		}
		w.watch.forget()
	}
	w.unmirrored()
}
