package recall

import "math"

// vector is what a text means: the direction of the model's vector, of which each
// coordinate is rounded to a whole number from -127 to 127.
type vector struct {
	since  int64   // milliseconds: views that were opened earlier do not see it
	coords []byte  // of which each is an int8
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
	coords := make([]byte, len(floats))
	for i, f := range floats {
		coords[i] = byte(int8(math.Round(float64(f) / largest * 127)))
	}
	return measured(coords), true
}

func measured(coords []byte) vector {
	return vector{0, coords, math.Sqrt(float64(dot(coords, coords)))}
}

// similarity is the cosine of the angle between two vectors.
func (v *vector) similarity(o *vector) float64 {
	return float64(dot(v.coords, o.coords)) / (v.length * o.length)
}

// dot is the inner product of two vectors of the same length.
func dot(a, b []byte) (sum int32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += int32(int8(x)) * int32(int8(b[i]))
	}
	return sum
}

// stored is what a vector's document holds.
func (v *vector) stored() string { return symbols.EncodeToString(v.coords) }

// vectorOf reads what stored wrote; ok is false for anything else, and for another number of
// dimensions.
func vectorOf(value string, dimensions int) (v vector, ok bool) {
	raw, err := symbols.DecodeString(value)
	if err != nil || len(raw) != dimensions {
		return vector{}, false
	}
	v = measured(raw)
	return v, v.length > 0
}
