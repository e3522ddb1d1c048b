// Package anthropic is a [models.Model] over anthropic-sdk-go: one message of the Messages API, with
// structured output.
package anthropic
