// Package openai is a [models.Model] and a [models.Vectors] over openai-go: chat completions with
// structured output, and embeddings. Most servers of local models speak the same two calls: give the
// client their address by option.WithBaseURL.
package openai
