package otel_test

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/telemetry"
)

// everything performs each operation, also after one has failed, and returns ids and tokens that it was given.
func (w *world) everything() (given []string) {
	b := w.bank
	run, err := b.Start(ctx, memory.RunConfig{ID: "canary-run", Tenant: tenant, Redactor: w.vault()})
	if err != nil {
		return nil
	}
	from, _ := run.Token(ctx)
	draft := func(content string) memory.Draft {
		return memory.Draft{
			Content: content, Tags: []string{"canary-tag", secret}, Subjects: []string{subject},
			NodeID: "canary-node", AgentID: "canary-agent",
		}
	}
	e, _ := run.Put(ctx, ref, draft("canary-content with "+secret))
	again, _ := run.Put(ctx, ref, memory.Draft{Content: "canary-content", Key: "canary-key"})
	_, _ = run.Put(ctx, ref, memory.Draft{Content: "canary-other", Key: "canary-key"})    // a conflict
	_, _ = run.Put(ctx, ref, memory.Draft{Content: "canary-other", Key: secret})          // secret leakage
	_, _ = run.Put(ctx, "canary/../ref", draft("canary-content"))                         // malformed
	_, _ = run.Put(ctx, ref, draft(strings.Repeat("canary", 1000)))                       // too large
	_, _ = run.Put(ctx, ref, memory.Draft{Content: "canary", ExpiresAt: time.Unix(1, 0)}) // expired
	_ = run.Emit(ctx, events.Record{NodeID: "canary-node", Payload: events.HostPayload{Type: "canary.done", JSON: []byte(`{"canary":"` + secret + `"}`)}})
	_ = run.Emit(ctx, events.Record{NodeID: secret, Payload: events.HostPayload{Type: "canary.done", JSON: []byte(`{}`)}})
	view := run.Memory()
	_, _ = view.List(ctx, ref, memory.ListOptions{Tag: "canary-tag", Rank: "relevance", Query: "canary-query"})
	_, _ = view.List(ctx, ref, memory.ListOptions{Limit: -1, Query: "canary-query"})
	_, _ = view.Get(ctx, ref, e.ID)
	_, _ = view.Get(ctx, ref, "canary-id")
	_, _ = run.Search(ctx, ref, memory.Search{Text: "canary-query", Tags: []string{"canary-tag"}})
	_, _ = run.Search(ctx, ref, memory.Search{Text: "canary-query"})
	_, _ = run.Search(ctx, ref, memory.Search{Text: "canary-query", Rank: "canary-rank"})
	to, _ := run.Token(ctx)
	if then, err := b.AsOf(ctx, tenant, to); err == nil {
		_, _ = then.List(ctx, ref, memory.ListOptions{})
		_, _ = then.Get(ctx, ref, e.ID)
		_, _ = then.Search(ctx, ref, memory.Search{Text: "canary-query"})
	}
	_, _ = b.AsOf(ctx, "canary-other", to)
	_, _ = b.Start(ctx, memory.RunConfig{ID: "canary-run", Tenant: tenant, Redactor: w.vault(), Resume: "canary-token"})
	_, _ = b.Reader(tenant).List(ctx, ref, memory.ListOptions{})
	_, _ = b.Search(ctx, tenant, ref, memory.Search{Text: "canary\x00query"})
	_, _ = b.Search(ctx, tenant, ref, memory.Search{Text: "canary-query"})
	_, _ = run.Delete(ctx, ref, again.ID)
	_, _ = run.Delete(ctx, "canary/../ref", again.ID)

	job := w.job("canary-pass")
	one, _ := job.Put(ctx, ref, draft("canary-twice"))
	two, _ := job.Put(ctx, ref, draft("canary-twice"))
	_, _ = job.Put(ctx, ref, memory.Draft{Content: "Call canary-lena next Monday.", Tags: []string{"every:24h"}})
	_, _ = job.Live(ctx, ref, []string{one.ID, two.ID})
	_, _ = job.Rewrite(ctx, ref, memory.Rewrite{Expect: []string{"canary-id"}, Derive: []memory.Derived{{Draft: draft("canary-derived")}}})
	_, _ = w.commitments.Infer(ctx, job, ref)
	_, _ = w.commitments.Arm(ctx, job, commitment.Source{Ref: ref}, commitment.Arm{Predicate: "canary-predicate"})
	_, _ = w.commitments.Observe(ctx, commitment.Observation{Tenant: tenant, Predicate: "canary-predicate", Position: 1, State: []byte("canary-state"), Holds: true})
	_, _ = w.commitments.Observe(ctx, commitment.Observation{Tenant: tenant, Predicate: "canary predicate"})
	pass, _ := w.reconciler.Run(ctx, job, ref, consolidate.Options{})
	_, _ = w.reconciler.Undo(ctx, w.job("canary-undo"), ref, pass.Pass)
	_, _ = w.distiller.Compact(ctx, w.job("canary-compact"), ref, distill.Options{})
	_, _ = w.distiller.Distill(ctx, w.job("canary-distill"), ref, distill.Options{})
	_, _ = w.distiller.Distill(ctx, w.job("canary-distill"), ref, distill.Options{TokenBudget: 1})
	_, _ = b.Maintain(ctx)
	_ = job.End(ctx)
	_ = run.End(ctx)
	_, _ = run.Put(ctx, ref, draft("canary-late"))

	w.advance(8 * 24 * time.Hour)
	kept, cancel := context.WithCancel(ctx)
	_ = b.Engines().Register("host", nil, func(context.Context) error {
		cancel()
		return errors.New("canary of the host")
	}, nil)
	_ = b.Keep(kept, 0)
	_, _ = w.commitments.Sweep(ctx, tenant)
	_, _ = b.Forget(ctx, tenant, subject)
	_, _ = b.Forget(ctx, tenant, "canary\x00subject")
	_, _ = b.Scrub(ctx, tenant, lateVault{})
	var ledger []memory.Erasure
	for x, err := range b.Erasures(ctx, tenant) {
		if err == nil {
			ledger = append(ledger, x)
		}
	}
	_, _ = b.EraseAgain(ctx, tenant, ledger, nil)
	_, _ = b.Purge(ctx, tenant)
	w.advance(8 * 24 * time.Hour)
	_, _ = b.Purge(ctx, tenant)
	_, _ = b.Maintain(ctx)
	_ = b.DropTenant(ctx, tenant)
	_ = b.DropTenant(ctx, "canary\x00tenant")
	for _, x := range ledger {
		given = slices.AppendSeq(given, maps.Keys(x.Entries))
		for _, ids := range x.Entries {
			given = append(given, ids...)
		}
	}
	return append(given, e.ID, again.ID, one.ID, two.ID, string(from), string(to))
}

// lateVault takes out what was not known to be a secret.
type lateVault struct{}

func (lateVault) Redact(text string) (string, error) {
	return strings.ReplaceAll(text, "canary-lena", "[REDACTED:late]"), nil
}
func (v lateVault) RedactDerived(text string) (string, error) { return v.Redact(text) }

// texts are the values of attributes that there may be.
var texts = regexp.MustCompile(`^(agents|agentmemory|[a-z]+_memory|delete_memory_store)$`)

// errorTypes are the codes that the battery comes to.
var errorTypes = []string{
	"validation_error", "secret_leakage", "not_found", "conflict", "canceled", "internal_error",
	"replay_memory_snapshot_unavailable", "token_budget_exceeded",
}

// checkAttributes sees to it that attributes are numbers, or texts of a closed list.
func checkAttributes(t *testing.T, attrs []attribute.KeyValue) {
	t.Helper()
	for _, a := range attrs {
		require.Regexp(t, `^(gen_ai|agentmemory|error)\.[a-z_.]+$`, string(a.Key))
		switch {
		case a.Value.Type() == attribute.INT64:
		case a.Key == "error.type":
			require.Contains(t, errorTypes, a.Value.AsString())
		case a.Key == "agentmemory.operation":
			require.True(t, slices.ContainsFunc(telemetry.Ops(), func(op telemetry.Op) bool { return op.String() == a.Value.AsString() }))
		default:
			require.Regexp(t, texts, a.Value.AsString(), a.Key)
		}
	}
}

// attributesOf are those of the points of a metric.
func attributesOf(m metricdata.Metrics) (all []attribute.Set) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			all = append(all, p.Attributes)
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			all = append(all, p.Attributes)
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			all = append(all, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			all = append(all, p.Attributes)
		}
	}
	return all
}

// Nothing that anybody remembers, asks or is called comes out in a span, a metric or a line of the log: not
// from any operation, nor from one that fails, nor from what a store, a sink or a model says.
func TestNoCanaryComesOut(t *testing.T) {
	succeeded, failed, codes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	lines := 0
	for every := range 41 {
		w := newWorld(t, false)
		w.store.every = every
		if every%2 == 1 {
			w.sinkErr = errors.New("canary of the sink")
		}
		given := w.everything()
		clean := func(text string) {
			t.Helper()
			require.NotContains(t, strings.ToLower(text), "canary")
			for _, id := range given {
				if id != "" {
					require.NotContains(t, text, id)
				}
			}
		}
		for _, s := range w.ended() {
			clean(s.Name)
			clean(s.Status.Description)
			require.Empty(t, s.Events)
			require.Empty(t, s.Links)
			require.Equal(t, "internal", s.SpanKind.String())
			checkAttributes(t, s.Attributes)
			op, _ := attributeOf(s.Attributes, "agentmemory.operation").(string)
			if code, ok := attributeOf(s.Attributes, "error.type").(string); ok {
				failed[op], codes[code] = true, true
			} else {
				succeeded[op] = true
			}
		}
		for _, m := range w.metrics() {
			clean(m.Name + m.Description + m.Unit)
			points := attributesOf(m)
			require.NotEmpty(t, points, m.Name)
			for _, set := range points {
				checkAttributes(t, set.ToSlice())
			}
		}
		clean(w.log.String())
		for scanner := bufio.NewScanner(&w.log); scanner.Scan(); lines++ {
			require.Regexp(t, `^time=\S+ level=(DEBUG|INFO|WARN) msg="memory [a-z_ ]+"( [a-z_]+=[\w.µ]+)+( error="[a-z': ;]+")?$`, scanner.Text())
		}
	}
	var all []string
	for _, op := range telemetry.Ops() {
		all = append(all, op.String())
	}
	slices.Sort(all)
	require.Equal(t, all, slices.Sorted(maps.Keys(succeeded)), "every operation gives a span")
	require.Equal(t, all, slices.Sorted(maps.Keys(failed)), "and every one was made to fail")
	require.ElementsMatch(t, errorTypes[:4], slices.DeleteFunc(slices.Sorted(maps.Keys(codes)), func(c string) bool { return slices.Index(errorTypes, c) > 3 }))
	require.Greater(t, lines, 100)
}
