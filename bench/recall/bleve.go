package main

import (
	"context"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// bleveIndex is a bleve index in memory over the entries of one memory: their content and their tags,
// both with the English analyzer.
type bleveIndex struct{ index bleve.Index }

func newBleveIndex(m *dataset.Memory) (*bleveIndex, error) {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	index, err := bleve.NewUsing("", mapping, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	batch := index.NewBatch()
	for i, e := range m.Entries {
		if err := batch.Index(e.ID, map[string]any{"content": e.Content(), "tags": e.Tags}); err != nil {
			return nil, err
		}
		if batch.Size() == 1000 || i == len(m.Entries)-1 {
			if err := index.Batch(batch); err != nil {
				return nil, err
			}
			batch.Reset()
		}
	}
	return &bleveIndex{index}, nil
}

// search is a searcher. Ties are broken by the id, so that the answer is the same every time.
func (b *bleveIndex) search(ctx context.Context, text string) ([]string, error) {
	request := bleve.NewSearchRequest(bleve.NewMatchQuery(text))
	request.Size = depth
	request.SortBy([]string{"-_score", "_id"})
	found, err := b.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, h := range found.Hits {
		ids = append(ids, h.ID)
	}
	return ids, nil
}

func (b *bleveIndex) close() error { return b.index.Close() }
