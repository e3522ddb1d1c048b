package crashload

import (
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func (v *verifier) readRecords(ctx context.Context) error {
	v.records = map[driver.Located]memory.Record{}
	for _, tenant := range tenants {
		for rec, err := range v.store.History(ctx, tenant, driver.HistoryQuery{}) {
			if err != nil {
				return err
			}
			v.records[driver.Located{Scope: rec.Scope, ID: rec.Entry.ID}] = rec
		}
	}
	v.report.Entries = len(v.records)
	return nil
}

// checkEntries looks for the cause of every entry, and of what became of it.
func (v *verifier) checkEntries() {
	writer := map[driver.Located]*operation{}
	v.restored = map[driver.Located]bool{}
	erased, ends := map[driver.Located]bool{}, map[driver.Located][]driver.Retirement{}
	for _, m := range v.mutations {
		if m.outcome == refused || m.out.Missed {
			continue
		}
		for _, p := range m.Puts {
			writer[p.Located] = m
		}
		for _, x := range m.Ends {
			ends[x.Located] = append(ends[x.Located], x)
		}
		for _, at := range m.Restores {
			v.restored[at] = true
		}
		for _, at := range m.Erases {
			erased[at] = true
			if rec, there := v.records[at]; m.outcome == done && there && !rec.Erased {
				v.wrong(m, "an entry is there that it erased")
			}
		}
	}
	for at, rec := range v.records {
		_, there := v.records[driver.Located{Scope: at.Scope, ID: rec.For}]
		caused := rec.State == memory.Live || // what should not be is said of the mutation
			slices.ContainsFunc(ends[at], func(x driver.Retirement) bool { return x.State == rec.State && x.For == rec.For })
		switch op := writer[at]; {
		case op == nil:
			v.astray("an entry is there that no operation wrote")
		case rec.Erased && !erased[at]:
			v.wrong(op, "its entry is erased, and by no operation")
		case rec.For != "" && !there:
			v.wrong(op, "its entry is %s in favour of one that is not there", rec.State)
		case !rec.Erased && !caused:
			v.wrong(op, "its entry is %s, and by no operation", rec.State)
		case slices.ContainsFunc(rec.Entry.Subjects, func(s string) bool { return v.forgotten[place{at.Tenant, s}] }):
			v.wrong(op, "its entry is there, and its subject was forgotten")
		}
	}
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
		s := memory.Scope{Tenant: op.Tenant, Ref: op.Ref}
		now, err := v.store.List(ctx, s, driver.Query{Version: driver.Version(op.Version), At: v.bank.Now(), Limit: versionLimit})
		if errors.Is(err, memory.ErrSnapshotUnavailable) {
			v.wrong(op, "its version is not available any more")
			continue
		}
		if err != nil {
			return err
		}
		want := slices.DeleteFunc(slices.Clone(op.IDs), func(id string) bool { return v.records[driver.Located{Scope: s, ID: id}].Erased })
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
	for at, rec := range v.records {
		op := v.byNumber[operationOf(rec.Entry.RunID)]
		if op == nil || op.What != distil {
			continue
		}
		job, err := v.job(op.note)
		if err != nil {
			return err
		}
		v.report.Archives++
		_, err = v.distiller.Open(ctx, job, at.Ref, at.ID)
		if errors.Is(err, memory.ErrNotFound) || errors.Is(err, distill.ErrArchive) {
			v.wrong(op, "the archive that its entry names does not load")
		} else if err != nil {
			return err
		}
	}
	return nil
}
