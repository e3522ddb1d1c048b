package anthropic

import (
	"context"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/internal/transport"
)

// Model is a model of Anthropic.
type Model struct {
	client sdk.Client
	name   string
}

var _ models.Model = Model{}

// New returns the model of that name, as the service knows it. The client's own retries are not
// used: models.Config has them.
func New(client sdk.Client, name string) Model { return Model{client, name} }

// Name is the model's name.
func (m Model) Name() string { return "anthropic/" + m.name }

// Complete sends one message.
func (m Model) Complete(ctx context.Context, p models.Prompt) (models.Answer, error) {
	message, err := m.client.Messages.New(ctx, sdk.MessageNewParams{
		Model:        m.name,
		MaxTokens:    models.MaxAnswerTokens,
		System:       []sdk.TextBlockParam{{Text: p.System}},
		Messages:     []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock(p.Text))},
		OutputConfig: sdk.OutputConfigParam{Format: sdk.JSONOutputFormatParam{Schema: p.Schema}},
	}, option.WithMaxRetries(0), option.WithMiddleware(transport.Bound))
	if err != nil {
		var failed *sdk.Error
		if errors.As(err, &failed) {
			return models.Answer{}, transport.Failed(failed.Response, failed.RawJSON(), err)
		}
		return models.Answer{}, transport.Failed(nil, "", err)
	}
	if message == nil {
		return models.Answer{}, &models.Error{Kind: models.CodeUnusable}
	}
	u := message.Usage
	answer := models.Answer{Tokens: models.Tokens{
		Input:  u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		Cached: u.CacheReadInputTokens, Output: u.OutputTokens,
	}}
	for _, block := range message.Content {
		if block.Type == "text" {
			answer.Text += block.Text
		}
	}
	switch message.StopReason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return answer, nil
	case sdk.StopReasonRefusal:
		return models.Answer{Tokens: answer.Tokens}, &models.Error{Kind: models.CodeRefused}
	}
	return models.Answer{Tokens: answer.Tokens}, &models.Error{Kind: models.CodeUnusable}
}
