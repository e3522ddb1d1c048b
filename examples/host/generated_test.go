package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// generator makes requests of clients, good ones and bad ones, from a seed.
type generator struct {
	*rand.Rand
	runs, proposals []string // what earlier ones have made, of the first tenant
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

// known is one of the ids that are there, or one that is not.
func (g *generator) known(ids []string) string {
	if len(ids) == 0 || g.IntN(10) == 0 {
		return "run-that-nobody-began"
	}
	return ids[g.IntN(len(ids))]
}

// text is of any characters, also such as JSON and redactors care about.
func (g *generator) text() string {
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteString(g.one("Ann", " ", "likes", "green tea", "é", "世", "\U0001F375", "\"", "\\", "\n", "\u2028", "<b>", "&", "{", "0", testSecret, "[REDACTED:x]", "\u0000"))
	}
	return b.String()
}

// value is any JSON, but for a text that no request may have.
func (g *generator) value(depth int) any {
	switch n := g.IntN(8); {
	case n < 2 && depth > 0:
		return []any{g.value(depth - 1), g.value(depth - 1)}
	case n < 4 && depth > 0:
		return map[string]any{g.one("text", "steps", "name", "é"): g.value(depth - 1), "more": g.value(depth - 1)}
	case n == 5:
		return g.IntN(100) - 50
	case n == 6:
		return g.IntN(2) == 0
	}
	return g.text()
}

// object is a body of fields, of which one may be missing, of another type, or not known.
func (g *generator) object(fields map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch g.IntN(40) {
		case 0:
			delete(fields, name)
		case 1:
			fields[name] = g.value(1)
		case 2:
			fields[strings.ToUpper(name)] = g.value(1)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// request is one of a client in a version, and the shape of its answer if it is no refusal.
type request struct{ method, path, body, shape string }

// next makes a request; v is "1" or "2", and at begins its paths.
func (g *generator) next(v, at string) request {
	seam, files := map[string]string{"1": "/v1/host/sample", "2": "/conformance/seams/sample"}[v], map[string]string{"1": "/v1/host/workspace/files", "2": "/conformance/seams/workspace/files"}[v]
	ref := g.one("mem://g/1", "mem://g/2", "mem://g/2", g.text())
	file := files + "/" + url.PathEscape(g.one("a.md", "b/c.md", "b/d.md", g.text()))
	run := at + "/runs/" + url.PathEscape(g.known(g.runs))
	proposal := seam + "/proposals/" + g.known(g.proposals)
	workflow := g.one(slices.Sorted(maps.Keys(workflows))...)
	all := []request{
		{"POST", at + "/runs", g.object(map[string]any{"workflowId": workflow, "inputs": map[string]any{"text": g.text(), "more": g.value(2)}, "tags": []string{g.text()}, "metadata": map[string]any{"k": g.value(2)}}), "accepted-" + v},
		{"POST", at + "/runs", g.object(map[string]any{"workflowId": "host.sample.remember", "inputs": map[string]any{"text": g.text()}, "runSecrets": []any{map[string]any{"ref": "run:" + g.one("a", "b", "é"), "value": strings.Repeat(g.one("abc", "xyz9"), 6)}}}), "accepted-" + v},
		{"GET", run, "", "run-" + v},
		{"GET", run + "/events?fromSeq=" + g.one("0", "0", "1", "-1", "x"), "", "events-" + v},
		{"GET", run + "/events/poll?timeout=1&afterSequence=" + g.one("0", "1", "x"), "", "poll-" + v},
		{"POST", run + ":fork", g.object(map[string]any{"mode": g.one("replay", "branch", "other"), "fromSeq": g.IntN(4) - 1}), "forked-" + v},
		{"PUT", file, g.object(map[string]any{"content": g.text(), "contentType": g.one("text/plain", "text/markdown", g.text())}), "workspace-file"},
		{"GET", file, "", "workspace-file"},
		{"GET", files + "?prefix=" + g.one("", "b"), "", "files"},
		{"GET", seam + "/proposals?state=" + g.one("", "draft", "applied", "none"), "", "proposals"},
		{"GET", proposal, "", "proposal"},
		{"PATCH", proposal, g.object(map[string]any{"title": g.text(), "artifact": map[string]any{"schedule": "0 9 * * 1", "steps": []any{g.value(2)}}}), "proposal"},
		{"POST", proposal + "/" + g.one("apply", "reject"), g.one("", "{}", g.object(map[string]any{"reason": g.text()})), "proposal"},
		{"DELETE", proposal, "", "proposal"},
		{"POST", seam + "/memory/consolidate", g.object(map[string]any{"memoryRef": ref, "includeSecretCanary": g.IntN(2) == 0}), "consolidated-" + v},
		{"POST", seam + "/memory/distill", g.object(map[string]any{"memoryRef": ref, "tokenBudget": g.IntN(9000), "sources": []any{g.text(), map[string]any{"content": g.text()}}, "indexEmitted": g.IntN(2) == 0}), "distilled-" + v},
		{"POST", seam + "/commitment/fire", g.object(map[string]any{"memoryRef": ref, "condition": "predicate"}), "fired-" + v},
		{"GET", at + "/agents", "", "inventory"},
		{"GET", at + "/agents/" + url.PathEscape(g.one("host.sample.router", g.text())), "", "agent"},
		{"GET", "/.well-known/openwop", "", "discovery-" + v},
	}
	if v == "1" {
		all = append(all,
			request{"POST", "/v1/test/memory/seed", g.object(map[string]any{"memoryRef": ref, "entries": []any{map[string]any{"id": "x", "content": g.text(), "tags": []string{g.text()}}}}), "entries"},
			request{"POST", "/v1/test/memory/compact", g.object(map[string]any{"memoryRef": ref}), "compacted-1"},
			request{"GET", "/v1/memory/" + url.PathEscape(ref) + "?limit=" + g.one("1", "0", "x"), "", "entries"},
			request{"POST", "/v1/test/proposals", g.object(map[string]any{"kind": "automation", "title": g.text(), "artifact": map[string]any{"schedule": "0 9 * * 1", "steps": []any{g.value(2)}}, "sourceRunIds": []string{"run-1"}}), "proposal"},
		)
	}
	return all[g.IntN(len(all))]
}

// TestGeneratedRequests asks for what a seed makes: each answer is of its published shape or the error
// envelope, none is the host's failure, and each payload of an event has its shape.
func TestGeneratedRequests(t *testing.T) {
	want, seed := 100, uint64(40)
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		want = 10_000
	}
	s, g := serve(t, options{seams: true}), &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	replies, refusals, payloads := 0, 0, 0
	for replies+payloads < want {
		v := g.one("1", "2")
		r := g.next(v, map[string]string{"1": "/v1", "2": ""}[v])
		w := s.do(g.one("a", "a", "a", "b", "approver"), r.method, r.path, r.body, "OpenWOP-Version", v)
		says := fmt.Sprintf("seed %d: %s %s %q: %d %s", seed, r.method, r.path, r.body, w.Code, w.Body)
		require.Less(t, w.Code, 500, says)
		require.NotContains(t, w.Body.String(), testSecret, says)
		replies++
		var doc any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc), says)
		if w.Code >= 400 {
			refusals++
			require.NoError(t, valid("envelope", doc), says)
			continue
		}
		require.NoError(t, valid(r.shape, doc), says)
		fields, _ := doc.(map[string]any)
		if id, ok := fields["runId"].(string); ok && r.method == "POST" {
			g.runs = append(g.runs, id[strings.Index(id, "/")+1:])
		}
		if id, ok := fields["id"].(string); ok && r.shape == "proposal" {
			g.proposals = append(g.proposals, id)
		}
		list, _ := fields["events"].([]any)
		for _, ev := range list {
			ev := ev.(map[string]any)
			payloads++
			shape := map[string]string{"1": "payload ", "2": "payload-2 "}[v] + ev["type"].(string)
			require.NoError(t, valid(shape, ev["payload"]), says)
		}
	}
	t.Logf("%d answers, %d of them refusals, and %d payloads are valid", replies, refusals, payloads)
	require.Less(t, refusals, replies*2/3)
}
