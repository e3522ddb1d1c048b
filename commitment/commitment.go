package commitment

import (
	"cmp"
	"strconv"
	"time"
)

// State is where a commitment stands (K3).
type State string

// The states of a commitment. Acknowledged, Lapsed and GivenUp are final.
const (
	// Armed waits for its arm.
	Armed State = "armed"
	// Claimed has an instant or a transition that belongs to it alone, and is being
	// delivered or tried again.
	Claimed State = "claimed"
	// Delivered has its run, but its event could not be committed with it and is tried
	// again.
	Delivered State = "delivered"
	// Acknowledged has fired for the last time.
	Acknowledged State = "acknowledged"
	// Lapsed will not fire any more; its Reason says why.
	Lapsed State = "lapsed"
	// GivenUp could not be delivered for [Config.GiveUpAfter], and has nothing else to fire
	// for. [Engine.Retry] takes it up again, and [Engine.Cancel] ends it.
	GivenUp State = "given-up"
)

// Final reports whether the commitment has ended.
func (s State) Final() bool { return s == Acknowledged || s == Lapsed || s == GivenUp }

// Reason says why a commitment lapsed.
type Reason string

// The reasons.
const (
	ReasonNone       Reason = ""
	ReasonGone       Reason = "source-gone"       // its entry was deleted, has expired, or was forgotten
	ReasonSuperseded Reason = "source-superseded" // its entry was superseded; MovedTo, if set, fires in its place
	ReasonMerged     Reason = "source-merged"     // its entry was merged, and MovedTo fires in its place
	ReasonCanceled   Reason = "canceled"          // by [Engine.Cancel]
	ReasonMissed     Reason = "missed"            // its only instant passed, and the policy is [Skip]
	ReasonSchedule   Reason = "schedule-ended"    // its schedule has no next instant, or none that can be used
	ReasonRefused    Reason = "refused"           // its run has started, and memory does not take its event, try after try
	ReasonHorizon    Reason = "beyond-horizon"    // its next instant lies beyond the horizon
)

// Commitment is a standing commitment as it is kept: whose it is, what it waits for, and
// how far it has come. It holds nothing of what its entry says (K8).
// All instants are whole milliseconds, UTC.
type Commitment struct {
	// Tenant and ID name the commitment; the ID alone is unique too.
	Tenant string `json:"-"`
	ID     string `json:"-"`
	// Ref and MemoryID are where it comes from. MemoryID may be empty.
	Ref      string `json:"ref,omitzero"`
	MemoryID string `json:"memoryId,omitzero"`
	Arm      Arm    `json:"arm,omitzero"`
	// ArmedAt is when it was armed.
	ArmedAt time.Time `json:"armedAt,omitzero"`

	State  State  `json:"state,omitzero"`
	Reason Reason `json:"reason,omitzero"`
	// MovedTo is the id of the commitment that fires in place of this one, whose entry was replaced.
	MovedTo string `json:"movedTo,omitzero"`
	// EndedAt is when it reached its final state. It is zero before that.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Canceled asks that it ends when the delivery under way is over, and that it does not come
	// back if it lapsed by a merge or a supersession that is undone.
	Canceled bool `json:"canceled,omitzero"`

	// Due is when a tick has to handle it: the instant it is armed for, the end of
	// a lease, or the next try. Zero is never.
	Due time.Time `json:"-"`
	// Mark is the high-water mark: every instant up to it was claimed or passed
	// over, and none will be again (K2).
	Mark time.Time `json:"mark,omitzero"`
	// Position and Digest are those of the last observation of its predicate (K5).
	// The Digest is empty before the first.
	Position int64  `json:"position,omitzero"`
	Digest   string `json:"digest,omitzero"`

	// Claim is what is being delivered; zero for nothing.
	Claim Claim `json:"claim,omitzero"`
	// GivenUp is the last firing that was given up, also of a commitment that goes on; zero for
	// none. It is zero again when a later firing has succeeded, [Engine.Retry] has taken it
	// up, or the commitment was canceled or lapsed with its entry.
	GivenUp Claim `json:"givenUp,omitzero"`
	// Waiting are positions of transitions that were claimed while another was
	// under way, at most [MaxWaiting].
	Waiting []int64 `json:"waiting,omitempty"`
	// Fence counts the leases, so that an [Enqueuer] can tell a late delivery
	// from a newer one. Lease is when the last lease ends; zero if there is none.
	Fence int64     `json:"fence,omitzero"`
	Lease time.Time `json:"lease,omitzero"`

	// Fired counts the firings that are over. RunID is the run of the last
	// delivery, empty if that started none, and Pass the background pass that made it, in whose
	// log commitment.fired is.
	Fired int    `json:"fired,omitzero"`
	RunID string `json:"runId,omitzero"`
	Pass  string `json:"pass,omitzero"`

	// Rev is the revision; 0 is a commitment that is not in the store.
	Rev int64 `json:"-"`
}

// MaxWaiting bounds the transitions that wait for the delivery of an earlier one.
const MaxWaiting = 64

// Claim is one firing of a commitment: of its Instant, or of the transition at
// Position.
type Claim struct {
	Instant  time.Time `json:"instant,omitzero"`
	Position int64     `json:"position,omitzero"`
	// Tries counts the deliveries that were begun.
	Tries int `json:"tries,omitzero"`
	// By is the id of the commitment that has claimed it, if that was the one of an entry which
	// was replaced since. Empty is this one.
	By string `json:"by,omitzero"`
}

// Key names the firing under way. It is the id of the event and the idempotency key of the run, and an id
// in both versions of the protocol (identity.md §5): the id of the commitment that has claimed it, a dot,
// and the transition's position or the instant in milliseconds. No key of a caller's own begins like that.
func (c *Commitment) Key() string {
	of := c.Claim.Position
	if c.Arm.Predicate == "" {
		of = c.Claim.Instant.UnixMilli()
	}
	return cmp.Or(c.Claim.By, c.ID) + "." + strconv.FormatInt(of, 10)
}

// end makes a final state of it.
func (c *Commitment) end(s State, why Reason, now time.Time) {
	c.State, c.Reason, c.EndedAt = s, why, now
	c.Due, c.Lease = time.Time{}, time.Time{}
	c.Waiting = nil
	if s != GivenUp && why != ReasonSchedule && why != ReasonHorizon { // in which only what comes next ends
		c.GivenUp = Claim{}
	}
}

// isReplaced reports whether it lapsed because its entry was merged or superseded, which can be undone.
func (c *Commitment) isReplaced() bool {
	return c.State == Lapsed && (c.Reason == ReasonMerged || c.Reason == ReasonSuperseded)
}
