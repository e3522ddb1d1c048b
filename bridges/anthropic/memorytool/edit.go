package memorytool

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/memory"
)

// tries bounds how often an edit is done again on what another writer made meanwhile.
const tries = 200

const (
	errChanged = refused("Error: another writer has changed this since the session began, and the session does " +
		"not see it. Nothing was changed: look again in a new session.")
	errBusy = refused("Error: other writers change this all the time. " +
		"Nothing was changed: view it again and try again.")
	// lookAgain ends the text of a refusal that another writer may have caused.
	lookAgain = " Another writer has changed it meanwhile: view it again."
)

// edit carries out a command that reads files and changes them on the condition that they are as it read
// them. If they are not, it is done again on what they are now. Edits of one Files wait for each other.
func (f *Files) edit(ctx context.Context, do func() (string, error)) (string, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	for n := range tries {
		text, err := do()
		why := refused("")
		switch {
		case errors.Is(err, memory.ErrConflict) && !f.cfg.Memory.moves():
			return "", errChanged
		case errors.Is(err, memory.ErrConflict), errors.Is(err, memory.ErrNotFound):
		case n > 0 && errors.As(err, &why):
			return "", why + lookAgain
		default:
			return text, err
		}
	}
	return "", errBusy
}

// version is the draft of a file in place of the live versions of it, of which the first gives its
// labels and its expiry.
func version(p, text string, before ...string) memory.Draft {
	named := pathTag + p
	return memory.Draft{Content: text, Tags: []string{fileTag, named}, Name: named, Replaces: before}
}

// write makes text the file at a path, in place of what was there.
func (f *Files) write(ctx context.Context, p, text string, before file) error {
	return f.cfg.Memory.putAll(ctx, f.cfg.Ref, []memory.Draft{version(p, text, before.versions...)})
}
