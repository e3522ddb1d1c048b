// Package redact takes secrets out of text before anything is stored.
package redact
