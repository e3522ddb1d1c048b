package crashload

import (
	"fmt"
	"slices"
)

// operation is an intention with what came of it.
type operation struct {
	note
	outcome what // empty if there is none
	out     note // of the outcome
}

// unknown reports whether it cannot be told whether the operation changed anything.
func (o *operation) unknown() bool {
	return o.outcome != done && o.outcome != refused && o.What != open && o.What != version
}

// operations are those of the file, in the order in which they were intended.
func (l *lines) operations() ([]*operation, error) {
	notes, err := readLines[note](l)
	if err != nil {
		return nil, err
	}
	byNumber := map[int64]*operation{}
	for _, n := range notes {
		switch n.What {
		case done, refused, failed:
			op := byNumber[n.N]
			if op == nil {
				return nil, fmt.Errorf("crashload: the journal has an outcome of operation %d, which it does not have", n.N)
			}
			if op.outcome != done {
				op.outcome, op.out = n.What, n
			}
		case begin:
		default:
			byNumber[n.N] = &operation{note: n}
		}
	}
	ops := make([]*operation, 0, len(byNumber))
	for _, op := range byNumber {
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b *operation) int { return int(a.N - b.N) })
	return ops, nil
}
