package recall

import (
	"encoding/binary"
	"math"
	"time"
)

// vector stands for what a text means: the direction of the model's vector, of which each
// coordinate is rounded to a whole number from -127 to 127.
type vector struct {
	since  int64 // milliseconds: views that were opened earlier do not see it
	coords []int8
	length float64 // of coords
}

// maxDimensions bounds what a model may answer.
const maxDimensions = 1 << 16

// rounded makes the vector of what a model answered; ok is false for one that has no
// direction: none at all, or one with a coordinate that is no finite number.
func rounded(floats []float32) (v vector, ok bool) {
	largest := 0.0
	for _, f := range floats {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return vector{}, false
		}
		largest = max(largest, math.Abs(float64(f)))
	}
	if largest == 0 || len(floats) > maxDimensions {
		return vector{}, false
	}
	coords := make([]int8, len(floats))
	for i, f := range floats {
		coords[i] = int8(math.Round(float64(f) / largest * 127))
	}
	return measured(0, coords), true
}

func measured(since int64, coords []int8) vector {
	return vector{since, coords, math.Sqrt(float64(dot(coords, coords)))}
}

// similarity is the cosine of the angle between two vectors.
func (v *vector) similarity(o *vector) float64 {
	return float64(dot(v.coords, o.coords)) / (v.length * o.length)
}

// dot is the inner product of two vectors of the same length.
func dot(a, b []int8) (sum int32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += int32(x) * int32(b[i])
	}
	return sum
}

// vectorFormat is the first byte of a stored vector. Behind it come the instant since and the
// coordinates.
const vectorFormat = 1

// stored is the value of a vector's document.
func (v *vector) stored() []byte {
	raw := binary.BigEndian.AppendUint64([]byte{vectorFormat}, uint64(v.since))
	for _, c := range v.coords {
		raw = append(raw, byte(c))
	}
	return symbols.AppendEncode(nil, raw)
}

// vectorOf reads what stored wrote; ok is false for anything else, and for another number of
// dimensions.
func vectorOf(value []byte, dimensions int) (v vector, ok bool) {
	raw, err := symbols.AppendDecode(nil, value)
	if err != nil || len(raw) != 9+dimensions || raw[0] != vectorFormat {
		return vector{}, false
	}
	coords := make([]int8, dimensions)
	for i, c := range raw[9:] {
		coords[i] = int8(c)
	}
	v = measured(int64(binary.BigEndian.Uint64(raw[1:])), coords)
	return v, v.length > 0
}

// settling is how long after it was made a vector begins to count in the views of runs. Until
// then its mutation has committed or failed, so that a run and its replay see the same
// vectors. The clocks of processes that share a store must agree within half of it.
const settling = time.Minute
