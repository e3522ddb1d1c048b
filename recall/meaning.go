package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// Embedder is a model that turns texts into vectors, of which those of texts that mean alike
// point in like directions. It is the host's, and safe for concurrent use. A call that takes
// longer than [memory.PluginTimeout] counts as failed.
type Embedder interface {
	// Embed returns one vector for each text, in their order, all of the same number of
	// dimensions. It must give the same vector for the same text whenever and wherever it is
	// asked, as long as Model returns the same name: the answer of a replay rests on it. A
	// vector of zeros only, or with a NaN or an infinity, fails the call.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model with its version. Vectors of different names are never compared. It
	// is called once, in place.
	Model() string
}

// What errors call the parts of the host.
const (
	theEmbedder = "the embedder"
	theSource   = "the source of redactors"
)

// The documents of a ref by which vectors are known. A vector is content of its entry, under
// the entry's id, and named by the number of the batch in which it was made as its group. The
// head counts the batches, so that a process reads only those that it does not have.
const (
	headKind   = "recall.vectors"
	vectorKind = "recall.vector." // and the model's mark
)

// mark is a short name of a model.
func mark(model string) string {
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:8])
}

// head is what a head document says: how many batches there are, and of how many dimensions the vectors are.
type head struct{ batches, dimensions int }

// headAt reads the head document of a ref. Without vectors it is not there yet, and zero.
func headAt(ctx context.Context, v *memory.View, model string) (d driver.Document, h head, err error) {
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: headKind, Key: mark(model)}) {
		if err == nil {
			_, err = fmt.Sscan(string(d.Value), &h.batches, &h.dimensions)
		}
		if err != nil || h.dimensions <= 0 || h.dimensions > maxDimensions {
			err = internal("the head of the vectors cannot be read, is damaged or of a later release", err)
		}
		return d, h, err
	}
	return driver.Document{Scope: v.Scope(), Kind: headKind, Key: mark(model)}, head{}, nil
}

// embed asks the model for the vectors of redacted texts. If dimensions is not zero, they must
// have as many.
func (r *Ranker) embed(ctx context.Context, texts []string, dimensions int) ([]vector, error) {
	given := slices.Clone(texts)
	answer, err := hostcall.Call(ctx, theEmbedder, memory.PluginTimeout, func(ctx context.Context) ([][]float32, error) { return r.cfg.Embedder.Embed(ctx, given) })
	if err != nil {
		return nil, hostFailed(ctx, theEmbedder, err)
	}
	if len(answer) != len(texts) {
		return nil, internal("the embedder gave another number of vectors than texts", nil)
	}
	var vectors []vector
	for _, floats := range answer {
		if dimensions == 0 {
			dimensions = len(floats)
		}
		if len(floats) != dimensions {
			return nil, internal("the embedder gave vectors of different dimensions under one model", nil)
		}
		v, ok := rounded(floats)
		if !ok {
			return nil, internal("the embedder gave a vector without a direction", nil)
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

// secretsOf opens the secrets of a tenant.
func (r *Ranker) secretsOf(ctx context.Context, tenant string) (memory.Redactor, error) {
	secrets, err := hostcall.Call(ctx, theSource, memory.PluginTimeout, func(ctx context.Context) (memory.Redactor, error) { return r.cfg.Redactor(ctx, tenant) })
	if err == nil && secrets == nil {
		return nil, internal("Config.Redactor returned nil: give an empty registry, redact.New, if there are no secrets", nil)
	}
	return secrets, hostFailed(ctx, theSource, err)
}

// embedQuestion returns the vector of a question, without the tenant's secrets.
func (r *Ranker) embedQuestion(ctx context.Context, tenant, text string) (*vector, error) {
	secrets, err := r.secretsOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if c, ok := secrets.(io.Closer); ok {
		defer c.Close()
	}
	const part = "the redactor"
	text, err = hostcall.Call(ctx, part, memory.PluginTimeout, func(context.Context) (string, error) { return secrets.RedactDerived(text) }) // as the pass does with entries
	switch known := interface{ ContentFree() string }(nil); {
	case errors.As(err, &known):
		return nil, memory.ErrSecretLeakage.In(pkg, known.ContentFree(), err)
	case hostcall.Misbehaved(err), err != nil && err == ctx.Err():
		return nil, hostFailed(ctx, part, err)
	case err != nil:
		return nil, memory.ErrSecretLeakage.In(pkg, hostcall.Describe(part, err), err)
	}
	vectors, err := r.embed(ctx, []string{text}, 0)
	if err != nil {
		return nil, err
	}
	return &vectors[0], nil
}

// loadVectors reads the vectors that were made since the index read them last: batch by batch, or
// all at once if it has none yet. Those of entries that it does not have are kept until it has
// them.
func (x *index) loadVectors(ctx context.Context, v *memory.View, model string) error {
	if model == "" {
		return nil
	}
	_, h, err := headAt(ctx, v, model)
	if err != nil {
		return err
	}
	q := driver.DocumentQuery{Kind: vectorKind + mark(model)}
	for x.batches < h.batches {
		next := h.batches
		if x.batches > 0 {
			next = x.batches + 1
			q.Group = strconv.Itoa(next)
		}
		for d, err := range v.Documents(ctx, q) {
			if err != nil {
				return err
			}
			if vec, ok := vectorOf(d.Value, h.dimensions); ok { // a damaged one is not there
				x.setVector(d.Key, vec)
			}
		}
		x.batches, x.dimensions = next, h.dimensions
	}
	return nil
}

// setVector sets the vector of an entry, or keeps it until the entry is indexed.
func (x *index) setVector(id string, v vector) {
	if n, known := x.number[id]; known {
		x.vectors[n] = v
	} else {
		x.waiting[id] = v
	}
}

// vectorOf is the vector of an entry in views that were opened at an instant, 0 for live
// memory; ok is false if there is none.
func (s *snapshot) vectorOf(n uint32) (v vector, ok bool) {
	v, ok = s.vectors[n]
	return v, ok && (s.opened == 0 || v.since <= s.opened)
}

// distribution is how near the entries of a view are to a question. It counts in whole numbers, whose
// sums do not depend on the order in which an index has the entries.
type distribution struct{ n, sum, squares int64 }

const fine = 1 << 20 // steps between two similarities of which one is higher by 1

func (d *distribution) add(similarity float64) {
	x := int64(math.Round(similarity * fine))
	d.n, d.sum, d.squares = d.n+1, d.sum+x, d.squares+x*x
}

// deviation returns by how many standard deviations a similarity is above the mean.
func (d *distribution) deviation(similarity float64) float64 {
	n := float64(d.n)
	mean := float64(d.sum) / n
	variance := float64(d.squares)/n - float64(mean*mean)
	return (similarity*fine - mean) / math.Sqrt(max(variance, 1))
}

// nearest ranks the entries that have a vector by how near they are to a question, leaves
// out those that point away from it, and returns the first of them that keep lets through.
func (s *snapshot) nearest(asked *vector, limit int, keep func(uint32) bool) (top []hit, all distribution) {
	if asked == nil || len(asked.coords) != s.dimensions {
		return nil, all
	}
	for n := range s.vectors {
		v, ok := s.vectorOf(n)
		if !ok || !s.shown[n] {
			continue
		}
		near := v.similarity(asked)
		all.add(near)
		if near <= 0 || len(top) == limit && near < top[limit-1].score || !keep(n) {
			continue
		}
		top = s.insert(top, hit{n, near}, limit)
	}
	return top, all
}

// depth is how far two rankings are fused: as far as any list goes.
const depth = memory.MaxListLimit

// How far above the mean an entry is by meaning, in standard deviations, to count as much as by words,
// if the host does not say: as far as the best of so many random numbers, and less if the first ten
// by words are above the mean too, for which chance alone does not give clearly more than agreeing.
const (
	agreeing  = 3.0
	agreement = 4.0 // beyond it, that makes the model trusted
	trust     = 1.5 // deviations less, of a model that is trusted
	slack     = 0.3
	slope     = 0.4 // deviations between counting not at all and counting as much
	least     = 0.001
)

// fuse ranks by words and by meaning at once, by reciprocal rank: an entry counts 1/(60+its place) by
// words, and weight/(60+its place) by meaning. If the weight is 0 it is set for each entry, by how far
// it stands out.
func (s *snapshot) fuse(limit int, weight float64, asked *vector, words, near []hit, all distribution) []hit {
	agrees, first, counted := 1.0, 0.0, 0.0
	for _, h := range words[:min(10, len(words))] {
		if v, ok := s.vectorOf(h.doc); ok {
			first, counted = first+all.deviation(v.similarity(asked)), counted+1
		}
	}
	if counted > 0 {
		agrees = min(1, max(0, (first/math.Sqrt(counted)-agreeing)/agreement))
	}
	edge := math.Sqrt(2*math.Log(float64(max(all.n, 1)))) - slack - float64(trust*agrees)
	scores := map[uint32]float64{}
	for rank, h := range words {
		scores[h.doc] += 1 / float64(60+rank+1)
	}
	for rank, h := range near {
		w := weight
		if w == 0 {
			w = min(1, max(least, (all.deviation(h.score)-edge)/slope))
		}
		scores[h.doc] += w / float64(60+rank+1)
	}
	var fused []hit
	for n, score := range scores {
		fused = s.insert(fused, hit{n, score}, limit)
	}
	return fused
}
