package commitment_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The form of a commitment in a store, byte for byte.
func TestTheDocumentOfACommitment(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	whole := commitment.Commitment{
		Tenant: "acme", ID: "cmt_1", Ref: "ref", MemoryID: "mem_1",
		Arm:     commitment.Arm{At: at(1), Every: time.Second, Spec: "s", Predicate: "p", Once: true},
		ArmedAt: at(-2), State: commitment.Claimed, Reason: commitment.ReasonMissed, MovedTo: "cmt_2", EndedAt: at(3),
		Canceled: true, Due: at(4), Mark: at(5), Position: -6, Digest: "d",
		Claim: commitment.Claim{Instant: at(0), Position: 7, Tries: 8}, GivenUp: commitment.Claim{Position: 6, Tries: 33}, Waiting: []int64{9, 10},
		Fence: 11, Lease: at(12), Fired: 13, RunID: "run", Rev: 14,
	}
	d := whole.Document()
	require.Equal(t, `{"format":1,"ref":"ref","memoryId":"mem_1",`+
		`"arm":{"at":"1970-01-01T00:00:00.001Z","every":1000000000,"spec":"s","predicate":"p","once":true},`+
		`"armedAt":"1969-12-31T23:59:59.998Z","state":"claimed","reason":"missed","movedTo":"cmt_2","endedAt":"1970-01-01T00:00:00.003Z","canceled":true,`+
		`"mark":"1970-01-01T00:00:00.005Z","position":-6,"digest":"d","claim":{"instant":"1970-01-01T00:00:00Z","position":7,"tries":8},"givenUp":{"position":6,"tries":33},"waiting":[9,10],`+
		`"fence":11,"lease":"1970-01-01T00:00:00.012Z","fired":13,"runId":"run"}`, string(d.Value))
	d.Value = nil
	require.Equal(t, driver.Document{
		Scope: driver.Scope{Tenant: "acme"}, Class: driver.Machinery, Kind: "commitment", Key: "cmt_1",
		Group: "p", Due: at(4), Rev: 14,
	}, d)
	whole.State = commitment.Lapsed
	require.Empty(t, whole.Document().Group, "what has ended waits for nothing")
	require.Equal(t, `{"format":1}`, string((&commitment.Commitment{}).Document().Value), "what is zero is left out")
}

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	text := func() string { return []string{"", "a", `q"\<&>` + "\u2028é"}[r.IntN(3)] }
	number := func() int64 { return []int64{0, 1, -1, 1 << 62, r.Int64()}[r.IntN(5)] }
	instant := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return time.UnixMilli([]int64{0, -62135596799999, 253402300799999, r.Int64N(1 << 41)}[r.IntN(4)]).UTC()
	}
	for range 2000 {
		c := commitment.Commitment{
			Tenant: "acme", ID: "cmt_1", Ref: text(), MemoryID: text(),
			Arm:     commitment.Arm{At: instant(), Every: time.Duration(r.IntN(3)) * time.Second, Spec: text(), Predicate: text(), Once: r.IntN(2) == 0},
			ArmedAt: instant(), State: commitment.State(text()), Reason: commitment.Reason(text()), MovedTo: text(), EndedAt: instant(),
			Canceled: r.IntN(2) == 0, Due: instant(), Mark: instant(), Position: number(), Digest: text(),
			Claim:   commitment.Claim{Instant: instant(), Position: number(), Tries: r.IntN(3)},
			GivenUp: commitment.Claim{Instant: instant(), Position: number(), Tries: r.IntN(3)},
			Fence:   number(), Lease: instant(), Fired: r.IntN(3), RunID: text(), Rev: number(),
		}
		for range r.IntN(3) {
			c.Waiting = append(c.Waiting, number())
		}
		d := c.Document()
		require.True(t, json.Valid(d.Value))
		got, err := commitment.FromDocument(&d)
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
}

func TestADocumentThatCannotBeRead(t *testing.T) {
	for value, want := range map[string]error{
		`{"format":2}`:                       commitment.ErrNewerFormat,
		`{"state":{"odd":1},"format":2}`:     commitment.ErrNewerFormat,
		`{"format":1,"new":[1],"fence":3}`:   nil,
		`{"format":0}`:                       memory.ErrInternal,
		`{}`:                                 memory.ErrInternal,
		``:                                   memory.ErrInternal,
		`{"format":1,"armedAt":"yesterday"}`: memory.ErrInternal,
	} {
		c, err := commitment.FromDocument(&driver.Document{Scope: driver.Scope{Tenant: "acme"}, Key: "k", Value: []byte(value)})
		require.ErrorIs(t, err, want, value)
		require.Equal(t, "k", c.ID)
		if want == memory.ErrInternal {
			require.NotErrorIs(t, err, commitment.ErrNewerFormat, value)
		}
	}
}

// plant puts a document of acme into the store, past every check, and returns it as stored.
func (h *host) plant(d driver.Document) driver.Document {
	h.t.Helper()
	d.Tenant, d.Kind = "acme", commitment.DocumentKind
	made, err := h.store.(*audit).store.Apply(ctx, "acme", driver.Mutation{Documents: []driver.DocumentSwap{{Document: d}}})
	require.NoError(h.t, err)
	d.Rev = made.Revs[0]
	return d
}

// What a newer version wrote is left as it is, said, and holds up nothing.
func TestANewerFormatIsLeftAlone(t *testing.T) {
	h := newHost(t)
	var newer []driver.Document
	for i := range 700 { // more than a tick reads at a time
		newer = append(newer, h.plant(driver.Document{
			Key: fmt.Sprintf("cmt_%d", i), Group: "signed", Due: epoch.Add(time.Minute),
			Value: []byte(`{"format":2,"state":{"name":"claimed"}}`),
		}))
	}
	timed, waits := h.arm(h.note("x"), in(time.Hour)), h.arm(h.note("y"), signed)
	h.clock.Advance(time.Hour)

	n, err := h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: 1, State: nil, Holds: true})
	require.ErrorIs(t, err, commitment.ErrNewerFormat)
	require.Equal(t, []string{waits.ID}, n)
	done, err := h.Tick(ctx)
	require.ErrorIs(t, err, commitment.ErrNewerFormat)
	require.Equal(t, commitment.Ticked{Fired: 2}, counts(t, done))
	_, err = h.Cancel(ctx, "acme", "cmt_1")
	require.ErrorIs(t, err, commitment.ErrNewerFormat)
	_, err = h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err, "it looks at what it has read, and at no commitment but those that it arms")
	_, err = h.Sweep(ctx, "acme")
	require.ErrorIs(t, err, commitment.ErrNewerFormat)
	var read, unread []string
	for c, err := range h.Commitments(ctx, "acme") {
		require.Equal(t, "acme", c.Tenant)
		if err == nil {
			read = append(read, c.ID)
			continue
		}
		require.ErrorIs(t, err, commitment.ErrNewerFormat)
		unread = append(unread, c.ID)
	}
	require.ElementsMatch(t, []string{timed.ID, waits.ID}, read)
	require.Len(t, unread, len(newer))
	for _, d := range newer {
		for got, err := range h.store.Documents(ctx, driver.DocumentQuery{Tenant: "acme", Key: d.Key}) {
			require.NoError(t, err)
			require.Equal(t, d, got)
		}
	}
}

// An heir of a newer format is not written over, and its claim waits for the processes that
// can read it.
func TestK6_AnHeirOfANewerFormat(t *testing.T) {
	h := newHost(t)
	merged, head := h.note("m"), h.note("m")
	c := h.arm(merged, in(time.Hour))
	_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: merged.MemoryID, State: memory.Merged, For: head.MemoryID}}})
	require.NoError(t, err)
	h.plant(driver.Document{Key: commitment.ID("acme", "ref", head.MemoryID, in(time.Hour)), Value: []byte(`{"format":2}`)})
	h.clock.Advance(time.Hour)
	for range 20 { // more than the tries of a delivery
		done, err := h.Tick(ctx)
		require.ErrorIs(t, err, commitment.ErrNewerFormat)
		require.Equal(t, commitment.Ticked{Failed: 1}, done)
		h.clock.Advance(commitment.MaxBackoff)
	}
	require.Equal(t, commitment.Claimed, h.get(c).State)
	require.Empty(t, h.queue.calls)
}
