package eino

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/openwop/agentmemory/bridges/internal/conversation"
	"github.com/openwop/agentmemory/memory"
)

// Retriever returns a Retriever over what the run of its context sees. Its one option is TopK, from 1 to [MaxLimit];
// without it there are [DefaultLimit] documents. What they say together is within Config.RecallTokens. A
// document has the entry's id, score, "tags", "created_at", the words of the query that it has as "terms" and, if it
// expires, "expires_at". What it says is data: a prompt that is
// made of it marks it so.
func (m *Memory) Retriever() retriever.Retriever { return memoryRetriever{m} }

type memoryRetriever struct{ m *Memory }

// Retrieve answers a query. An option that memory does not have is an error.
func (t memoryRetriever) Retrieve(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
	o := retriever.GetCommonOptions(&retriever.Options{}, opts...)
	if o.Index != nil || o.SubIndex != nil || o.ScoreThreshold != nil || o.Embedding != nil || o.DSLInfo != nil {
		return nil, errors.New("eino: memory has no index, no threshold, no embedding and no DSL to choose")
	}
	limit := DefaultLimit
	if o.TopK != nil {
		limit = *o.TopK
	}
	if limit < 1 || limit > MaxLimit {
		return nil, errors.New("eino: TopK is not between 1 and 100")
	}
	if strings.TrimSpace(query) == "" {
		return nil, errors.New("eino: the query is empty")
	}
	documents := []*schema.Document{}
	failed, fatal := in(ctx, func(r *Run, run *memory.Run) error {
		hits, err := r.recall(ctx, run, t.m.cfg.Ref, memory.Search{Text: query, Limit: limit})
		if err != nil {
			return err
		}
		kept, _ := conversation.Fit(hits, t.m.hasRoom, contents)
		r.show(t.m.cfg.Ref, kept)
		for _, h := range kept {
			documents = append(documents, document(h))
		}
		return nil
	})
	if err := errors.Join(fatal, failed); err != nil {
		return nil, err
	}
	return documents, nil
}

func contents(hits []memory.Hit) string {
	texts := make([]string, len(hits))
	for i := range hits {
		texts[i] = hits[i].Entry.Content
	}
	return strings.Join(texts, "\n")
}

func document(h memory.Hit) *schema.Document {
	about := map[string]any{"tags": h.Entry.Tags, "created_at": h.Entry.CreatedAt.Format(time.RFC3339Nano), "terms": h.Terms}
	if !h.Entry.ExpiresAt.IsZero() {
		about["expires_at"] = h.Entry.ExpiresAt.Format(time.RFC3339Nano)
	}
	d := &schema.Document{ID: h.Entry.ID, Content: h.Entry.Content, MetaData: about}
	return d.WithScore(h.Score)
}
