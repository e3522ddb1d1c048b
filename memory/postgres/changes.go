package postgres

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// What a mutation did to an entry.
const (
	wasPut byte = iota
	wasRetired
	wasRestored
	wasErased
	sameRef // a flag: the ref is that of the one before
)

// journal is what the row of a version says of its mutation: for each entry that it
// touched a byte for what happened, the ref unless it is that of the one before, and the
// id, each of the two behind its length.
type journal struct {
	data []byte
	ref  string
}

func (j *journal) add(what byte, ref, id string) {
	if len(j.data) > 0 && ref == j.ref {
		j.data = append(j.data, what|sameRef)
	} else {
		j.data = append(j.data, what)
		j.data = append(binary.AppendUvarint(j.data, uint64(len(ref))), ref...)
		j.ref = ref
	}
	j.data = append(binary.AppendUvarint(j.data, uint64(len(id))), id...)
}

var errJournal = errors.New("malformed journal of a version")

// readJournal calls each for the entries of a ref that a journal names.
func readJournal(data []byte, ref string, each func(what byte, id string)) error {
	name := func() string {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			data = nil
			return ""
		}
		s := string(data[size:][:n])
		data = data[size:][n:]
		return s
	}
	at := ""
	for len(data) > 0 {
		what := data[0]
		data = data[1:]
		if what&sameRef == 0 {
			at = name()
		}
		id := name()
		if what&^sameRef > wasErased || data == nil {
			return errJournal
		}
		if at == ref {
			each(what&^sameRef, id)
		}
	}
	return nil
}

// Changes returns the ids of the scope that were touched between two versions. Its cost
// grows with the mutations of the tenant between them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	const read = `
		SELECT changes FROM agentmemory.versions WHERE tenant = $1 AND version > $2 AND version <= $3`
	first, err := availabilityOf(from)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	last, err := availabilityOf(to)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	var journals [][]byte
	err = st.db.readAt(ctx, s.Tenant, func(b *pgx.Batch) {
		b.Queue(read, []byte(s.Tenant), first.n, last.n).
			Query(rowsInto(&journals, func(row pgx.Row, data *[]byte) error { return row.Scan(data) }))
	}, first, last)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	touched := [4]map[string]bool{{}, {}, {}, {}}
	for _, data := range journals {
		err := readJournal(data, s.Ref, func(what byte, id string) { touched[what][id] = true })
		if err != nil {
			return driver.ChangeSet{}, driver.ErrInternal.With("a journal is damaged", err)
		}
	}
	return driver.ChangeSet{
		Put: keysIn(touched[wasPut]), Retired: keysIn(touched[wasRetired]),
		Restored: keysIn(touched[wasRestored]), Erased: keysIn(touched[wasErased]),
	}, nil
}

func keysIn(set map[string]bool) (ids []string) {
	for id := range set {
		ids = append(ids, id)
	}
	return ids
}
