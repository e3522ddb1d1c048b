// Package memorytool answers the commands of Anthropic's memory tool (memory_20250818) from an
// agent's memory: view, create, str_replace, insert, delete and rename on files below /memories.
//
//	files := memorytool.New(memorytool.Config{Memory: run, Ref: "notes"})
//	text, failed := files.Do(ctx, toolUse.Input)
//
// A file is an entry with the tags "memory-file" and "file:" with its path. An edit is a new entry
// that replaces the version that it read, in one mutation, and keeps its subjects and its expiry, so
// that memory.Bank.Forget reaches all that became of a file. So does a rename; one of a directory, and
// its delete, are one mutation too. What is stored is redacted: a file that held a secret reads with
// its marker.
//
// The texts that Do returns are for the model: those of the tool's contract. They hold what the
// model may see and nothing else: no cause, and nothing of another tenant.
//
// # Concurrency
//
// Files is safe for concurrent use, and any number of processes may edit the files of a ref. No edit
// that was acknowledged is lost, and of two that make the file of one path one is refused. An edit
// that another writer was faster than is done again on the newest version. It is refused with a text
// that says to view the file again if it cannot be, such as if the text to be replaced is gone.
//
// A run goes on seeing the files of its start. So in a run ([InRun]) an edit of a file that others
// have changed since then is refused: it can be made in a new run. A replay of the run says the same.
//
// What other writers than this package put under the tags of a file is an older or newer version of
// it, and the next edit replaces all of them.
package memorytool
