// Package memorytool answers the commands of Anthropic's memory tool (memory_20250818) from an
// agent's memory: view, create, str_replace, insert, delete and rename on files below /memories.
//
//	files := memorytool.New(memorytool.Config{Memory: run, Ref: "notes"})
//	text, failed := files.Do(ctx, toolUse.Input)
//
// A file is the newest entry with the tags "memory-file" and "file:" with its path. An edit is a
// new entry that carries the subjects of the one before, which it deletes, so that
// memory.Bank.Forget reaches all that became of a file. A delete leaves a mark, an entry without
// text, where the run's view still shows the entries before it. What is stored is redacted: a file that held a secret
// reads with its marker.
//
// The texts that Do returns are for the model: those of the tool's contract. They hold what the
// model may see and nothing else: no cause, and nothing of another tenant.
//
// # Concurrency
//
// Files is safe for concurrent use. Of two edits of one file at the same time both are stored,
// and the later one is the file.
package memorytool
