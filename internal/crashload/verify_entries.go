package crashload

import (
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// checkOutcome compares what the store said of an operation with what is there.
func (v *verifier) checkOutcome(op *operation) {
	switch op.What {
	case put, batch:
		v.checkWritten(op)
	case remove:
		rec, there := v.records[located(op, 0, op.IDs[0])]
		kept := op.outcome == done && there && !rec.Erased
		if kept && (rec.State == memory.Live || op.out.Hit && rec.State != memory.Deleted) {
			v.wrong(op, "an entry is %s whose deletion was acknowledged", rec.State)
		}
	case forget:
		if op.outcome == done && v.about[place{op.Tenant, op.Subject}] {
			v.wrong(op, "an entry is there whose subject was forgotten")
		}
	case distil:
		if n := len(v.ofRun[op.N]); op.outcome == done && n != 1 && !v.mayBeForgotten(op) {
			v.wrong(op, "it has %d outputs instead of one", n)
		}
	}
}

// mayBeForgotten reports whether an operation tried to forget the subject of op.
func (v *verifier) mayBeForgotten(op *operation) bool {
	_, tried := v.forgets[place{op.Tenant, op.Subject}]
	return tried
}

// checkWritten looks for the entries of an operation: all of them if it was
// acknowledged, all or none otherwise.
func (v *verifier) checkWritten(op *operation) {
	var stored []memory.Entry
	erased, found := 0, len(v.ofRun[op.N])
	for i, id := range op.out.IDs {
		if rec, there := v.records[located(op, i, id)]; rec.Erased {
			erased++
		} else if there {
			stored = append(stored, rec.Entry)
		}
	}
	missing := op.Size - len(stored) - erased
	switch acknowledged := op.outcome == done; {
	case acknowledged && missing > 0:
		v.wrong(op, "%d of its %d acknowledged entries are not there", missing, op.Size)
	case acknowledged && erased == 0 && sumOfEntries(stored) != op.out.Sum:
		v.wrong(op, "its acknowledged entries say something else now")
	case op.outcome == refused && found > 0:
		v.wrong(op, "%d of its entries are there, although it was refused", found)
	case found > op.Size || op.unknown() && found > 0 && found < op.Size:
		v.wrong(op, "%d of its %d entries are there: half a batch", found, op.Size)
	case found > 0 && !v.mayBeForgotten(op): // or else what it merged is live again
		for _, id := range op.Retire {
			rec := v.records[located(op, 0, id)]
			if heir := v.records[located(op, 0, rec.For)]; rec.State != memory.Merged || operationOf(heir.Entry.RunID) != op.N {
				v.wrong(op, "its entries are there, and what they replace is %s: half a batch", rec.State)
			}
		}
	}
}

// checkFates looks for the cause of every end: an entry that is not live was deleted or
// forgotten by an operation, or gave way to an entry that is there.
func (v *verifier) checkFates() {
	for at, rec := range v.records {
		op := v.authorOf(at, rec)
		if op == nil {
			continue // an unknown put, erased; or nobody's, which was said
		}
		switch {
		case rec.Erased:
			if !v.mayBeForgotten(op) {
				v.wrong(op, "its entry is erased, and no operation forgot it")
			}
		case rec.State == memory.Deleted:
			if !v.deletes[at] {
				v.wrong(op, "its entry is deleted, and by no operation")
			}
		case rec.State != memory.Live:
			if !v.lineageEnds(at) {
				v.wrong(op, "its entry is %s in favour of one that is not there", rec.State)
			}
		}
	}
}

// lineageEnds reports whether what an entry gave way to is there, whatever became of it.
func (v *verifier) lineageEnds(at memory.Located) bool {
	for range len(v.records) {
		rec, there := v.records[at]
		if !there {
			return false
		}
		if rec.State == memory.Live || rec.State == memory.Deleted {
			return true
		}
		at.ID = rec.For
	}
	return false // a circle
}

// Versions cost too much to read all of them after each round: the newest are read, and
// one in so many of the others in turn.
const (
	newest = 16
	turns  = 8
)

// checkVersions reads what was read at a version, but for what was erased since.
func (v *verifier) checkVersions(ctx context.Context) error {
	var readings []*operation
	for _, op := range v.ops {
		if op.What == version {
			readings = append(readings, op)
		}
	}
	for i, op := range readings {
		if i < len(readings)-newest && i%turns != v.report.Loads%turns {
			continue
		}
		now, err := v.store.ListAt(ctx, memory.Scope{Tenant: op.Tenant, Ref: op.Ref}, driver.Version(op.Version), driver.Query{At: v.bank.Now(), Limit: versionLimit})
		if errors.Is(err, memory.ErrSnapshotUnavailable) {
			v.wrong(op, "its version is not available any more")
			continue
		}
		if err != nil {
			return err
		}
		want := slices.DeleteFunc(slices.Clone(op.IDs), func(id string) bool { return v.records[located(op, 0, id)].Erased })
		got := idsOf(now)
		if len(op.IDs) == versionLimit && len(got) > len(want) {
			got = got[:len(want)] // others came up from below
		}
		if !slices.Equal(want, got) {
			v.wrong(op, "its version shows something else now")
		}
	}
	return nil
}

// checkArchives loads the archives of the distillations.
func (v *verifier) checkArchives(ctx context.Context) error {
	for _, op := range v.ops {
		if op.What != distil {
			continue
		}
		job, err := v.job(op.note)
		if err != nil {
			return err
		}
		for _, rec := range v.ofRun[op.N] {
			v.report.Archives++
			_, err := v.distiller.Open(ctx, job, op.Ref, rec.Entry.ID)
			if errors.Is(err, memory.ErrNotFound) || errors.Is(err, distill.ErrArchive) {
				v.wrong(op, "the archive that its entry names does not load")
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
