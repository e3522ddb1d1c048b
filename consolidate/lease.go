package consolidate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// The cells of a ref that this package keeps. They hold ids, counts and digests.
const (
	passCell    = "consolidate/pass"
	digestCell  = "consolidate/digest/"  // + the selection
	journalCell = "consolidate/journal/" // + the pass and a page number
	undoneCell  = "consolidate/undone/"  // + a page number
)

// state is what the pass cell holds: who works on the scope, and how far it is. Every
// mutation of a pass replaces it, so that a pass which has lost its lease cannot
// commit any more, and what is counted is what was committed.
type state struct {
	Pass  string `json:"pass"`
	Fence uint64 `json:"fence"` // counts the holders
	Until int64  `json:"until"` // milliseconds; 0 when nobody holds it
	Open  bool   `json:"open"`  // the pass has begun and not emitted its event
	// What the pass has committed so far.
	Merged     int      `json:"merged,omitempty"`
	Superseded int      `json:"superseded,omitempty"`
	Derived    int      `json:"derived,omitempty"`
	IDs        []string `json:"ids,omitempty"` // of retired entries, up to MaxMergedIDs
	Page       int      `json:"page,omitempty"`
}

func (s *state) retired() int { return s.Merged + s.Superseded }

// lease is a pass's hold on its scope.
type lease struct {
	state
	raw  []byte // the cell as this pass wrote it
	page []byte // the journal page it is at
}

var errStale = errors.New("the group has changed")

// acquire takes the lease. A pass of the same id that died goes on where it was.
func (p *pass) acquire(ctx context.Context) error {
	raw, err := p.job.Cell(ctx, p.ref, passCell)
	if err != nil {
		return err
	}
	var s state
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		s = state{} // not ours; the swap below replaces it
	}
	if s.Until > p.job.Now().UnixMilli() && s.Pass != p.job.ID() {
		return &failure{memory.ErrConflict, "another pass holds the scope", nil}
	}
	if s.Pass != p.job.ID() || !s.Open {
		s = state{Pass: p.job.ID(), Fence: s.Fence, Open: true}
	}
	s.Fence++
	p.held = lease{state: s, raw: raw}
	// A journal may be there already, of a pass of this id that ended.
	for {
		p.held.page, err = p.job.Cell(ctx, p.ref, journalPage(s.Pass, p.held.Page))
		if err != nil {
			return err
		}
		if len(p.held.page) < fullPage {
			break
		}
		p.held.Page++
	}
	if _, err := p.commit(ctx, memory.Rewrite{}, func(*state) {}); err != nil {
		if errors.Is(err, memory.ErrConflict) {
			return &failure{memory.ErrConflict, "another pass holds the scope", err}
		}
		return err
	}
	return nil
}

// release lets others in before the lease ends. If that fails, it ends by itself.
func (p *pass) release(ctx context.Context) {
	_, _ = p.commit(ctx, memory.Rewrite{}, func(s *state) { s.Until = 0 })
}

// commit commits rw together with the pass's new state. It is not interrupted by the
// end of ctx, so that a cancelled pass knows what became of its last group; the lease
// bounds it. errStale means that rw's conditions do not hold; any other conflict, that
// the lease is lost.
func (p *pass) commit(ctx context.Context, rw memory.Rewrite, change func(*state)) ([]memory.Entry, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Lease)
	defer cancel()
	next := p.held.state
	next.Until = p.job.Now().Add(p.cfg.Lease).UnixMilli()
	change(&next)
	raw, err := json.Marshal(next)
	if err != nil {
		return nil, &failure{memory.ErrInternal, "the state of the pass cannot be written", err}
	}
	rw.Cells = append(rw.Cells, memory.Cell{Name: passCell, Old: p.held.raw, New: raw})
	stored, err := p.job.Rewrite(ctx, p.ref, rw)
	if errors.Is(err, memory.ErrConflict) {
		now, failed := p.job.Cell(ctx, p.ref, passCell)
		if failed != nil {
			return nil, failed
		}
		if bytes.Equal(now, p.held.raw) {
			return nil, errStale
		}
		return nil, &failure{memory.ErrConflict, "the lease on the scope was lost", err}
	}
	if err != nil {
		return nil, err
	}
	p.held.state, p.held.raw = next, raw
	return stored, nil
}

// hash shortens a name for use in a cell's name or an event's id.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// within gives a call of the host's code its deadline.
func (p *pass) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.cfg.Timeout)
}

func since(t time.Time, n int) float64 {
	if d := time.Since(t).Seconds(); d > 0 {
		return float64(n) / d
	}
	return 0
}
