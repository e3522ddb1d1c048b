package models

import (
	"time"

	"github.com/openwop/agentmemory/memory"
)

// The codes of an [Error].
const (
	// CodeRefused: the model, or a filter before it, refused to answer.
	CodeRefused memory.Code = "model_refused"
	// CodeUnusable: the answer is not JSON of the schema, was cut off, is too long, or is no vectors; or the
	// prompt was too long for the model.
	CodeUnusable memory.Code = "model_answer_unusable"
	// CodeRejected: the service does not take the request with any prompt: a wrong key, an unknown model.
	CodeRejected memory.Code = "model_request_rejected"
	// CodeUnavailable: the service could not be reached, failed, or has too much to do.
	CodeUnavailable memory.Code = "model_unavailable"
	// CodeNoRedactor: the context has no redactor, so that nothing was asked.
	CodeNoRedactor memory.Code = "model_no_redactor"
)

// Error says that a model gave no answer that can be used. Its text is its code.
type Error struct {
	Kind memory.Code
	// Again says that the same call may succeed later, After at the earliest if the service
	// said so.
	Again bool
	After time.Duration
	// Err is what the SDK said. It may quote prompts and answers.
	Err error
}

// Error is the code.
func (e *Error) Error() string { return "models: " + string(e.Kind) }

// Code is the code, for memory.CodeOf.
func (e *Error) Code() memory.Code { return e.Kind }

// Is tells that the error matches memory.ErrInternal.
func (e *Error) Is(target error) bool { return target == memory.ErrInternal }

// Unwrap gives what the SDK said.
func (e *Error) Unwrap() error { return e.Err }

func unusable(cause error) error { return &Error{Kind: CodeUnusable, Err: cause} }

// aboutTheText reports whether it is the text of a prompt that led to the error, so that others may fare better.
func aboutTheText(err error) bool {
	switch memory.CodeOf(err) {
	case CodeRefused, CodeUnusable:
		return true
	}
	return false
}

func isRefusal(err error) bool { return memory.CodeOf(err) == CodeRefused }
