package events

import (
	"context"
	"errors"
)

// Tee returns a sink that gives every record to each of the sinks, in their order.
// All of them get the records even where one fails; then the error is of all that
// failed, joined, and the same records come again. So every sink but those whose
// doubles do no harm must drop what it has, as [Log] and [File] do.
func Tee(sinks ...Sink) Sink {
	return tee(append([]Sink(nil), sinks...))
}

type tee []Sink

func (t tee) Emit(ctx context.Context, recs ...Record) error {
	var errs []error
	for _, sink := range t {
		// Not by way of the caller's slice, which a sink might change.
		errs = append(errs, Emit(ctx, sink, append([]Record(nil), recs...)...))
	}
	return errors.Join(errs...)
}
