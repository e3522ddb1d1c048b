package workspace

import (
	"context"

	"github.com/openwop/agentmemory/memory"
)

// Snapshot is the files as they were at an instant: what a run sees from its start to its
// end (RFC 0059 §D). Its JSON form is a list without content, which a host records with the
// start of the run, and reads again for a replay.
type Snapshot []File

// Snapshot returns the versions that are current now.
func (w *Workspace) Snapshot(ctx context.Context, job *memory.Job) (Snapshot, error) {
	files, err := w.List(ctx, job, "")
	return Snapshot(files), err
}

// Read returns a file as the snapshot has it: memory.ErrNotFound if it has none, or if that
// version was pruned or forgotten since. The index is as it is now.
func (s Snapshot) Read(ctx context.Context, w *Workspace, job *memory.Job, path string) (File, error) {
	for _, f := range s {
		if f.Path != path {
			continue
		}
		if path == w.cfg.IndexPath {
			return w.Read(ctx, job, path, 0)
		}
		return w.Read(ctx, job, path, f.Version)
	}
	return File{}, errNotFound
}
