package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
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

// vectors returns the maker of the vectors of a model.
func (r *Ranker) vectors(model string) maker {
	r.model = model
	return maker{
		kind: vectorKind + mark(model), version: fmt.Sprintf("int8/1 rrf/2 %g %s", r.cfg.Weight, model),
		batch: 64, round: roundVectors,
		make: func(ctx context.Context, texts []string, h *head) (values []string, err error) {
			vectors, err := r.embed(ctx, texts, h.dimensions)
			for _, v := range vectors {
				h.dimensions, values = len(v.coords), append(values, v.stored())
			}
			return values, err
		},
		load: func(x *index, id string, since int64, value string, h head) {
			if v, ok := vectorOf(value, h.dimensions); ok { // a damaged one is not there
				v.since = since
				x.vectors[id], x.dimensions = v, h.dimensions
			}
		},
	}
}

// embed asks the model for the vectors of redacted texts. If dimensions is not zero, they must
// have as many.
func (r *Ranker) embed(ctx context.Context, texts []string, dimensions int) (vectors []vector, err error) {
	answer, err := askAll(ctx, theEmbedder, texts, r.cfg.Embedder.Embed)
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
	return vectors, err
}

// secretsOf opens the secrets of a tenant.
func (r *Ranker) secretsOf(ctx context.Context, tenant string) (memory.Redactor, error) {
	secrets, err := hostcall.Call(ctx, theSource, memory.PluginTimeout, func(ctx context.Context) (memory.Redactor, error) { return r.cfg.Redactor(ctx, tenant) })
	if err == nil && secrets == nil {
		return nil, internal("Config.Redactor returned nil: give an empty registry, redact.New, if there are no secrets", nil)
	}
	return secrets, hostcall.Failed(ctx, theSource, err, internal)
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
		return nil, hostcall.Failed(ctx, part, err, internal)
	case err != nil:
		return nil, memory.ErrSecretLeakage.In(pkg, hostcall.Describe(part, err), err)
	}
	vectors, err := r.embed(ctx, []string{text}, 0)
	if err != nil {
		return nil, err
	}
	return &vectors[0], nil
}

// vectorOf is the vector of an entry in views that were opened at an instant, 0 for live
// memory; ok is false if there is none.
func (s *snapshot) vectorOf(n uint32) (v vector, ok bool) {
	v, ok = s.vectors[s.docs[n].id]
	return v, ok && s.knows(v.since)
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
	for n := range uint32(len(s.docs)) {
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
