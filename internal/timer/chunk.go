package timer

// list is what a slot holds, without order: whole chunks, and last one that is full up
// to count. Some of its items, dead, were removed and only take room.
type list struct{ chunk, count, dead int32 }

const chunkSize = 8

// chunks hold the lists of all slots in one slice. The zero value is empty.
type chunks struct {
	spots []spot
	under []int32 // by chunk: the chunk below it in its list, or in the spare ones
	spare int32   // the top of the spare ones, counted from 1; 0 for none
}

// add puts s at the end of l.
func (c *chunks) add(l *list, s spot) {
	if l.count%chunkSize == 0 {
		top := c.take()
		c.under[top] = l.chunk
		l.chunk = top
	}
	c.spots[l.chunk*chunkSize+l.count%chunkSize] = s
	l.count++
}

func (c *chunks) take() int32 {
	if c.spare > 0 {
		top := c.spare - 1
		c.spare = c.under[top]
		return top
	}
	c.spots = append(c.spots, make([]spot, chunkSize)...)
	c.under = append(c.under, 0)
	return int32(len(c.under) - 1)
}

// last returns the end of l, which is not empty.
func (c *chunks) last(l *list) spot {
	return c.spots[l.chunk*chunkSize+(l.count-1)%chunkSize]
}

// drop takes the end of l off.
func (c *chunks) drop(l *list) {
	l.count--
	if l.count%chunkSize == 0 {
		top := l.chunk
		l.chunk = c.under[top]
		c.under[top] = c.spare
		c.spare = top + 1
	}
}
