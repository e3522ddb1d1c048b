package distill_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// pieces are what JSON encoders disagree about.
var pieces = []string{
	"a", "Zz", "0", " ", "/", "<", ">", "&", "'", "\"", "\\", "\\u0041", "\u007f", "\u0080", "\u00e9", "e\u0301", "\u2028", "\u2029", "\ufeff",
	"\ufffd", "\ufffe", "\u6f22", "\ue000", "\U0001f642", "\U0001f469\u200d\U0001f680", "\U0001d11e", "\U0010ffff", "{", "}", "[", "]", ",", ":",
}

func randomText(rng *rand.Rand) string {
	var text []byte
	for range 1 + rng.IntN(12) {
		if rng.IntN(3) == 0 {
			text = append(text, byte(rng.IntN(0x20)))
		} else {
			text = append(text, pieces[rng.IntN(len(pieces))]...)
		}
	}
	return string(text)
}

func randomDigest(rng *rand.Rand) string {
	var d [sha256.Size]byte
	for i := range d {
		d[i] = byte(rng.Uint32())
	}
	return fmt.Sprintf("sha256:%x", d)
}

// randomArchive agrees with itself, and uses everything that an archive may have. One
// in four is plain throughout.
func randomArchive(rng *rand.Rand) *distill.Archive {
	number := func() int { return int(1 + rng.Int64N(events.MaxInteger>>rng.IntN(50))) }
	text := func() string { return randomText(rng) }
	if rng.IntN(4) == 0 {
		text = func() string { return fmt.Sprintf("plain %x", rng.Uint32()) }
	}
	a := &distill.Archive{
		Budget: number(), Fallback: rng.IntN(2) == 0, Format: distill.Format, MaxBytes: 1 << 20, MemoryRef: text(),
		Redactor: text(), Summarizer: text(), Tokenizer: text(),
	}
	a.Tokens.Input = rng.IntN(a.Budget)
	a.Tokens.Output = a.Budget - a.Tokens.Input
	for i := range 1 + rng.IntN(4) {
		a.Sources = append(a.Sources, distill.ArchivedSource{Digest: randomDigest(rng), ID: fmt.Sprint(i, text()), Weight: number()})
	}
	for range 1 + rng.IntN(3) {
		it := distill.Item{Text: text()}
		for _, s := range a.Sources {
			if rng.IntN(2) == 0 {
				it.Sources = append(it.Sources, s.ID)
			}
		}
		a.Items = append(a.Items, it)
	}
	for range rng.IntN(3) {
		a.Parents = append(a.Parents, randomDigest(rng))
	}
	slices.Sort(a.Parents)
	a.Key = a.Question()
	return a
}

// The bytes of an archive are its address, so they never change: these were written
// by an encoder of our own, which knew nothing but archives.
func TestD2_TheBytesStayAsTheyWere(t *testing.T) {
	golden, err := os.ReadFile("testdata/archive.json")
	require.NoError(t, err)
	require.Equal(t, string(golden), string(sampleArchive().Encode()))
	_, err = distill.Decode(golden)
	require.NoError(t, err)

	rng := rand.New(rand.NewPCG(62, 8785))
	sum := sha256.New()
	for range 500 {
		a := randomArchive(rng)
		source := sourceDigest(t, memory.Entry{
			Content: randomText(rng), CreatedAt: time.UnixMilli(rng.Int64N(4e12)), Tags: []string{randomText(rng), randomText(rng)}[:rng.IntN(3)],
		})
		sum.Write(a.Encode())
		sum.Write(bytesOf(t, a.Key))
		sum.Write(bytesOf(t, source))
	}
	plain := sourceDigest(t, memory.Entry{Content: "The hall is booked.", CreatedAt: epoch})
	sum.Write(bytesOf(t, plain))
	require.Equal(t, "a17b457f5f1f71226c295b60a6a7a4f707a0eb8bfd5e1715d862fbfc8db7850c", fmt.Sprintf("%x", sum.Sum(nil)))
}

func bytesOf(t *testing.T, digest string) []byte {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	require.NoError(t, err)
	return sum
}

// What an archive says comes back, its bytes come out again, and they are what the
// reference canonicaliser makes of any other form, which is refused.
func TestD2_RandomArchivesComeBack(t *testing.T) {
	seeds := uint64(500)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		data := randomArchive(rand.New(rand.NewPCG(seed, 53))).Encode()
		a, err := distill.Decode(data)
		require.NoError(t, err, "seed %d: %s", seed, data)
		require.Equal(t, string(data), string(a.Encode()), "seed %d", seed)

		var spaced, loose bytes.Buffer
		require.NoError(t, json.Indent(&spaced, data, "", " "))
		json.HTMLEscape(&loose, spaced.Bytes())
		_, err = distill.Decode(loose.Bytes())
		require.ErrorIs(t, err, distill.ErrArchive, "seed %d", seed)
		again, err := jcs.Transform(loose.Bytes())
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, string(data), string(again), "seed %d", seed)
	}
}

// The canonical form would round what is beyond 2^53-1, so that two archives had the
// same bytes.
func TestD2_NumbersThatWouldBeRoundedAreRefused(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("no int is that large")
	}
	largest := int64(events.MaxInteger)
	for name, set := range map[string]func(a *distill.Archive, n int){
		"budget":   func(a *distill.Archive, n int) { a.Budget = n },
		"maxBytes": func(a *distill.Archive, n int) { a.MaxBytes = n },
		"weight":   func(a *distill.Archive, n int) { a.Sources[1].Weight = n },
		"tokens":   func(a *distill.Archive, n int) { a.Budget, a.Tokens = n, distill.Tokens{Input: n} },
	} {
		a := sampleArchive()
		set(a, int(largest))
		a.Key = a.Question()
		good := a.Encode()
		_, err := distill.Decode(good)
		require.NoError(t, err, name)

		set(a, int(largest+1))
		require.Nil(t, a.Encode(), name)
		require.Zero(t, a.Question(), name)
		bad := strings.ReplaceAll(string(good), fmt.Sprint(largest), fmt.Sprint(largest+1))
		_, err = distill.Decode([]byte(strings.Replace(bad, a.Key, digest(0), 1)))
		require.ErrorIs(t, err, distill.ErrArchive, name)
		require.ErrorContains(t, err, "2^53-1", name)
	}

	_, err := distill.New(distill.Config{MaxOutputBytes: math.MaxInt})
	require.ErrorIs(t, err, memory.ErrValidation)
}
