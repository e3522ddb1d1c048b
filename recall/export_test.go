package recall

import "testing"

// SmallImages has images written of a few entries, in pages of a few.
func SmallImages(t *testing.T) {
	entries, bytes := imageMin, pageBytes
	imageMin, pageBytes = 2, 600
	t.Cleanup(func() { imageMin, pageBytes = entries, bytes })
}
