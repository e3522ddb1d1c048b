// Package workspace keeps a tenant's files beside its memory (RFC 0059): the same store, the
// same redactor, the same forgetting.
//
// A [Workspace] has the operations, each through the job of a host (memory.Bank.Background),
// which says whose files they are. [Handler] serves them.
//
//	w, err := workspace.New(workspace.Config{})
//	f, err := w.Write(ctx, job, workspace.Draft{Path: "notes/today.md", Content: "# Today"})
//	f, err = w.Read(ctx, job, "notes/today.md", 0)
//
// # Guarantees
//
//   - WCT-1: files are those of the job's tenant, and no argument can name another's. What is
//     another tenant's cannot be told from what is not there.
//   - WSR-1: content is redacted before it is stored, and its length is checked redacted. A
//     path, a content type or a subject that holds a secret is refused.
//   - A write makes the next version of a path, which is never used again: not after a
//     delete, which is a version too, nor after the file was forgotten. Of two writes at once,
//     one is first. A write and its workspace.updated commit together (E3).
//   - M10: forgetting a subject removes every version that carries it, and a version that was
//     written without it stays: the newest that is left is then the current one, under its own
//     number. Scrub redacts all versions; see memory.Bank.
//   - A [Snapshot] names the versions of an instant, and reads those until they are pruned.
//
// # Errors
//
// memory.ErrNotFound for a file or a version that is not there; a *wire.Error that is
// workspace_conflict, for an ETag that is not the file's, and one that is workspace_too_large or
// storage_limit_exceeded; memory.ErrValidation for a malformed path.
// None holds a path or content (M2).
//
// # Concurrency
//
// All methods are safe for concurrent use, by any number of processes.
package workspace
