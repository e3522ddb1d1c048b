package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
)

// SQLite adds what a log has (-wal) to whatever file it stands beside. If a backup was
// copied over the file, that makes one database of two. So the table seal has one row
// with two random values: now, and what that was before. The first transactions of a log,
// which begins anew whenever all of it was moved into the file, set before to now, and now
// to a new value. A file has therefore either the value from before its log began, which is
// before in the first row that the log has, or one that the log has. The row fills the end of
// its page, so that it is found in the log without SQLite.

const (
	sealMagic = "agentmemory seal"
	sealBytes = 16 // of each value, and of the magic
	reseal    = `UPDATE seal SET before = now, now = randomblob(16)`
)

// salt is how the header of a log begins, which is random for each. All zeros are no log.
type salt [8]byte

// logSalt returns the salt of the log that is there now.
func (w *writer) logSalt() (s salt) {
	if w.log == nil {
		w.log, _ = os.Open(w.path + "-wal") // SQLite has no lock on it that closing would let go of
	}
	if w.log != nil {
		if _, err := w.log.ReadAt(s[:], 16); err != nil {
			return salt{}
		}
	}
	return s
}

// seal sets the row of the seal, unless that was done in this log, and reports whether it
// did.
func (t *tx) seal() (bool, error) {
	if now := t.w.logSalt(); now != (salt{}) && now == t.w.sealed {
		return false, nil
	}
	_, err := t.exec(reseal)
	return true, err
}

// checkLog returns [ErrForeignLog] if the log beside a file, which this process must not
// have open, belongs to another one. Other processes may have both open.
func checkLog(path string) error {
	for range 10 {
		log, _, err := readLog(path + "-wal")
		if err != nil || log == (salt{}) {
			return err
		}
		logged, now, err := readSeal(path)
		if err != nil {
			return err
		}
		same, seals, err := readLog(path + "-wal")
		if err != nil {
			return err
		}
		if same != log { // another process is at work
			continue
		}
		if !logged || len(seals) > 0 && !slices.ContainsFunc(seals, func(s []byte) bool { return bytes.Equal(s, now) }) {
			return ErrForeignLog
		}
		return nil
	}
	return nil
}

// readLog returns the salt of a log, if it has anything, and all values of the seal in it.
// See https://sqlite.org/fileformat2.html#the_write_ahead_log.
func readLog(path string) (s salt, seals [][]byte, err error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, wrap(openFailed, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	var head [32]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return s, nil, nil // nothing was committed
	}
	page := binary.BigEndian.Uint32(head[8:])
	if page < 512 || page > 65536 {
		return s, nil, nil // SQLite does not look into it either
	}
	frame := make([]byte, 24+page)
	for {
		if _, err := io.ReadFull(r, frame); err != nil || !bytes.Equal(frame[8:16], head[16:24]) {
			return s, seals, nil
		}
		s = salt(head[16:24])
		if row := frame[len(frame)-3*sealBytes:]; strings.HasPrefix(string(row), sealMagic) {
			seals = append(seals, bytes.Clone(row[sealBytes:2*sealBytes]), bytes.Clone(row[2*sealBytes:]))
		}
	}
}

// readSeal reads what the file has without its log: whether it is one that is kept with a
// log, which what VACUUM INTO makes is not, and the seal, of zeros in an older schema.
func readSeal(path string) (logged bool, now []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, nil, wrap(openFailed, err)
	}
	var head [20]byte
	_, err = io.ReadFull(f, head[:])
	f.Close()
	if err != nil || !bytes.Equal(head[18:], []byte{2, 2}) {
		return false, nil, nil
	}
	db, err := sql.Open("sqlite", fileURI(path)+"?immutable=1&mode=ro")
	if err != nil {
		return false, nil, wrap(openFailed, err)
	}
	defer db.Close()
	if db.QueryRowContext(context.Background(), `SELECT now FROM seal`).Scan(&now) != nil {
		now = make([]byte, sealBytes)
	}
	return true, now, nil
}
