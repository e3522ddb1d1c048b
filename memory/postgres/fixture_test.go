package postgres

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// fixture is the part of testdata/v1.json that is looked at.
type fixture struct {
	Now     int64
	Tenants []struct{ Tenant, Version string }
	Scopes  []struct {
		Tenant, Ref string
		Live        []string
		Records     []struct{ ID string }
	}
	Versions []struct {
		Tenant, Version string
		At              int64
		Unavailable     bool
		Lists           []struct {
			Ref string
			IDs []string
		}
	}
	Cells []struct {
		Tenant, Ref, Name string
		Value             []byte
	}
	Outbox, FileEvents, Archives []struct{ Tenant, Ref, Address string }
	Commitments                  []struct{ Tenant, ID string }
	Files                        []struct{ Tenant, Path, Content, ETag string }
}

func readFixture(t *testing.T) (f fixture) {
	data, err := os.ReadFile("testdata/v1.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &f))
	return f
}

func ids(entries []memory.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// The kept database says what is written down beside it.
func TestFixture_V1(t *testing.T) {
	f := readFixture(t)
	now := time.UnixMilli(f.Now).UTC()
	pool := connect(t, emptyDatabase(t, t.Context()))
	defer pool.Close()
	script, err := os.ReadFile("testdata/v1.sql")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), string(script))
	require.NoError(t, err)
	db, err := Open(t.Context(), pool, Options{})
	require.NoError(t, err)
	st := db.Memory()

	for _, x := range f.Tenants {
		v, err := st.Version(t.Context(), x.Tenant)
		require.NoError(t, err)
		require.Equal(t, x.Version, string(v))
	}
	for _, x := range f.Scopes {
		n := 0
		for _, err := range st.History(t.Context(), x.Tenant, memory.HistoryQuery{Ref: x.Ref}) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, len(x.Records), n)
		live, err := st.List(t.Context(), memory.Scope{Tenant: x.Tenant, Ref: x.Ref}, memory.Query{At: now})
		require.NoError(t, err)
		require.Equal(t, x.Live, ids(live))
	}
	for _, x := range f.Versions {
		_, err := st.Intact(t.Context(), x.Tenant, memory.Version(x.Version))
		require.Equal(t, x.Unavailable, err != nil)
		for _, l := range x.Lists {
			seen, err := st.ListAt(t.Context(), memory.Scope{Tenant: x.Tenant, Ref: l.Ref}, memory.Version(x.Version), memory.Query{At: time.UnixMilli(x.At)})
			require.NoError(t, err)
			require.Equal(t, l.IDs, ids(seen))
		}
	}
	for _, x := range f.Cells {
		value, err := st.Cell(t.Context(), memory.Scope{Tenant: x.Tenant, Ref: x.Ref}, x.Name)
		require.NoError(t, err)
		require.Equal(t, x.Value, value)
	}
	for _, x := range f.Commitments {
		_, err := db.Commitments().Get(t.Context(), x.Tenant, x.ID)
		require.NoError(t, err)
	}
	for _, x := range f.Archives {
		address, err := distill.ParseDigest(x.Address)
		require.NoError(t, err)
		_, err = db.Archives().Load(t.Context(), memory.Scope{Tenant: x.Tenant, Ref: x.Ref}, address)
		require.NoError(t, err)
	}
	for _, x := range f.Files {
		file, err := db.Workspace(nil).ReadFile(t.Context(), x.Tenant, x.Path)
		require.NoError(t, err)
		require.Equal(t, []string{x.Content, x.ETag}, []string{file.Content, file.ETag})
	}
	recs, err := st.Undelivered(t.Context(), memory.OutboxQuery{})
	require.NoError(t, err)
	require.Len(t, recs, len(f.Outbox))
	log := new(events.Log)
	require.NoError(t, db.Workspace(log).Flush(t.Context()))
	require.Len(t, log.All(), len(f.FileEvents))
}
