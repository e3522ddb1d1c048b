package sqlite

// emptyLog empties the log once something was erased. If a reader of another process is in the
// way, or the disk fails, the next write of any process tries again. Without wait it does not
// wait for readers. The error is that of the disk.
func (w *writer) emptyLog(wait bool) error {
	if w.unclean == "" {
		return nil
	}
	defer w.pauseReads()()
	if !wait {
		if _, err := w.conn.ExecContext(background, "PRAGMA busy_timeout = 0"); err != nil {
			return err
		}
		defer w.conn.ExecContext(background, "PRAGMA busy_timeout = 100")
	}
	moved, err := w.checkpoint("TRUNCATE")
	if err == nil && moved {
		w.unclean, w.cleaned = "", w.unclean
	}
	return err
}

// pauseReads waits for the reads of this process. No other one begins before resume is called.
func (w *writer) pauseReads() (resume func()) {
	for range cap(w.readers) {
		w.readers <- struct{}{}
	}
	return func() {
		for range cap(w.readers) {
			<-w.readers
		}
	}
}

// checkpoint moves the log into the file and reports whether all of it is there. Other
// processes in the way are no error.
func (w *writer) checkpoint(mode string) (moved bool, err error) {
	var blocked, frames, there int
	err = w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint("+mode+")").Scan(&blocked, &frames, &there)
	if busy(err) {
		return false, nil
	}
	return err == nil && blocked == 0, err
}
