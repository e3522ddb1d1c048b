package distill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Format names the shape of an [Archive] and its version. A reader refuses any
// other.
const Format = "openwop.agentmemory.archive/1"

// MaxArchiveBytes bounds an archive.
const MaxArchiveBytes = 64 << 20

// Archive is what a distillation made (RFC 0062 §B step 4). Its bytes are canonical
// JSON (RFC 8785) and its address is their SHA-256. They hold no run, no clock and
// nothing else that would differ between two passes over the same sources: the
// record of when it happened is the entry and its event.
type Archive struct {
	// Budget is the token budget in force, after clamping.
	Budget int `json:"budget"`
	// Fallback tells that the summarizer named here did not keep to its limits, or said
	// nothing that the sources say, so that the items are the default summarizer's.
	Fallback bool `json:"fallback"`
	// Format is [Format].
	Format string `json:"format"`
	// Items are the summary, most valuable first.
	Items []Item `json:"items"`
	// Key is the digest of the question: see [Archive.Question].
	Key string `json:"key"`
	// MaxBytes is the limit that the summary had to keep in bytes.
	MaxBytes int `json:"maxBytes"`
	// MemoryRef is the scope that it was made from, within its tenant.
	MemoryRef string `json:"memoryRef"`
	// Parents are the archives behind those sources that were themselves distilled,
	// in the order of their addresses.
	Parents []string `json:"parents"`
	// Redactor is the version of the host's redaction, as it declares it.
	Redactor string `json:"redactor"`
	// Sources are all entries that were read, in the order of their ids.
	Sources []ArchivedSource `json:"sources"`
	// Summarizer and Tokenizer are the names of those that were asked.
	Summarizer string `json:"summarizer"`
	Tokenizer  string `json:"tokenizer"`
	// Tokens is the account: input and output together are at most the budget.
	Tokens Tokens `json:"tokens"`
}

// ArchivedSource names an entry and what it said.
type ArchivedSource struct {
	Digest string `json:"digest"` // SHA-256 of its canonical {content, createdAt, tags}
	ID     string `json:"id"`
	Weight int    `json:"weight"` // see [Source]
}

// Tokens is the account of a distillation.
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

func (t Tokens) used() int { return t.Input + t.Output }

// Text is the summary as the entry's content has it: an item a line.
func (a *Archive) Text() string { return join(a.Items) }

// Encode returns the canonical bytes; nil for an archive with a number beyond
// 2^53-1, which they cannot hold.
func (a *Archive) Encode() []byte {
	if !a.exact() {
		return nil
	}
	b := *a
	b.Items = make([]Item, len(a.Items))
	for i, it := range a.Items {
		b.Items[i] = Item{listed(it.Sources), it.Text}
	}
	b.Parents, b.Sources = listed(a.Parents), listed(a.Sources)
	return canonical(&b)
}

// Question is the digest of all that the bytes are a function of: the sources by id
// and by what they said after redaction, the budget, the limit, and the names and
// versions of tokenizer, summarizer and redactor (D2). It is empty where
// [Archive.Encode] gives nil.
func (a *Archive) Question() string {
	if !a.exact() {
		return ""
	}
	return DigestOf(canonical(map[string]any{
		"budget": a.Budget, "format": a.Format, "maxBytes": a.MaxBytes, "memoryRef": a.MemoryRef, "redactor": a.Redactor,
		"sources": listed(a.Sources), "summarizer": a.Summarizer, "tokenizer": a.Tokenizer,
	}))
}

// exact reports whether no number is beyond 2^53-1: the canonical form would round
// it.
func (a *Archive) exact() bool {
	rounded := func(n int) bool { return int64(n) > events.MaxInteger || int64(n) < -events.MaxInteger }
	return !rounded(a.Budget) && !rounded(a.MaxBytes) && !rounded(a.Tokens.Input) && !rounded(a.Tokens.Output) &&
		!slices.ContainsFunc(a.Sources, func(s ArchivedSource) bool { return rounded(s.Weight) })
}

// Decode reads canonical bytes, without asking for their address. Its errors match
// [ErrArchive] and hold nothing of them.
func Decode(data []byte) (*Archive, error) {
	if len(data) > MaxArchiveBytes {
		return nil, broken("is too large")
	}
	a := new(Archive)
	if json.Unmarshal(data, a) != nil {
		return nil, broken("is not JSON of its shape")
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	// What decoding forgives (another field, the case of a name, a field twice, white space,
	// null) does not come out again.
	if !bytes.Equal(a.Encode(), data) {
		return nil, broken("is not in canonical form")
	}
	return a, nil
}

func (a *Archive) check() error {
	switch {
	case a.Format != Format:
		return broken("is of another format")
	case !a.exact():
		return broken("has a number beyond 2^53-1")
	case a.Budget < 1 || a.MaxBytes < 1:
		return broken("has no budget")
	case a.Tokens.Input < 0 || a.Tokens.Output < 0 || a.Tokens.Input > a.Budget-a.Tokens.Output:
		return broken("is over its budget")
	case len(a.Items) == 0 || len(a.Sources) == 0:
		return broken("is empty")
	case len(a.Text()) > a.MaxBytes:
		return broken("is over its limit")
	case a.Question() != a.Key:
		return broken("has the key of another question")
	}
	var ids []string
	for _, s := range a.Sources {
		if s.ID == "" || s.Weight < 1 || !digest.MatchString(s.Digest) {
			return broken("has a source without an id, a weight or a digest")
		}
		ids = append(ids, s.ID)
	}
	if !isInOrder(ids) || !isInOrder(a.Parents) {
		return broken("has sources or parents out of order")
	}
	for _, p := range a.Parents {
		if !digest.MatchString(p) {
			return broken("has a parent that is no address")
		}
	}
	isStranger := func(id string) bool { _, found := slices.BinarySearch(ids, id); return !found }
	for _, it := range a.Items {
		if it.Text == "" || !utf8.ValidString(it.Text) || !isInOrder(it.Sources) || slices.ContainsFunc(it.Sources, isStranger) {
			return broken("has an item without text, or with sources that are none")
		}
	}
	return nil
}

func isInOrder(ids []string) bool { return slices.Equal(ids, sortedIDs(ids)) }

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// DigestOf is the address of archive bytes: "sha256:" and 64 lower-case hex digits.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sourceDigest is the digest by which an archive names what a source said: that
// of the canonical JSON of {content, createdAt, tags}, redacted as it was when the
// archive was made. An auditor who holds the entry can compute it again.
func sourceDigest(e memory.Entry) string {
	return DigestOf(canonical(&struct {
		Content   string   `json:"content"`
		CreatedAt string   `json:"createdAt"`
		Tags      []string `json:"tags"`
	}{e.Content, e.CreatedAt.UTC().Format(wireTime), listed(e.Tags)}))
}

const wireTime = "2006-01-02T15:04:05.000Z"
