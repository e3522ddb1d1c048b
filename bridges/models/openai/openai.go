package openai

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/internal/transport"
)

// Model is a model of OpenAI, or of a server that speaks its API.
type Model struct {
	client sdk.Client
	name   string
}

var _ models.Model = Model{}

// New returns the model of that name, as the service knows it. The client's own retries are not
// used: models.Config has them.
func New(client sdk.Client, name string) Model { return Model{client, name} }

// Name is the model's name.
func (m Model) Name() string { return "openai/" + m.name }

// Complete makes one chat completion.
func (m Model) Complete(ctx context.Context, p models.Prompt) (models.Answer, error) {
	completion, err := m.client.Chat.Completions.New(ctx, sdk.ChatCompletionNewParams{
		Model:               m.name,
		MaxCompletionTokens: sdk.Int(models.MaxAnswerTokens),
		Messages:            []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(p.System), sdk.UserMessage(p.Text)},
		ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: string(p.Task), Strict: sdk.Bool(true), Schema: p.Schema},
		}},
	}, option.WithMaxRetries(0), option.WithMiddleware(transport.Bound))
	if err != nil {
		return models.Answer{}, failed(err)
	}
	if completion == nil {
		return models.Answer{}, &models.Error{Kind: models.CodeUnusable}
	}
	u := completion.Usage
	tokens := models.Tokens{Input: u.PromptTokens, Cached: u.PromptTokensDetails.CachedTokens, Output: u.CompletionTokens}
	kind := models.CodeUnusable
	if len(completion.Choices) == 1 {
		choice := completion.Choices[0]
		switch {
		case choice.Message.Refusal != "" || choice.FinishReason == "content_filter":
			kind = models.CodeRefused
		case choice.FinishReason == "stop":
			return models.Answer{Text: choice.Message.Content, Tokens: tokens}, nil
		}
	}
	return models.Answer{Tokens: tokens}, &models.Error{Kind: kind}
}

// Vectors is a model that turns texts into vectors.
type Vectors struct {
	client     sdk.Client
	name       string
	dimensions int
}

var _ models.Vectors = Vectors{}

// NewVectors returns the model of that name. Dimensions other than 0 ask for vectors of that length,
// which not every model can give.
func NewVectors(client sdk.Client, name string, dimensions int) Vectors {
	return Vectors{client, name, dimensions}
}

// Name is the model's name, with the dimensions if they were chosen.
func (v Vectors) Name() string {
	if v.dimensions == 0 {
		return "openai/" + v.name
	}
	return fmt.Sprintf("openai/%s/%d", v.name, v.dimensions)
}

// Embed asks for vectors.
func (v Vectors) Embed(ctx context.Context, texts []string) (models.Embedded, error) {
	params := sdk.EmbeddingNewParams{
		Model: v.name, Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: sdk.EmbeddingNewParamsEncodingFormatFloat,
	}
	if v.dimensions != 0 {
		params.Dimensions = sdk.Int(int64(v.dimensions))
	}
	res, err := v.client.Embeddings.New(ctx, params, option.WithMaxRetries(0), option.WithMiddleware(transport.Bound))
	if err != nil {
		return models.Embedded{}, failed(err)
	}
	if res == nil {
		return models.Embedded{}, &models.Error{Kind: models.CodeUnusable}
	}
	got := models.Embedded{Vectors: make([][]float32, len(texts)), Tokens: models.Tokens{Input: res.Usage.PromptTokens}}
	for _, e := range res.Data {
		if e.Index < 0 || e.Index >= int64(len(texts)) || got.Vectors[e.Index] != nil || len(res.Data) != len(texts) {
			return models.Embedded{Tokens: got.Tokens}, &models.Error{Kind: models.CodeUnusable}
		}
		vector := make([]float32, len(e.Embedding))
		for i, x := range e.Embedding {
			vector[i] = float32(x)
		}
		got.Vectors[e.Index] = vector
	}
	return got, nil
}

func failed(err error) error {
	var e *sdk.Error
	if errors.As(err, &e) {
		return transport.Failed(e.Response, e.RawJSON(), err)
	}
	return transport.Failed(nil, "", err)
}
