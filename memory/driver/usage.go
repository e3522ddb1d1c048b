package driver

// Usage is what the entries of a tenant come to that are neither retired nor erased. One
// that has expired counts until a purge has removed it.
type Usage struct {
	Entries int64
	Bytes   int64 // of their content
}

// Add counts an entry n times: 1 for one that has come, -1 for one that has gone.
func (u *Usage) Add(e *Entry, n int64) {
	u.Entries += n
	u.Bytes += n * int64(len(e.Content))
}

// Limits bound what a tenant may come to. A field that is 0 bounds nothing.
type Limits struct {
	Usage
	// Waiting bounds the events of the tenant in the outbox.
	Waiting int
}

// within returns [ErrStorageLimit] or [ErrBacklog] if a mutation makes more of what its
// limits bound and comes out above them. A tenant that has more than it may have can
// still do everything that makes it less.
func (b Base) within(m *Mutation, grows Usage) error {
	over := func(limit, used, grows int64) bool { return limit > 0 && grows > 0 && used+grows > limit }
	if over(m.Limits.Entries, b.Used.Entries, grows.Entries) || over(m.Limits.Bytes, b.Used.Bytes, grows.Bytes) {
		return Fail(ErrStorageLimit, "", nil)
	}
	if limit := m.Limits.Waiting; limit > 0 && len(m.Events) > 0 && b.Waiting(limit)+len(m.Events) > limit {
		return Fail(ErrBacklog, "", nil)
	}
	return nil
}
