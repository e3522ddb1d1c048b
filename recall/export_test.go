package recall

import "testing"

// SmallImages has images written of a few entries, in pages of a few.
func SmallImages(t *testing.T) {
	min, lag, page := imageMin, imageLag, pageEntries
	imageMin, imageLag, pageEntries = 2, 3, 5
	t.Cleanup(func() { imageMin, imageLag, pageEntries = min, lag, page })
}
