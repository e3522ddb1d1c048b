package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// journal says what a version has touched, line by line. A line is the ref of those that
// come after it, or an id, and begins with a byte that says which or what became of it.
type journal struct {
	lines []string
	ref   *string // of the last line
}

const (
	inRef       = '@'
	actPut      = '+'
	actRetired  = '-'
	actRestored = '^'
	actErased   = 'x'
)

func (j *journal) add(act byte, ref, id string) {
	if j.ref == nil || *j.ref != ref {
		j.ref = &ref
		j.lines = append(j.lines, string(rune(inRef))+ref)
	}
	j.lines = append(j.lines, string(rune(act))+id)
}

// Changes returns the ids of a scope that were touched by the mutations after the
// version from, up to and with the version to. It reads the journals of all of them.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	first, err := pointOf(ctx, s.Tenant, from)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	last, err := pointOf(ctx, s.Tenant, to)
	if err != nil {
		return driver.ChangeSet{}, err
	}
	touched := map[byte][]string{}
	seen := map[string]bool{}
	err = st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		var packed sql.RawBytes
		if err := rows.Scan(&packed); err != nil {
			return false, wrap(readFailed, err)
		}
		lines, ok := unpack(packed)
		if !ok || slices.Contains(lines, "") {
			return false, &failure{damaged, nil}
		}
		inside := false
		for _, line := range lines {
			if line[0] == inRef {
				inside = line[1:] == s.Ref
			} else if inside && !seen[line] {
				seen[line] = true
				touched[line[0]] = append(touched[line[0]], line[1:])
			}
		}
		return true, nil
	}, `SELECT changes FROM versions WHERE tenant = ? AND version > ? AND version <= ?`, s.Tenant, first.n, last.n)
	for _, p := range []point{first, last} {
		if err == nil {
			err = st.db.available(st.db.queries(ctx), p)
		}
	}
	if err != nil {
		return driver.ChangeSet{}, err
	}
	return driver.ChangeSet{Put: touched[actPut], Retired: touched[actRetired], Restored: touched[actRestored], Erased: touched[actErased]}, nil
}
