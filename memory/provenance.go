package memory

import (
	"context"
	"strings"
	"unicode"

	"github.com/openwop/agentmemory/memory/driver"
)

// The tags by which the outputs of compaction and distillation are known (RFC 0012 §C)
// begin with these. Only a bank writes them, see [Derived], so that no caller can pass off
// an entry as such an output.
const (
	CompactedPrefix = driver.CompactedPrefix
	ArchivePrefix   = driver.ArchivePrefix
)

func isProvenance(tag string) bool {
	return strings.HasPrefix(tag, CompactedPrefix) || strings.HasPrefix(tag, ArchivePrefix)
}

// compactedTag is the provenance tag of the output of a pass, without white space.
func compactedTag(runID string) string {
	return CompactedPrefix + strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, runID)
}

// provenance are the tags of a derived entry that the bank adds. A reader has to find
// them as they are, so one that the redactor would change is refused.
func (w writer) provenance(ctx context.Context, d *Derived) ([]string, error) {
	if !d.Compacted {
		if d.Archive != "" {
			return nil, fail(ErrValidation, "Derived.Archive is set without Derived.Compacted")
		}
		return nil, nil
	}
	tags := []string{compactedTag(w.runID)}
	if d.Archive != "" {
		tags = append(tags, ArchivePrefix+d.Archive)
	}
	for _, t := range tags {
		if !validTag(t) {
			return nil, fail(ErrValidation, "the job's id or Derived.Archive is too long for a tag of 256 characters")
		}
	}
	return tags, w.identifiers(ctx, names("the job's id or Derived.Archive", tags...)...)
}
