package adaptertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// wholeRun is a report in which every case is proven.
func wholeRun() *Report {
	r := &Report{Version: "v1.2.3", Level: LevelVersioned, Durability: NotProven, NotOffered: map[Offer]string{Shared: "one process at a time"}}
	for _, l := range laws() {
		for _, c := range l.cases {
			r.add(&l, &Case{Name: c.name, Status: Proven})
		}
	}
	return r
}

func TestT5_ACertificateSaysWhatWasNotTried(t *testing.T) {
	r := wholeRun()
	text, data := r.Certificate()
	require.Contains(t, text, fmt.Sprintf("agentmemory v1.2.3: step versioned; %d laws proven, 0 broken, 0 not offered; durable: not proven\n", len(laws())))
	require.Contains(t, text, "not offered: shared: one process at a time\n")

	r.Seed = 7
	r.add(&law{name: "SIZES"}, &Case{Name: "another", Status: Proven})
	again, form := r.Certificate()
	require.Equal(t, text, again, "the number of cases and the seed are no part of it")
	require.Equal(t, data, form)

	for _, lack := range []Offer{Tenants, Shared, Tenants} {
		r.add(&law{name: "SIZES"}, &Case{Name: "one more", Status: NotOffered, missing: lack})
	}
	text, data = r.Certificate()
	require.Contains(t, text, "holds for many, and for long texts\n    not tried: what needs shared, tenants\n")
	require.Contains(t, data, `"without": [`)
}

func TestT5_ACertificateIsWhatTheStoreProducesNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "certificate")
	t.Setenv("AGENTMEMORY_CERTIFY", "")
	require.ErrorContains(t, wholeRun().certify(path), "certificate.txt is not there yet")

	part := wholeRun()
	require.True(t, part.whole())
	part.Laws = part.Laws[1:]
	require.False(t, part.whole(), "a part of the cases proves nothing")
	t.Setenv("AGENTMEMORY_CERTIFY", "1")
	require.NoError(t, wholeRun().certify(path))

	t.Setenv("AGENTMEMORY_CERTIFY", "")
	require.NoError(t, wholeRun().certify(path))
	for _, ext := range []string{".txt", ".json"} {
		kept, err := os.ReadFile(path + ext)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+ext, append(kept, ' '), 0o600))
		require.ErrorContains(t, wholeRun().certify(path), "certificate"+ext+" is not the certificate of this run")
		require.NoError(t, os.WriteFile(path+ext, kept, 0o600))
	}
	weaker := wholeRun()
	weaker.Durability = Volatile
	require.Error(t, weaker.certify(path))
}
