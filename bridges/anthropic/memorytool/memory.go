package memorytool

import (
	"context"

	"github.com/openwop/agentmemory/memory"
)

// Memory is what the files are kept in: that of [InRun] or of [Live].
type Memory interface {
	List(ctx context.Context, ref string, o memory.ListOptions) ([]memory.Entry, error)
	// putAll writes versions of files in place of those that their drafts name, in one mutation.
	putAll(ctx context.Context, ref string, drafts []memory.Draft) error
	// end ends versions of files in one mutation.
	end(ctx context.Context, ref string, ids []string) error
	// moves reports whether a list shows what others have changed since an edit was refused.
	moves() bool
}

// InRun is the memory of a run: its view and its own writes. An edit of what others have changed
// since the run started is refused.
func InRun(run *memory.Run) Memory { return runMemory{run.Memory(), run} }

type runMemory struct {
	memory.Reader
	run *memory.Run
}

func (m runMemory) putAll(ctx context.Context, ref string, drafts []memory.Draft) error {
	_, err := m.run.PutAll(ctx, ref, drafts...)
	return err
}

// end has a mark take the place of the versions, and deletes the mark: a run goes on seeing what others
// wrote and it deleted, but not what it replaced or what it wrote itself and deleted.
func (m runMemory) end(ctx context.Context, ref string, ids []string) error {
	mark, err := m.run.Put(ctx, ref, memory.Draft{Tags: []string{goneTag}, Replaces: ids})
	if err != nil {
		return err
	}
	_, err = m.run.Delete(ctx, ref, mark.ID)
	return err
}

func (m runMemory) moves() bool { return false }

// Live is a tenant's memory as it is at each call. Edits need a store that is a driver.Transactor.
func Live(bank *memory.Bank, job *memory.Job) Memory {
	return liveMemory{bank.Reader(job.Tenant()), job}
}

type liveMemory struct {
	memory.Reader
	job *memory.Job
}

func (m liveMemory) putAll(ctx context.Context, ref string, drafts []memory.Draft) error {
	_, err := m.job.PutAll(ctx, ref, drafts...)
	return err
}

func (m liveMemory) end(ctx context.Context, ref string, ids []string) error {
	var retire []memory.Retire
	for _, id := range ids {
		retire = append(retire, memory.Retire{ID: id, State: memory.Deleted})
	}
	_, err := m.job.Rewrite(ctx, ref, memory.Rewrite{Retire: retire})
	return err
}

func (m liveMemory) moves() bool { return true }
