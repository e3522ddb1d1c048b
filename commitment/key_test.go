package commitment_test

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
)

// wireID is an id in version 2 of the protocol (identity.md §5), of events and runs too. Version 1 takes any text
// of 1 to 128 characters (run-event.schema.json).
var wireID = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,128}$`)

// Keys are ids in both versions: the key of a firing is the id of its event, and the id of a commitment that of the
// run in whose log the event is. A key begins with the commitment's id, and is one firing's alone.
func TestK3_KeysAreIDsOfBothVersions(t *testing.T) {
	texts := []string{"", "ref", "mem://acme/1#2@3", "Ärger /\\\"\x7f", strings.Repeat("世", 400)}
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	instants := []time.Time{{}, epoch, epoch.Add(time.Millisecond), time.UnixMilli(253402300799999).UTC()}
	seen := map[string]bool{}
	check := func(c commitment.Commitment) {
		require.Regexp(t, wireID, c.ID)
		require.Regexp(t, wireID, c.Key())
		require.True(t, strings.HasPrefix(c.Key(), c.ID+"."))
		require.False(t, seen[c.Key()], "of another firing: %s", c.Key())
		seen[c.Key()] = true
	}
	for _, text := range texts {
		byPredicate, byTime := commitment.Arm{Predicate: "p" + text}, commitment.Arm{Spec: "s" + text}
		for _, n := range numbers {
			check(commitment.Commitment{ID: commitment.ID(text, text, text, byPredicate), Arm: byPredicate, Claim: commitment.Claim{Position: n}})
		}
		for _, at := range instants {
			check(commitment.Commitment{ID: commitment.ID(text, text, text, byTime), Arm: byTime, Claim: commitment.Claim{Instant: at}})
		}
	}
}

// The events of firings, by time and by predicate, have such ids, and so have the logs that they are in.
func TestE2_FiringsHaveIDsOfBothVersions(t *testing.T) {
	h := newHost(t)
	h.arm(h.note("x"), commitment.Arm{At: epoch.Add(time.Hour)})
	h.arm(h.note("y"), signed)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	h.observe(-1, "yes", true)
	require.Equal(t, 1, h.tick().Fired)
	for _, ev := range h.log.All() {
		require.Equal(t, events.TypeCommitmentFired, ev.Payload.EventType())
		require.Regexp(t, wireID, ev.ID)
		require.Regexp(t, wireID, ev.RunID)
	}
	require.Len(t, h.log.All(), 2)
}
