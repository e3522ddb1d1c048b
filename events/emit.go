package events

import "context"

// Emit gives the records to the sink in one call, after all of them were found
// valid (E2): where one is not, the sink sees none, and the error matches
// [ErrInvalid]. Any other error is the sink's; then nothing is known, and the same
// records may be emitted again.
//
// It is the one way by which the packages of this module emit. With no records it
// does nothing. A valid record of memory's costs no allocation here.
func Emit(ctx context.Context, sink Sink, recs ...Record) error {
	if len(recs) == 0 {
		return nil
	}
	if err := validateRecords(recs); err != nil {
		return err
	}
	if sink == nil {
		return errNoSink
	}
	return sink.Emit(ctx, recs...)
}

func validateRecords(recs []Record) error {
	for i := range recs {
		if err := recs[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}
