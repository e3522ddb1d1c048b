package driver

// Limits bound what a tenant may have, where 0 bounds nothing and less than 0 is refused; a
// store keeps what the tenant has in the same form.
type Limits struct {
	// Entries counts those that are neither retired nor erased. One that has expired counts
	// until a purge has removed it, which keeps it for what was merged into it.
	Entries int64
	// Bytes are those of their content.
	Bytes int64
	// Waiting counts the events that wait.
	Waiting int64
}

// Add counts an entry n times: 1 for one that has come, -1 for one that has gone.
func (l *Limits) Add(e *Entry, n int64) {
	l.Entries += n
	l.Bytes += n * int64(len(e.Content))
}

// within returns [ErrStorageLimit] or [ErrBacklog] if a mutation makes more of what its
// limits bound and comes out above them. A tenant that has more than it may have can
// still do everything that makes it less.
func (s *Stored) within(m *Mutation, grows Limits) error {
	over := func(limit, used, grows int64) bool { return limit > 0 && grows > 0 && used+grows > limit }
	waiting := int64(len(m.Events))
	if m.Keep {
		waiting = 0
	}
	switch {
	case over(m.Limits.Entries, s.Used.Entries, grows.Entries):
		return &Error{kind: ErrStorageLimit, detail: "too many entries: purge, or raise Limits.Entries", limit: m.Limits.Entries}
	case over(m.Limits.Bytes, s.Used.Bytes, grows.Bytes):
		return &Error{kind: ErrStorageLimit, detail: "too many bytes: purge, or raise Limits.Bytes", limit: m.Limits.Bytes}
	case over(m.Limits.Waiting, s.Used.Waiting, waiting):
		return &Error{kind: ErrBacklog, detail: "relay them by Bank.Keep, or raise Limits.Waiting", limit: m.Limits.Waiting}
	}
	return nil
}
