package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

// refused expects that a version cannot be read in any way by a tenant.
func (w *world) refused(s driver.Scope, v driver.Version) {
	_, err := w.tryList(s, driver.Query{At: w.now, Version: v})
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	_, err = w.tryList(s, driver.Query{At: w.now, Version: v, IDs: []string{"a"}})
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	w.did("ask whether it is intact")
	_, err = w.versions.Intact(w.ctx, s, v)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	if w.changes != nil {
		w.did("ask what has changed since, and until then")
		for _, pair := range [][2]driver.Version{{v, v}, {v, w.version(s.Tenant)}, {w.version(s.Tenant), v}} {
			_, err = w.changes.Changes(w.ctx, s, pair[0], pair[1])
			w.mustBe(err, driver.ErrSnapshotUnavailable)
		}
	}
	w.did("purge up to it")
	_, err = w.versions.Purge(w.ctx, s.Tenant, v, w.now)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
}

func unknownVersion(w *world) {
	w.puts(home, "a")
	v := w.version(home.Tenant)
	forged := []driver.Version{"0", "1", "-1", "x", "é", "18446744073709551616", "';", v + "0", v + " "}
	if n, mark, err := v.Parse(); err == nil {
		mark[0]++
		forged = append(forged, mark.Version(n), mark.Version(0), mark.Version(n+1))
	}
	for _, version := range forged {
		w.did("make up a version: %q", version)
		w.refused(home, version)
	}
	w.sameIDs(w.list(home, driver.Query{At: w.now, Version: v}), []string{"a"})
}

func otherIncarnation(w *world) {
	empty := w.version(home.Tenant)
	w.puts(home, "a")
	v := w.version(home.Tenant)
	w.did("take another fresh store")
	w.fresh()
	w.refused(home, empty)
	w.did("write the same to it")
	w.puts(home, "a")
	w.refused(home, empty)
	w.refused(home, v)
}

// purgeAtOnce lets two purge what many refs have ended, while others read what stays.
func purgeAtOnce(w *world) {
	want := w.putMany(home, w.size(300, 1000))
	refs, rounds := w.size(60, 200), w.size(10, 60)
	end := func(ref, id string) {
		w.puts(at(home.Tenant, ref), id)
		w.delete(at(home.Tenant, ref), id, true)
	}
	w.quietly(fmt.Sprintf("put an entry in each of %d refs and delete it", refs), func() {
		for i := range refs {
			end(fmt.Sprint("ref ", i), "e")
		}
	})
	var removed, purging atomic.Int64
	purging.Store(2)
	w.quietly("two put, delete and purge, while two read what stays", func() {
		w.parallel(4, func(i int) {
			if i > 1 {
				for purging.Load() > 0 {
					w.sameIDs(w.list(home, driver.Query{At: w.now}), want)
				}
				return
			}
			defer purging.Add(-1)
			for k := range rounds {
				v, err := w.versions.Version(w.ctx, home.Tenant)
				w.must(err)
				n, err := w.versions.Purge(w.ctx, home.Tenant, v, w.now)
				if !errors.Is(err, driver.ErrSnapshotUnavailable) { // the other was first
					w.must(err)
				}
				removed.Add(int64(n))
				end(fmt.Sprint("own ", i), fmt.Sprint("e", k))
			}
		})
		removed.Add(int64(w.purge(home.Tenant, w.version(home.Tenant))))
	})
	w.check(removed.Load() == int64(refs+2*rounds), fmt.Sprintf("%d records removed", refs+2*rounds), "%d", removed.Load())
}
