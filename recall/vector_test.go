package recall

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// Not even the longest vectors that point the same way go beyond 32 bits.
func TestDotDoesNotOverflow(t *testing.T) {
	a := make([]byte, maxDimensions)
	for i := range a {
		a[i] = 127
	}
	require.EqualValues(t, maxDimensions*127*127, dot(a, a))
}

// Whole numbers keep the order of what is not nearly the same: no cosine moves by more than
// a fiftieth.
func TestRoundingKeepsCosines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	cosine := func(a, b []float32) float64 {
		ab, aa, bb := 0.0, 0.0, 0.0
		for i := range a {
			x, y := float64(a[i]), float64(b[i])
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		return ab / math.Sqrt(aa*bb)
	}
	for range 500 {
		n := 16 + r.IntN(800)
		a, b := make([]float32, n), make([]float32, n)
		for i := range a {
			a[i] = float32(r.NormFloat64())
			b[i] = a[i]*float32(r.NormFloat64()) + float32(r.NormFloat64())/4
		}
		x, ok := rounded(a)
		require.True(t, ok)
		y, ok := rounded(b)
		require.True(t, ok)
		require.InDelta(t, cosine(a, b), x.similarity(&y), 0.02)
	}
}

// What is stored comes back, and a redactor finds nothing in it.
func TestStoredVectorsAreNoSecrets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	secrets := redact.New(redact.Config{})
	require.NoError(t, secrets.Register("key", []byte("AAAAAAAAAAAA")))
	for range 2000 {
		floats := make([]float32, 1+r.IntN(600))
		for i := range floats {
			if r.IntN(3) > 0 {
				floats[i] = float32(r.NormFloat64())
			}
		}
		v, ok := rounded(floats)
		if !ok {
			continue
		}
		text := v.stored()
		out, err := secrets.RedactDerived(text)
		require.NoError(t, err)
		require.Equal(t, text, out)
		back, ok := vectorOf(text, len(floats))
		require.True(t, ok)
		require.Equal(t, v, back)
		_, ok = vectorOf(text, len(floats)+1)
		require.False(t, ok)
		_, ok = vectorOf(text[1:], len(floats))
		require.False(t, ok)
	}
	_, ok := vectorOf("xxx", 2)
	require.False(t, ok, "one without a direction is damaged")
}

// hashed is a model of little sense: its vectors are as random as the texts' bytes.
type hashed struct{ dimensions int }

func (hashed) Model() string { return "hashed" }
func (h hashed) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		seed := [32]byte{}
		copy(seed[:], text)
		binary.LittleEndian.PutUint64(seed[24:], uint64(len(text)))
		r := rand.New(rand.NewChaCha8(seed))
		out[i] = make([]float32, h.dimensions)
		for k := range out[i] {
			out[i][k] = float32(r.NormFloat64())
		}
	}
	return out, nil
}

func open(t testing.TB, dimensions int) (*Ranker, *memory.Bank, *memory.Job) {
	secrets := func(context.Context, string) (memory.Redactor, error) { return none{}, nil }
	r := made(Config{Embedder: hashed{dimensions}, Redactor: secrets})
	b, err := memory.New(inmem.New(), memory.Config{Ranker: r})
	require.NoError(t, err)
	job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	return r, b, job
}

// known is how many vectors the index of a ref has.
func (r *Ranker) known(ref string) int {
	return len(r.indexOf(memory.Scope{Tenant: "acme", Ref: ref}).index.vectors)
}

// What is forgotten has no vector any more: in the store with the same mutation, in the
// process with the next question or sweep; nor what no question has shown since it was deleted.
func TestS3_ForgottenVectorsAreGone(t *testing.T) {
	ctx := context.Background()
	for name, touch := range map[string]func(*memory.Bank, *Ranker) error{
		"the next question": func(b *memory.Bank, r *Ranker) error {
			_, err := b.Search(ctx, "acme", "m", memory.Search{Text: "anything"})
			return err
		},
		"a sweep": func(_ *memory.Bank, r *Ranker) error { return r.refreshAll(ctx) },
	} {
		r, b, job := open(t, 32)
		for i, text := range []string{"tea", "coffee", "Zanzibar", "Kilimanjaro"} {
			e, err := job.Put(ctx, "m", memory.Draft{Content: text, Subjects: []string{[]string{"ann", "bob"}[i%2]}})
			require.NoError(t, err)
			_, err = b.Maintain(ctx)
			require.NoError(t, err)
			if text == "Zanzibar" {
				_, err := job.Delete(ctx, "m", e.ID)
				require.NoError(t, err)
			}
		}
		hits, err := b.Search(ctx, "acme", "m", memory.Search{Text: "tea", Rank: "semantic"})
		require.NoError(t, err)
		require.Equal(t, "tea", hits[0].Entry.Content)
		require.Equal(t, 4, r.known("m"), name)
		before := r.indexOf(memory.Scope{Tenant: "acme", Ref: "m"}).index.bytes
		_, err = b.Forget(ctx, "acme", "ann")
		require.NoError(t, err)
		for d, err := range job.Documents(ctx, "m", driver.DocumentQuery{Kind: vectorKind + mark("hashed")}) {
			require.NoError(t, err)
			outcomes, err := b.Lineage(ctx, "acme", "m", d.Of...)
			require.NoError(t, err)
			require.Equal(t, memory.Live, outcomes[d.Key].State)
		}
		require.NoError(t, touch(b, r))
		require.Equal(t, 2, r.known("m"), name)
		require.Less(t, r.indexOf(memory.Scope{Tenant: "acme", Ref: "m"}).index.bytes, before-64)
	}
}

func BenchmarkVectors(b *testing.B) {
	const n, dimensions = 100_000, 384
	r := rand.New(rand.NewPCG(1, 5))
	x := newIndex(memory.Scope{})
	x.dimensions = dimensions
	shown := make([]bool, n)
	for i := range n {
		coords := make([]byte, dimensions)
		for k := range coords {
			coords[k] = byte(r.IntN(255) - 127)
		}
		id := fmt.Sprintf("mem_%026d", i)
		x.docs = append(x.docs, doc{id: id, created: int64(i)})
		x.vectors[id] = measured(coords)
		shown[i] = true
	}
	s := &snapshot{index: x, shown: shown, n: n}
	start := time.Now()
	for i := range b.N {
		asked := x.vectors[x.docs[i%n].id]
		s.nearest(&asked, depth, func(uint32) bool { return true })
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/1000/float64(b.N), "ms/query")
}
