package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// tell goes through what the library is for, on real input.
func (h *host) tell(ctx context.Context, notes io.Reader, name string) error {
	if err := h.load(ctx, notes, name); err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{
		h.redaction, h.expiry, h.views, h.isolation, h.recalling, h.meaning, h.forgetting, h.consolidation, h.commitments, h.distilling,
		h.advertise, h.events,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// all returns a tenant's live entries, newest first.
func (h *host) all(ctx context.Context, tenant, ref string) ([]memory.Entry, error) {
	job, err := h.background(tenant, "count")
	if err != nil {
		return nil, err
	}
	var out []memory.Entry
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, job.End(ctx)
}

func count(entries iter.Seq2[memory.Entry, error]) (n int, err error) {
	for _, err := range entries {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

var markers = regexp.MustCompile(`\[REDACTED:([^\]]+)\]`)

func (h *host) redaction(ctx context.Context) error {
	h.title("Secrets (SR-1)")
	entries, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	hits, shown, marked := map[string]int{}, 0, 0
	for _, e := range entries {
		found := markers.FindAllStringSubmatch(e.Content+strings.Join(e.Tags, " "), -1)
		if len(found) == 0 {
			continue
		}
		marked++
		for _, m := range found {
			hits[m[1]]++
		}
		if shown++; shown <= 3 {
			h.say("  %s", short(e.Content))
		}
	}
	leaked := 0
	for _, s := range secrets {
		for _, e := range entries {
			if strings.Contains(e.Content, s.value) {
				leaked++
			}
		}
	}
	h.say("%d secrets are registered. %d live notes carry markers, %d hold a value.", len(secrets), marked, leaked)
	for _, id := range slices.Sorted(maps.Keys(hits)) {
		h.say("  %3d × [REDACTED:%s]", hits[id], id)
	}
	return nil
}

func (h *host) expiry(ctx context.Context) error {
	h.title("Expiry (TTL)")
	before, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	h.say("%s: %d live", h.now.UTC().Format(time.DateTime), len(before))
	next := time.Time{}
	for _, e := range before {
		if !e.ExpiresAt.IsZero() && (next.IsZero() || e.ExpiresAt.Before(next)) {
			next = e.ExpiresAt
		}
	}
	if next.IsZero() {
		h.say("Nothing here expires.")
		return nil
	}
	for _, at := range []time.Time{next.Add(-time.Millisecond), next} {
		h.now = at
		after, err := h.all(ctx, acme, acmeRef)
		if err != nil {
			return err
		}
		h.say("%s: %d live", at.UTC().Format("2006-01-02 15:04:05.000"), len(after))
	}
	return nil
}

func (h *host) views(ctx context.Context) error {
	h.title("A run's view does not move")
	run, err := start(ctx, h.bank, acme, "run-1", "")
	if err != nil {
		return err
	}
	first, err := count(run.Scan(ctx, acmeRef))
	if err != nil {
		return err
	}
	mine, err := run.Put(ctx, acmeRef, memory.Draft{
		Content: "Call with Lena went well; the deploy key " + secrets[0].value + " is not needed any more.",
		NodeID:  "summarise", AgentID: "support-agent",
	})
	if err != nil {
		return err
	}

	// Meanwhile another caller writes and deletes.
	other, err := start(ctx, h.bank, acme, "run-2", "")
	if err != nil {
		return err
	}
	for _, note := range []string{"The export queue is empty again.", "Bodø asked for the new price list."} {
		if _, err := other.Put(ctx, acmeRef, memory.Draft{Content: note, NodeID: "note", AgentID: "support-agent"}); err != nil {
			return err
		}
	}
	seen, err := other.Memory().List(ctx, acmeRef, memory.ListOptions{Limit: 3})
	if err != nil {
		return err
	}
	if _, err := other.Delete(ctx, acmeRef, seen[len(seen)-1].ID); err != nil {
		return err
	}
	if err := other.End(ctx); err != nil {
		return err
	}
	inView, err := count(run.Scan(ctx, acmeRef))
	if err != nil {
		return err
	}
	live, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	h.say("run-1 sees %d, then %d with its own note; others wrote 2 and deleted 1: live memory has %d.", first, inView, len(live))
	h.say("  its note: %s", short(mine.Content))

	// The run is suspended, and another process takes it up.
	token, err := run.Token(ctx)
	if err != nil {
		return err
	}
	ranker, err := newRanker()
	if err != nil {
		return err
	}
	elsewhere, err := h.openBank(ranker)
	if err != nil {
		return err
	}
	resumed, err := start(ctx, elsewhere, acme, "run-1", token)
	if err != nil {
		return err
	}
	again, err := count(resumed.Scan(ctx, acmeRef))
	if err != nil {
		return err
	}
	asOf, err := h.bank.AsOf(ctx, acme, token)
	if err != nil {
		return err
	}
	newest, err := asOf.List(ctx, acmeRef, memory.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	h.say("Resumed in another process it sees %d. As of its token the newest note is its own: %t.", again, newest[0].ID == mine.ID)
	return errors.Join(run.End(ctx), resumed.End(ctx))
}

func (h *host) isolation(ctx context.Context) error {
	h.title("Tenants (CTI-1)")
	theirs, err := start(ctx, h.bank, globex, "run-3", "")
	if err != nil {
		return err
	}
	for _, note := range []string{"Globex renews in July.", "Globex wants invoices as PDF.", "Ask for Hank, never for Homer."} {
		if _, err := theirs.Put(ctx, globexRef, memory.Draft{Content: note, NodeID: "note"}); err != nil {
			return err
		}
	}
	if err := theirs.End(ctx); err != nil {
		return err
	}
	ours, err := start(ctx, h.bank, acme, "run-4", "")
	if err != nil {
		return err
	}
	for _, ref := range []string{globexRef, "mem://acme/../globex/support", "mem://nobody/support"} {
		entries, err := ours.Memory().List(ctx, ref, memory.ListOptions{})
		if err != nil {
			return err
		}
		_, err = ours.Put(ctx, ref, memory.Draft{Content: "planted"})
		h.say("acme reads %-29s %d notes; a write: %s", ref, len(entries), memory.CodeOf(err))
	}
	entries, err := h.bank.Reader(globex).List(ctx, globexRef, memory.ListOptions{})
	if err != nil {
		return err
	}
	h.say("globex still has its %d.", len(entries))
	return ours.End(ctx)
}

func (h *host) forgetting(ctx context.Context) error {
	h.title("Forgetting")
	before, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	about := map[string]int{}
	for _, e := range before {
		for _, s := range e.Subjects {
			about[s]++
		}
	}
	if len(about) == 0 {
		h.say("No note names a subject.")
		return nil
	}
	subject := slices.MaxFunc(slices.Sorted(maps.Keys(about)), func(a, b string) int { return about[a] - about[b] })
	run, err := start(ctx, h.bank, acme, "run-5", "")
	if err != nil {
		return err
	}
	token, err := run.Token(ctx)
	if err != nil {
		return err
	}
	done, err := h.bank.Forget(ctx, acme, subject)
	if err != nil {
		return err
	}
	after, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	view, err := count(run.Scan(ctx, acmeRef))
	if err != nil {
		return err
	}
	h.say("%s: %d notes erased in every version, the expired ones too. Live: %d, then %d; an open run sees %d.",
		subject, len(done.Erased), len(before), len(after), view)
	asOf, err := h.bank.AsOf(ctx, acme, token)
	if err != nil {
		return err
	}
	_, err = asOf.List(ctx, acmeRef, memory.ListOptions{})
	h.say("Read as of a token that could have seen them: %s", memory.CodeOf(err))
	return run.End(ctx)
}

func (h *host) events(ctx context.Context) error {
	h.title("Events")
	if _, err := h.bank.Maintain(ctx); err != nil {
		return err
	}
	type run struct{ tenant, id string }
	type line struct {
		run
		kind        events.Type
		first, last int64
	}
	var lines []line
	last := map[run]int{}
	all := h.log.All()
	for _, ev := range all {
		r := run{ev.Tenant, ev.RunID}
		i, known := last[r]
		if known && lines[i].kind == ev.Payload.EventType() {
			lines[i].last = ev.Sequence
			continue
		}
		last[r] = len(lines)
		lines = append(lines, line{r, ev.Payload.EventType(), ev.Sequence, ev.Sequence})
	}
	for _, l := range lines {
		sequence := fmt.Sprint(l.first)
		if l.last > l.first {
			sequence = fmt.Sprintf("%d–%d", l.first, l.last)
		}
		h.say("  %-7s %-36s %4d × %-26s sequence %s", l.tenant, l.id, l.last-l.first+1, l.kind, sequence)
	}
	h.say("%d events, identifiers and counts only: no field could hold what a note says.", len(all))
	return nil
}
