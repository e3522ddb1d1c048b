package memory

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// clock gives whole milliseconds that never run backwards, also if the host's clock does.
type clock struct {
	now  func() time.Time
	last atomic.Int64
}

// read returns the instant. If the host's clock panics, it is the last one that the clock gave,
// with an error.
func (c *clock) read() (time.Time, error) {
	now, err := hostcall.Inline("the clock", func() (time.Time, error) { return c.now(), nil })
	if err != nil && c.last.Load() == math.MinInt64 {
		now = time.Now()
	}
	ms := now.UnixMilli()
	for {
		last := c.last.Load()
		if err != nil || ms <= last {
			return time.UnixMilli(max(ms, last)).UTC(), err
		}
		if c.last.CompareAndSwap(last, ms) {
			return time.UnixMilli(ms).UTC(), nil
		}
	}
}

// issuer makes ids that ascend within one bank and are unique across banks: 48
// bits of milliseconds, then 80 bits that start at random and grow within the
// millisecond by random steps, so that no tenant sees from its ids how much others
// write. They take 26 characters whose byte order is the number's.
type issuer struct {
	mu   sync.Mutex
	ms   uint64
	high uint16
	low  uint64
}

// The prefixes of the ids that a bank issues.
const (
	entryPrefix = "mem_"
	eventPrefix = "evt_"
)

// digits write five bits each, in the order of their bytes.
var digits = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// next returns an id above all that the issuer gave before.
func (i *issuer) next(prefix string, now time.Time) string {
	i.mu.Lock()
	if ms := uint64(now.UnixMilli()) & (1<<48 - 1); ms > i.ms {
		var b [10]byte
		rand.Read(b[:]) // never fails
		// The top bit starts clear, so that counting up cannot overflow.
		i.ms, i.high, i.low = ms, binary.BigEndian.Uint16(b[:])>>1, binary.BigEndian.Uint64(b[2:])
	} else {
		var b [4]byte
		rand.Read(b[:])
		low := i.low + 1 + uint64(binary.BigEndian.Uint32(b[:]))
		if low < i.low {
			i.high++
		}
		i.low = low
	}
	var number [16]byte
	binary.BigEndian.PutUint64(number[:], i.ms<<16|uint64(i.high))
	binary.BigEndian.PutUint64(number[8:], i.low)
	i.mu.Unlock()
	return prefix + digits.EncodeToString(number[:])
}
