package distill_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// sampleArchive has every escape that JSON knows.
func sampleArchive() *distill.Archive {
	a := &distill.Archive{
		Budget: 500, Format: distill.Format, MaxBytes: 4096, MemoryRef: "mem://acme/\u2028é", Redactor: "r\"1\\", Summarizer: "s", Tokenizer: "t",
		Items: []distill.Item{
			{Sources: []string{"mem_1"}, Text: "tab\tquote\" back\\ bell\u0007 \b\f\r del\u007f <&> 漢字🙂"},
			{Sources: nil, Text: "line\nline"},
		},
		Parents: []string{digest(1), digest(2)},
		Sources: []distill.ArchivedSource{{Digest: digest(9), ID: "mem_1", Weight: 1}, {Digest: digest(0), ID: "mem_2", Weight: 7}},
		Tokens:  distill.Tokens{Input: 300, Output: 200},
	}
	a.Key = a.Question()
	return a
}

func TestD2_ArchivesAreCanonicalJSON(t *testing.T) {
	data := sampleArchive().Encode()
	canonical, err := jcs.Transform(data)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(data))
	a, err := distill.Decode(data)
	require.NoError(t, err)
	require.Equal(t, data, a.Encode())
}

// sourceDigest is how an archive names what a source said, by an encoder of its own.
func sourceDigest(t *testing.T, e memory.Entry) string {
	tags := e.Tags
	if tags == nil {
		tags = []string{}
	}
	plain, err := json.Marshal(map[string]any{"content": e.Content, "tags": tags, "createdAt": e.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z")})
	require.NoError(t, err)
	plain, err = jcs.Transform(plain)
	require.NoError(t, err)
	return distill.DigestOf(plain)
}

func TestD2_AnArchiveThatContradictsItselfIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(a *distill.Archive){
		"format":     func(a *distill.Archive) { a.Format = "openwop.agentmemory.archive/2" },
		"budget":     func(a *distill.Archive) { a.Budget = 499 },
		"no budget":  func(a *distill.Archive) { a.Budget = 0 },
		"tokens":     func(a *distill.Archive) { a.Tokens.Input = -1 },
		"key":        func(a *distill.Archive) { a.Key = digest(0) },
		"no items":   func(a *distill.Archive) { a.Items = nil },
		"no sources": func(a *distill.Archive) { a.Sources = nil },
		"order":      func(a *distill.Archive) { a.Sources[0], a.Sources[1] = a.Sources[1], a.Sources[0] },
		"digest":     func(a *distill.Archive) { a.Sources[0].Digest = strings.ToUpper(a.Sources[0].Digest) },
		"parent":     func(a *distill.Archive) { a.Parents[1] += "0" },
		"weight":     func(a *distill.Archive) { a.Sources[0].Weight = 0 },
		"parents":    func(a *distill.Archive) { a.Parents[1] = a.Parents[0] },
		"blank item": func(a *distill.Archive) { a.Items[0].Text = "" },
		"stranger":   func(a *distill.Archive) { a.Items[0].Sources = []string{"mem_3"} },
		"item order": func(a *distill.Archive) { a.Items[0].Sources = []string{"mem_2", "mem_1"} },
		"limit":      func(a *distill.Archive) { a.MaxBytes = 10 },
	} {
		a := sampleArchive()
		spoil(a)
		if name != "key" && name != "format" {
			a.Key = a.Question()
		}
		_, err := distill.Decode(a.Encode())
		require.ErrorIs(t, err, distill.ErrArchive, name)
	}
	data := string(sampleArchive().Encode())
	for _, other := range []string{
		"", "null", "[]", data + " ", data + "{}", " " + data, strings.Replace(data, `"budget"`, `"Budget"`, 1), strings.Replace(data, `{"budget":500`, `{"budget":1,"budget":500`, 1),
		strings.Replace(data, `{"budget":500`, `{"aaa":1,"budget":500`, 1), strings.Replace(data, `500`, `5e2`, 1), strings.Replace(data, `500`, `1e400`, 1),
		strings.Replace(data, "漢", `\u6f22`, 1), strings.Replace(data, "漢", "\xff", 1), strings.Repeat("[", 100000),
	} {
		_, err := distill.Decode([]byte(other))
		require.ErrorIs(t, err, distill.ErrArchive)
		require.NotContains(t, err.Error(), "mem_")
	}
}

// What decodes is canonical.
func FuzzDecode(f *testing.F) {
	good := sampleArchive().Encode()
	f.Add(good, 0, byte(1))
	f.Add([]byte(`{"budget":1}`), 3, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if bytes.Equal(data, good) && len(data) > 0 && flip != 0 {
			data = bytes.Clone(data)
			data[uint(at)%uint(len(data))] ^= flip
		}
		if a, err := distill.Decode(data); err == nil && !bytes.Equal(a.Encode(), data) {
			t.Error("two forms of one archive")
		}
	})
}

// digest is an address that begins with a byte.
func digest(first byte) string { return fmt.Sprintf("sha256:%02x%062x", first, 0) }
