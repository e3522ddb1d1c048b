package sqlstore

import (
	"context"
	"time"
)

// pauses are made before a call is repeated.
var pauses = []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}

// Repeat calls f, and again if its error allows that, until the context ends.
func Repeat(ctx context.Context, allows func(error) bool, f func() error) error {
	for _, pause := range pauses {
		err := f()
		if err == nil || !allows(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
	return f()
}

// Early is an error from before anything was committed.
type Early struct{ error }

// EarlyIf marks an error from before the commit that allows a repetition, so that every call can be
// repeated.
func EarlyIf(allows func(error) bool, err error) error {
	if err != nil && allows(err) {
		return Early{err}
	}
	return err
}

// Unwrap returns what failed.
func (e Early) Unwrap() error { return e.error }
