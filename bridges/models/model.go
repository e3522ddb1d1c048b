package models

import "context"

// Model is a language model of the host. It is safe for concurrent use. Its errors are of type
// [*Error]; any other but the context's counts as one with [CodeUnavailable] that is not worth another try.
type Model interface {
	// Complete answers one prompt. Where it fails after tokens were used, it returns them with the
	// error.
	Complete(ctx context.Context, p Prompt) (Answer, error)
	// Name names the model with its version, in 1 to 128 bytes.
	Name() string
}

// Vectors is a model of the host that turns texts into vectors. It is like a [Model].
type Vectors interface {
	// Embed returns a vector for each text, in their order. It gets at most [EmbedTexts] texts of
	// at most [EmbedBytes] each, none of them blank.
	Embed(ctx context.Context, texts []string) (Embedded, error)
	// Name names the model with its version, and its dimensions if they were chosen.
	Name() string
}

// Task is what a model is asked for.
type Task string

// The tasks.
const (
	Merge     Task = "merge"
	Infer     Task = "infer"
	Summarize Task = "summarize"
	Extract   Task = "extract"
	Expand    Task = "expand"
	Embed     Task = "embed"
)

// Prompt is what a model is asked.
type Prompt struct {
	Task Task
	// System says what is to be done. It is the same for all prompts of a task and of a release.
	System string
	// Text holds the data.
	Text string
	// Schema is the JSON schema that the answer must match. It must not be changed.
	Schema map[string]any
}

// Answer is what a model says: JSON, if it kept to the schema.
type Answer struct {
	Text   string
	Tokens Tokens
}

// Embedded is what a model makes of texts.
type Embedded struct {
	Vectors [][]float32
	Tokens  Tokens
}

// Tokens is what a call used. Cached ones are part of Input.
type Tokens struct{ Input, Cached, Output int64 }

// sane are the counts of a service that may say anything: none is negative, and no more was cached than was sent.
func (t Tokens) sane() Tokens {
	t.Input, t.Output = max(0, t.Input), max(0, t.Output)
	t.Cached = min(max(0, t.Cached), t.Input)
	return t
}

// Limits of a call.
const (
	// MaxAnswerTokens is what a model is given for an answer, its reasoning included.
	MaxAnswerTokens = 8192
	// MaxAnswerBytes bounds an answer's text. What is longer is not used.
	MaxAnswerBytes = 1 << 20
	// EmbedTexts and EmbedBytes bound the texts of a call of [Vectors] and each of them. A text is
	// cut to that, so that it has no more than 8192 tokens in any vocabulary.
	EmbedTexts = 32
	EmbedBytes = 8 << 10
)
