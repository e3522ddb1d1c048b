// Package transport has what the adapters for two SDKs share about HTTP: a bound for what a service
// may answer, and what a failed request means.
package transport
