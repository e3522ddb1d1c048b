package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
)

// row is a request of a client, and what the protocol says of the answer and of what is there then.
// In texts {name} is what an earlier row has kept under that name, {n} for the client's number.
type row struct {
	asks    string // the clause that asks for it
	as      string // the bearer token; "-": none
	do      string // method and path
	body    string
	version string // the header OpenWOP-Version
	header  string // another of the request, "name: value"
	status  int
	shape   string // of the answer: a definition of testdata/shapes.json
	has     string // JSON that the answer has at least; "*" is anything, and "~" begins an expression that a text matches
	says    string // a header of the answer, "name: value"
	lacks   string // a text that the answer does not have
	keep    string // name=path of what later rows name; path is names and numbers with dots between
	// state is the path of what is read before and after. It stays as it is unless moves is set.
	state string
	moves bool
}

// bothMajors has the rows once for each version of the protocol.
func bothMajors(rows ...row) []row {
	var first, second []row
	for _, r := range rows {
		other := r
		other.do = strings.NewReplacer("/v1/host/sample", "/conformance/seams/sample", "/v1/host/workspace", "/conformance/seams/workspace", "/v1", "").Replace(r.do)
		other.state = strings.NewReplacer("/v1/host/sample", "/conformance/seams/sample", "/v1", "").Replace(r.state)
		r.shape, other.shape = strings.Replace(r.shape, "#", "1", 1), strings.Replace(other.shape, "#", "2", 1)
		r.do, other.do = strings.ReplaceAll(r.do, "{v}", "v1"), strings.ReplaceAll(other.do, "{v}", "v2")
		r.body, other.body = strings.ReplaceAll(r.body, "{v}", "v1"), strings.ReplaceAll(other.body, "{v}", "v2")
		r.has, other.has = strings.ReplaceAll(r.has, "{v}", "v1"), strings.ReplaceAll(other.has, "{v}", "v2")
		r.header, other.header = strings.ReplaceAll(r.header, "{v}", "v1"), strings.ReplaceAll(other.header, "{v}", "v2")
		first, second = append(first, r), append(second, other)
	}
	return append(first, second...)
}

const (
	seam   = "/v1/host/sample"
	canary = "sk-canary-contract-do-not-leak-4242"
)

// contract is what a client can observe, in the order in which one would ask for it.
var contract = slices.Concat(discoveryRows, runRows, witnessRows, forkRows, memoryRows, passRows, fileRows, ownerRows, proposalRows, versionRows)

var discoveryRows = []row{
	{asks: "RFC 0234: both majors, 2 by default", as: "-", do: "GET /.well-known/openwop", status: 200, shape: "discovery-2",
		has: `{"protocolVersions":["1.1","2.0"],"preferredVersion":"2.0","protocolVersion":"2.0"}`, lacks: `"supported"`},
	{asks: "RFC 0080 §A, RFC 0073: families at the root", as: "-", do: "GET /.well-known/openwop", version: "1", status: 200, shape: "discovery-1",
		has: `{"protocolVersion":"1.1","memory":{"supported":true,"writable":true,"search":{"supported":true},"attribution":{"supported":true,"emitsWriteEvents":true},"compaction":{"supported":true},"distillation":{"supported":true,"indexEmitted":true},"retention":{"ttl":true,"forget":true}},"agents":{"memoryBackends":["long-term"],"memoryConsolidation":{"supported":true},"commitments":{"supported":true,"fireConditions":["time","predicate"]},"proposals":{"activation":"direct-rbac"}},"secrets":{"supported":true,"scopes":["run"],"runSecrets":{"maxEntries":16}}}`},
	{asks: "RFC 0229 §D: presence is the claim", as: "-", do: "GET /.well-known/openwop", status: 200, has: `{"secrets":{"scopes":["run"],"runSecrets":{"maxEntries":16},"status":"stable"}}`},
	{asks: "replay is advertised where :fork is served", as: "-", do: "GET /.well-known/openwop", version: "1", status: 200, has: `{"replay":{"supported":true,"modes":["replay","branch"]}}`},
	{asks: "fixtures in a stable order", as: "-", do: "GET /.well-known/openwop", version: "2.0", status: 200,
		has: `{"fixtures":["conformance-agent-memory-cross-tenant","conformance-agent-memory-injection-budget","conformance-agent-memory-redaction","conformance-agent-memory-roundtrip","conformance-agent-memory-ttl","conformance-noop","host.sample.remember","host.sample.reminder","openwop-secrets-run-witness"]}`},
	{asks: "RFC 0173 §C: the effect seams of replay, one at least", as: "a", do: "GET /host/effect-seams", status: 200, shape: "effect-seams"},
	{asks: "RFC 0072: sorted, total", as: "a", do: "GET /v1/agents", status: 200, shape: "inventory", has: `{"total":3}`},
	{asks: "RFC 0080 §C: a degraded agent says so", as: "a", do: "GET /agents/host.sample.read-only", status: 200, shape: "agent",
		has: `{"memoryDegraded":true,"degradedMemoryDimensions":["write"]}`},
	{asks: "RFC 0080 §C: nothing is said otherwise", as: "a", do: "GET /v1/agents/host.sample.assistant", status: 200, shape: "agent", lacks: "egraded"},
	{asks: "RFC 0074: unknown and unauthorized are one", as: "a", do: "GET /v1/agents/nobody", status: 404, shape: "envelope", has: `{"error":"not_found"}`},
}

var runRows = slices.Concat(
	bothMajors(
		row{asks: "createRun: 201 with a status that it may have", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop","inputs":{},"tenantId":"another"}`, status: 201, shape: "accepted-#", keep: "noop=runId"},
		row{asks: "run-snapshot: closed error, owner, completed", as: "a", do: "GET /v1/runs/{noop}", status: 200, shape: "run-#", has: `{"status":"completed","owner":{"tenant":"tenant-a"}}`},
		row{asks: "observability.md: the terminal event is last", as: "a", do: "GET /v1/runs/{noop}/events", status: 200, shape: "events-#",
			has: `{"events":[{"type":"run.started","sequence":0},{"type":"memory.written","nodeId":"sample"},{"type":"run.completed","payload":{"outputs":{}}}]}`},
		row{asks: "RFC 0057 §A: identifiers and no content", as: "a", do: "GET /v1/runs/{noop}/events", status: 200, lacks: "session ended"},
		row{asks: "pollRunEvents: what is behind the cursor", as: "a", do: "GET /v1/runs/{noop}/events/poll?afterSequence=0&timeout=1", status: 200, shape: "poll-#",
			has: `{"events":["*","*"],"lastSequence":2,"status":"completed","isTerminal":true}`},
		row{asks: "pollRunEvents: a cursor past the end", as: "a", do: "GET /v1/runs/{noop}/events/poll?afterSequence=99&timeout=1", status: 200, shape: "poll-#", has: `{"events":[],"lastSequence":2}`},
		row{asks: "pollRunEvents: timeout is 1 to 60", as: "a", do: "GET /v1/runs/{noop}/events/poll?timeout=61", status: 400, shape: "envelope", has: `{"error":"validation_error","details":{"field":"timeout"}}`},
		row{asks: "RFC 0213 §A: a cursor past an ended run's log: no frame, and the stream ends", as: "a", do: "GET /v1/runs/{noop}/events?fromSeq=99", header: "Accept: text/event-stream", status: 200, lacks: "data:", says: "Content-Type: text/event-stream"},
		row{asks: "v2 events.md §SSE frames: with bufferMs a frame is a batch", as: "a", do: "GET /v1/runs/{noop}/events?bufferMs=200", header: "Accept: text/event-stream", status: 200, lacks: "event: run.", says: "Content-Type: text/event-stream"},
		row{asks: "streamMode is checked before anything else", as: "a", do: "GET /v1/runs/{noop}/events?streamMode=values", status: 400, shape: "envelope", has: `{"error":"unsupported_stream_mode","details":{"supported":["updates","debug"]}}`},
		row{asks: "CTI-1: another tenant's run is not there", as: "b", do: "GET /v1/runs/run-none-of-this-tenant", status: 404, shape: "envelope", has: `{"error":"not_found"}`},
		row{asks: "auth: no token", as: "-", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop"}`, status: 401, shape: "envelope", has: `{"error":"unauthenticated"}`},
		row{asks: "the body of createRun is closed", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop","extra":1}`, status: 400, shape: "envelope", has: `{"error":"validation_error"}`},
		row{asks: "an unknown workflow", as: "a", do: "POST /v1/runs", body: `{"workflowId":"none"}`, status: 400, shape: "envelope", has: `{"details":{"field":"workflowId"}}`},
		row{asks: "tags: at most 256 characters each", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop","tags":["` + strings.Repeat("é", 257) + `"]}`, status: 400, shape: "envelope", has: `{"details":{"field":"tags"}}`},
		row{asks: "tags and metadata surface unchanged", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop","tags":["one",""],"metadata":{"k":[1,null]}}`, status: 201, shape: "accepted-#", keep: "tagged=runId"},
		row{asks: "tags and metadata surface unchanged", as: "a", do: "GET /v1/runs/{tagged}", status: 200, shape: "run-#", has: `{"tags":["one",""],"metadata":{"k":[1,null]}}`},
		row{asks: "RFC 0004 §A: a run reads its own write", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-roundtrip"}`, status: 201, shape: "accepted-#", keep: "trip=runId"},
		row{asks: "memory-entry: closed", as: "a", do: "GET /v1/runs/{trip}", status: 200, shape: "readback", has: `{"status":"completed"}`},
		row{asks: "SR-1: the marker is what was stored", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-redaction"}`, status: 201, shape: "accepted-#", keep: "secret=runId"},
		row{asks: "SR-1: the marker is what was stored", as: "a", do: "GET /v1/runs/{secret}", status: 200, shape: "readback",
			has: `{"variables":{"memoryReadback":{"content":"The vault resolved [REDACTED:conformance-test-secret] for this run."}}}`, lacks: testSecret},
		row{asks: "TTL: what has expired does not surface", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-ttl"}`, status: 201, keep: "ttl=runId"},
		row{asks: "TTL: what has expired does not surface", as: "a", do: "GET /v1/runs/{ttl}", status: 200, shape: "run-#", has: `{"variables":{"expiredId":"*","freshId":"*","memoryList":"*"}}`, lacks: "too late"},
		row{asks: "RFC 0113: a budget is kept", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-injection-budget"}`, status: 201, keep: "budget=runId"},
		row{asks: "RFC 0113: a budget is kept", as: "a", do: "GET /v1/runs/{budget}", status: 200, shape: "run-#",
			has: `{"variables":{"tokenBudget":200,"overBudgetEntryOmitted":true,"crossTenantBudgetedProbe":[],"redactedContentSample":"The key was [REDACTED:conformance-test-secret]."}}`},
		row{asks: "v2-memory-cross-tenant-isolation: two tenants, one ref", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-cross-tenant"}`, status: 201, keep: "ownA=runId"},
		row{asks: "v2-memory-cross-tenant-isolation: two tenants, one ref", as: "b", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-cross-tenant"}`, status: 201, keep: "ownB=runId"},
		row{asks: "CTI-1: the first reads its own", as: "a", do: "GET /v1/runs/{ownA}", status: 200, shape: "run-#", has: `{"variables":{"crossTenantProbe":[]}}`, keep: "entryA=variables.ownerEntryId"},
		row{asks: "CTI-1: the second reads none of the first", as: "b", do: "GET /v1/runs/{ownB}", status: 200, shape: "run-#", has: `{"variables":{"crossTenantProbe":[],"ownerProbe":"*"}}`, lacks: "{entryA}", keep: "entryB=variables.ownerEntryId"},
		row{asks: "CTI-1: nor the first what the second wrote", as: "a", do: "GET /v1/runs/{ownA}", status: 200, lacks: "{entryB}"},
	),
	[]row{
		{asks: "a run begun in one version is read in the other", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop"}`, status: 201, keep: "first=runId"},
		{asks: "versioning.md §5: the tenant-bound projection", as: "a", do: "GET /runs/tenant-a~2F{first}", status: 200, shape: "run-2", has: `{"runId":"tenant-a/{first}"}`},
		{asks: "identity.md §5: %2F is accepted too", as: "a", do: "GET /runs/tenant-a%2F{first}/events/poll", status: 200, shape: "poll-2", has: `{"runId":"tenant-a/{first}"}`},
		{asks: "identity.md §5: the bare form under the caller's tenant", as: "a", do: "GET /runs/{first}", status: 200, shape: "run-2", has: `{"runId":"tenant-a/{first}"}`},
		{asks: "identity.md §5: another tenant's segment", as: "b", do: "GET /runs/tenant-a~2F{first}", status: 403, shape: "envelope", has: `{"error":"id_tenant_mismatch"}`},
		{asks: "identity.md §5: the same whether it exists or not", as: "b", do: "GET /runs/tenant-a~2Frun-none-of-this-tenant", status: 403, has: `{"error":"id_tenant_mismatch"}`},
		{asks: "RFC 0184: a ~ is followed by two hex digits", as: "a", do: "GET /runs/tenant-a~2", status: 400, shape: "envelope", has: `{"details":{"field":"runId"}}`},
		{asks: "configurable is versioned in version 2", as: "a", do: "POST /runs", body: `{"workflowId":"conformance-noop","configurable":{"ai.provider":"x"}}`, status: 400, has: `{"details":{"field":"configurable"}}`},
		{asks: "configurable is flat in version 1", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop","configurable":{"distillation.tokenBudget":8000}}`, status: 201},
		{asks: "RFC 0229: 16 characters at least", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","runSecrets":[{"ref":"run:key","value":"short"}]}`, status: 400, shape: "envelope", has: `{"details":{"field":"runSecrets"}}`, lacks: "short"},
		{asks: "SR-1: a secret that the run's document needs", as: "a", do: "POST /runs", body: `{"workflowId":"conformance-noop","runSecrets":[{"ref":"run:key","value":"\"status\":\"running\""}]}`, status: 400, shape: "envelope", has: `{"error":"validation_error","details":{"reason":"secret-leakage"}}`},
		{asks: "SR-1: the same at its end: what was read is left out", as: "a", do: "POST /runs", body: `{"workflowId":"conformance-agent-memory-roundtrip","runSecrets":[{"ref":"run:key","value":"\"status\":\"completed\""}]}`, status: 201, keep: "bare=runId"},
		{asks: "SR-1: the same at its end: what was read is left out", as: "a", do: "GET /runs/{bare}", status: 200, shape: "run-2", has: `{"status":"completed"}`, lacks: "memoryReadback"},
		{asks: "RFC 0229 §A.1: a ref begins with run:", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","runSecrets":[{"ref":"key","value":"run-secret-0123456789"}]}`, status: 400, shape: "envelope", has: `{"error":"validation_error","details":{"field":"runSecrets"}}`, lacks: "run-secret"},
		{asks: "RFC 0229 §A.1: a ref once", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","runSecrets":[{"ref":"run:k","value":"run-secret-0123456789"},{"ref":"run:k","value":"run-secret-9876543210"}]}`, status: 400, has: `{"details":{"field":"runSecrets"}}`, lacks: "run-secret"},
		{asks: "RFC 0229 §A.1: a list", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","runSecrets":{"run:k":"run-secret-0123456789"}}`, status: 400, has: `{"error":"validation_error"}`, lacks: "run-secret"},
		{asks: "RFC 0229: a run's secret is redacted in its memory", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","inputs":{"text":"the pass is run-secret-0123456789"},"runSecrets":[{"ref":"run:key","value":"run-secret-0123456789"}]}`, status: 201, keep: "keyed=runId"},
		{asks: "RFC 0229: and is stored nowhere", as: "a", do: "GET /runs/{keyed}", status: 200, shape: "readback", has: `{"inputs":{"text":"the pass is [REDACTED:key]"},"variables":{"memoryReadback":{"content":"the pass is [REDACTED:key]"}}}`, lacks: "run-secret"},
		{asks: "RFC 0229: it is gone with the run, and not another's", as: "a", do: "POST /runs", body: `{"workflowId":"host.sample.remember","inputs":{"text":"plain run-secret-0123456789"}}`, status: 201, keep: "plain=runId"},
		{asks: "RFC 0229: it is gone with the run, and not another's", as: "a", do: "GET /runs/{plain}", status: 200, has: `{"variables":{"memoryReadback":{"content":"plain run-secret-0123456789"}}}`},
		{asks: "RFC 0229: a fork has none of it", as: "a", do: "POST /runs/{keyed}:fork", body: `{"mode":"replay"}`, status: 201, shape: "forked-2", keep: "again=runId"},
		{asks: "RFC 0229: a fork has none of it", as: "a", do: "GET /runs/{again}", status: 200, shape: "run-2", has: `{"status":"completed","variables":{"memoryReadback":{"content":"the pass is [REDACTED:key]"}}}`},
		{asks: "run.failed and the snapshot have code and message", as: "a", do: "POST /v1/runs", body: `{"workflowId":"host.sample.remember","inputs":{"text":"a\u0000b"}}`, status: 201, keep: "bad=runId"},
		{asks: "run-snapshot: error is closed", as: "a", do: "GET /v1/runs/{bad}", status: 200, shape: "run-1", has: `{"status":"failed","error":{"code":"validation_error","message":"*"}}`},
		{asks: "run-snapshot: error is closed", as: "a", do: "GET /runs/{bad}", status: 200, shape: "run-2", has: `{"status":"failed","error":{"code":"validation_error","message":"*"}}`},
		{asks: "run.failed has both", as: "a", do: "GET /v1/runs/{bad}/events", status: 200, shape: "events-1", has: `{"events":["*",{"type":"run.failed","payload":{"error":{"code":"validation_error","message":"*"}}}]}`},
	},
)

var forkRows = slices.Concat(
	bothMajors(
		row{asks: "RFC 0057 §D", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-agent-memory-roundtrip"}`, status: 201, keep: "source=runId"},
		row{asks: "RFC 0057 §D: the recorded ids", as: "a", do: "GET /v1/runs/{source}/events", status: 200, keep: "written=events.1.payload.memoryId"},
		row{asks: "RFC 0041: replay", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":0,"mode":"replay"}`, status: 201, shape: "forked-#", has: `{"mode":"replay","sourceRunId":"{source}"}`, keep: "replayed=runId"},
		row{asks: "RFC 0057 §D: re-emitted, no new ids", as: "a", do: "GET /v1/runs/{replayed}/events", status: 200, shape: "events-#", has: `{"events":["*",{"type":"memory.written","payload":{"memoryId":"{written}"}},"*"]}`},
		row{asks: "RFC 0041: branch", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":0,"mode":"branch"}`, status: 201, shape: "forked-#", keep: "branch=runId"},
		row{asks: "a fork's lineage", as: "a", do: "GET /v1/runs/{branch}", status: 200, shape: "run-#", has: `{"status":"completed"}`},
		row{asks: "v2 runs.md §Fork: events below fromSeq are fixed history", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":2,"mode":"branch"}`, status: 201, shape: "forked-#", has: `{"fromSeq":2}`, keep: "branch=runId"},
		row{asks: "v2 runs.md §Fork: events below fromSeq are fixed history", as: "a", do: "GET /v1/runs/{branch}/events", status: 200, shape: "events-#", has: `{"events":[{"type":"run.started","sequence":0},{"type":"memory.written","payload":{"memoryId":"{written}"}},{"type":"run.completed","sequence":2}]}`},
		row{asks: "a replay has no overlay", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"mode":"replay","runOptionsOverlay":{"tags":[]}}`, status: 400, shape: "envelope"},
		row{asks: "replay-fork: fromSeq is not below 0", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":-1,"mode":"branch"}`, status: 400, shape: "envelope", has: `{"error":"validation_error","details":{"field":"fromSeq"}}`},
		row{asks: "replay-fork: an empty overlay is none", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":0,"mode":"branch","runOptionsOverlay":{}}`, status: 201, shape: "forked-#", has: `{"mode":"branch"}`},
		row{asks: "replay-fork: a run that is not there", as: "a", do: "POST /v1/runs/run-none-of-this-name:fork", body: `{"fromSeq":0,"mode":"branch"}`, status: 404, shape: "envelope"},
		row{asks: "modes are replay and branch", as: "a", do: "POST /v1/runs/{source}:fork", body: `{"fromSeq":0,"mode":"other"}`, status: 400, shape: "envelope", state: "/v1/runs/{source}/events"},
		row{asks: "another tenant's run", as: "b", do: "POST /v1/runs/run-none-of-this-tenant:fork", body: `{"mode":"replay"}`, status: 404, shape: "envelope"},
	),
	[]row{
		{asks: "SEAM §10: bounds first", as: "a", do: "POST /v1/runs/expired-run-000000:fork", body: `{"fromSeq":99,"mode":"replay"}`, status: 422, shape: "envelope", has: `{"error":"invalid_from_seq"}`},
		{asks: "SEAM §10: then the snapshot, 422", as: "a", do: "POST /v1/runs/expired-run-000000:fork", body: `{"fromSeq":0,"mode":"replay"}`, status: 422, shape: "envelope", has: `{"error":"replay_memory_snapshot_unavailable","details":{"fromSeq":0,"sourceRunId":"expired-run-000000","reason":"retention_expired"}}`},
		{asks: "v2 runs.md §Fork: fork_point_invalid", as: "a", do: "POST /runs/expired-run-000000:fork", body: `{"fromSeq":99,"mode":"replay"}`, status: 422, shape: "envelope", has: `{"error":"fork_point_invalid"}`},
		{asks: "v2 replay.md: 409 for an unavailable snapshot", as: "a", do: "POST /runs/expired-run-000000:fork", body: `{"fromSeq":0,"mode":"replay"}`, status: 409, shape: "envelope", has: `{"error":"replay_memory_snapshot_unavailable","details":{"sourceRunId":"tenant-a/expired-run-000000"}}`},
		{asks: "SEAM §10: maxSeq+1 is within bounds", as: "a", do: "POST /v1/runs/{first}:fork", body: `{"fromSeq":3,"mode":"branch"}`, status: 201, shape: "forked-1"},
		{asks: "v2 runs.md §Fork: it is none that the log has", as: "a", do: "POST /runs/{first}:fork", body: `{"fromSeq":3,"mode":"branch"}`, status: 422, shape: "envelope", has: `{"error":"fork_point_invalid","details":{"fromSeq":3,"maxSeq":2}}`},
		{asks: "v2 runs.md §Fork: fromSeq of a branch is required", as: "a", do: "POST /runs/{first}:fork", body: `{"mode":"branch"}`, status: 400, has: `{"details":{"field":"fromSeq"}}`},
	},
)

var memoryRows = []row{
	{asks: "seed: entries, 201", as: "a", do: "POST /v1/test/memory/seed", body: `{"memoryRef":"mem://c/{n}","entries":[{"id":"x1","content":"User confirmed: [BYOK:hk_live_canary_42]"},{"id":"x2","content":"Resolved <REDACTED:db-prod-creds> outage.","tags":["kind:note"]},{"id":"x3","content":"Customer asked about pricing tiers."}]}`, status: 201, shape: "entries", has: `{"entries":["*",{"tags":["kind:note"]},"*"]}`, state: "/v1/memory/mem:%2F%2Fc%2F{n}", moves: true},
	{asks: "ids are issued, never accepted", as: "a", do: "GET /v1/memory/mem:%2F%2Fc%2F{n}?limit=50", status: 200, shape: "entries", lacks: `"x1"`},
	{asks: "memory-list-options: limit", as: "a", do: "GET /v1/memory/mem:%2F%2Fc%2F{n}?limit=1", status: 200, shape: "entries", has: `{"entries":["*"]}`},
	{asks: "CTI-1: the same ref of another tenant", as: "b", do: "GET /v1/memory/mem:%2F%2Fc%2F{n}", status: 200, shape: "entries", has: `{"entries":[]}`},
	{asks: "CTI-1.2: path traversal", as: "a", do: "GET /v1/memory/..%2F..%2Fetc", status: 200, has: `{"entries":[]}`},
	{asks: "CTI-1.2: NUL", as: "a", do: "GET /v1/memory/mem%00x", status: 200, has: `{"entries":[]}`},
	{asks: "CTI-1.2: oversize", as: "a", do: "GET /v1/memory/" + strings.Repeat("x", 300), status: 200, has: `{"entries":[]}`},
	{asks: "a past expiresAt is refused", as: "a", do: "POST /v1/test/memory/seed", body: `{"memoryRef":"mem://c/{n}","entries":[{"content":"late","expiresAt":"2001-01-01T00:00:00Z"}]}`, status: 400, shape: "envelope", has: `{"error":"validation_error"}`, lacks: "late", state: "/v1/memory/mem:%2F%2Fc%2F{n}"},
	{asks: "RFC 0012 §B", as: "a", do: "POST /v1/test/memory/compact", body: `{"memoryRef":"mem://c/{n}"}`, status: 200, shape: "compacted-1", has: `{"payload":{"memoryRef":"mem://c/{n}","sourceCount":3},"outputContent":"~\\[REDACTED:[^\\]]+\\]"}`, lacks: "canary_42", keep: "output=payload.outputId"},
	{asks: "RFC 0012 §C, §D: outputId can be read, with its tag and markers", as: "a", do: "GET /v1/memory/mem:%2F%2Fc%2F{n}", status: 200, shape: "entries", has: `{"entries":[{"id":"{output}","tags":["~^compacted-from:[^\\s:]\\S*$"]}]}`, lacks: "<REDACTED:"},
	{asks: "compact: an empty body", as: "a", do: "POST /v1/test/memory/compact", body: "", status: 400, shape: "envelope"},
	{asks: "compact: no memoryRef", as: "a", do: "POST /v1/test/memory/compact", body: `{}`, status: 400, shape: "envelope", has: `{"error":"validation_error"}`},
	{asks: "v2: no path serves memory", as: "a", do: "GET /memory/mem:%2F%2Fc%2F{n}", status: 404, shape: "envelope", has: `{"error":"not_found"}`},
	{asks: "RFC 0052 §B.2: one run for a tick", as: "a", do: "POST " + seam + "/scheduling/tick", body: `{"scenario":"single-tick"}`, status: 200, has: `{"runsFired":1}`},
	{asks: "RFC 0052 §B.4: never the backlog", as: "a", do: "POST " + seam + "/scheduling/tick", body: `{"scenario":"missed-window","missedTicks":5}`, status: 200, has: `{"runsFired":1}`},
	{asks: "RFC 0052: what the seam does not know", as: "a", do: "POST " + seam + "/scheduling/tick", body: `{"scenario":"none"}`, status: 400, shape: "envelope"},
	{asks: "seams need a token", as: "-", do: "GET /v1/memory/x", status: 401, shape: "envelope"},
	{asks: "a seam that is not there answers nobody", as: "-", do: "GET /v1/host/sample/test/mock-ai/program", status: 404, shape: "envelope"},
}

var passRows = bothMajors(
	row{asks: "RFC 0068 §D.1: over the ref's own corpus", as: "a", do: "POST " + seam + "/memory/consolidate", body: `{"memoryRef":"mem://c/{n}-{v}-none"}`, status: 200, shape: "consolidated-#", has: `{"event":{"inputCount":0,"outputCount":0}}`},
	row{asks: "RFC 0068 §D.3: a secret stays redacted", as: "a", do: "POST " + seam + "/memory/consolidate", body: `{"memoryRef":"mem://c/{n}-{v}","includeSecretCanary":true}`, status: 200, shape: "consolidated-#", has: `{"event":{"memoryRef":"mem://c/{n}-{v}","inputCount":2,"outputCount":1},"secretLeaked":false}`, lacks: testSecret},
	row{asks: "RFC 0068 §D.2: a second pass changes nothing", as: "a", do: "POST " + seam + "/memory/consolidate", body: `{"memoryRef":"mem://c/{n}-{v}"}`, status: 200, shape: "consolidated-#", has: `{"event":{"inputCount":1,"outputCount":1}}`},
	row{asks: "RFC 0068 §C: content-free, once", as: "a", do: "POST " + seam + "/commitment/fire", body: `{"memoryRef":"mem://c/{n}-fire","condition":"predicate","includeIntentionCanary":true}`, status: 200, shape: "fired-#", has: `{"event":{"memoryRef":"mem://c/{n}-fire","condition":"predicate"},"fireCount":1,"intentionCanary":"*"}`, keep: "enqueued=event.enqueuedRunId"},
	row{asks: "an enqueued run is a run", as: "a", do: "GET /v1/runs/{enqueued}", status: 200, shape: "run-#", has: `{"status":"completed"}`},
	row{asks: "RFC 0068 §C: at an instant", as: "a", do: "POST " + seam + "/commitment/fire", body: `{"memoryRef":"mem://c/{n}-fire","condition":"time"}`, status: 200, shape: "fired-#", has: `{"event":{"condition":"time"},"fireCount":1}`, lacks: "quarterly"},
	row{asks: "an unknown condition", as: "a", do: "POST " + seam + "/commitment/fire", body: `{"memoryRef":"mem://c/{n}-fire","condition":"whim"}`, status: 400, shape: "envelope", has: `{"error":"validation_error","details":{"field":"condition"}}`},
	row{asks: "RFC 0062 §B: within its budget", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":8000,"sources":["s1","s2","s3"]}`, status: 200, shape: "distilled-#", has: `{"event":{"memoryRef":"distill-{n}-{v}","sourceCount":3,"trigger":"host-managed","distillation":{"tokenBudget":8000,"tokensUsed":"*"}}}`, keep: "archive=archiveChecksum"},
	row{asks: "RFC 0062 §B.4: byte-stable in any order", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":8000,"sources":["s3",{"content":"s1"},"s2"]}`, status: 200, shape: "distilled-#", has: `{"archiveChecksum":"{archive}","event":{"sourceCount":3}}`},
	row{asks: "the sources are what is distilled", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":8000,"sources":["s4"]}`, status: 200, shape: "distilled-#", has: `{"event":{"sourceCount":1}}`, lacks: "{archive}"},
	row{asks: "RFC 0062 §B.5: the index", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","sources":["s1","s2","s3"],"tokenBudget":8000,"indexEmitted":true}`, status: 200, shape: "distilled-#", has: `{"indexUpdated":true,"indexFile":"*"}`},
	row{asks: "RFC 0062 §B.5: each time it is asked for", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":8000,"indexEmitted":true}`, status: 200, shape: "distilled-#", has: `{"indexUpdated":true,"indexFile":"*"}`},
	row{asks: "RFC 0062 §B.5: it can be read as a file", as: "a", do: "GET /v1/host/workspace/files/MEMORY-INDEX.json", status: 200, shape: "workspace-file", has: `{"contentType":"application/json"}`},
	row{asks: "RFC 0062 §B.2: nothing is written", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":1}`, status: 422, shape: "envelope", has: `{"error":"token_budget_exceeded","details":{"budget":1,"minimumRequired":"*"}}`, lacks: "archiveChecksum", state: "/v1/runs/{noop}"},
	row{asks: "RFC 0062 §B.3: a secret in a source", as: "a", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"distill-{n}-{v}","tokenBudget":8000,"includeSecretCanary":true,"sources":[{"content":"notes with embedded secret ` + canary + `"}]}`, status: 200, shape: "distilled-#", has: `{"secretLeaked":false}`, lacks: canary},
	row{asks: "seams need a token", as: "-", do: "POST " + seam + "/memory/distill", body: `{"memoryRef":"x"}`, status: 401, shape: "envelope"},
	row{asks: "seams need a ref", as: "a", do: "POST " + seam + "/memory/consolidate", body: `{}`, status: 400, shape: "envelope", has: `{"details":{"field":"memoryRef"}}`},
)

var fileRows = bothMajors(
	row{asks: "RFC 0059: a write makes a version", as: "a", do: "PUT /v1/host/workspace/files/c{n}%2F{v}.md", body: `{"content":"hello ` + testSecret + `"}`, status: 200, shape: "workspace-file", has: `{"contentType":"text/markdown","content":"hello [REDACTED:conformance-test-secret]"}`, keep: "version=version"},
	row{asks: "RFC 0059 §C: the list has no content", as: "a", do: "GET /v1/host/workspace/files?prefix=c{n}", status: 200, shape: "files", lacks: "hello"},
	row{asks: "RFC 0059 §C: a version", as: "a", do: "GET /v1/host/workspace/files/c{n}/{v}.md?version={version}", status: 200, shape: "workspace-file", has: `{"version":"*"}`},
	row{asks: "WCT-1: another tenant's file is not there", as: "b", do: "GET /v1/host/workspace/files/c{n}/{v}.md", status: 404, shape: "envelope", has: `{"error":"not_found"}`},
	row{asks: "WCT-1: and in no list", as: "b", do: "GET /v1/host/workspace/files?prefix=c{n}&tenant=tenant-a", status: 200, shape: "files", has: `{"files":[]}`},
	row{asks: "RFC 0059 §C: one that nobody has written", as: "a", do: "PUT /v1/host/workspace/files/c{n}%2F{v}-etag.md", body: `{"content":"v1"}`, status: 200, shape: "workspace-file", has: `{"version":"*"}`, keep: "etag=etag"},
	row{asks: "RFC 0059 §C: a stale If-Match", as: "a", do: "PUT /v1/host/workspace/files/c{n}%2F{v}-etag.md", body: `{"content":"no"}`, header: `If-Match: "stale"`, status: 409, shape: "envelope", has: `{"error":"workspace_conflict","details":{"currentVersion":"*"}}`, state: "/v1/host/workspace/files/c{n}%2F{v}-etag.md"},
	row{asks: "RFC 0059 §C: If-Match", as: "a", do: "PUT /v1/host/workspace/files/c{n}%2F{v}-etag.md", body: `{"content":"v2"}`, header: "If-Match: {etag}", status: 200, shape: "workspace-file", has: `{"content":"v2"}`},
	row{asks: "RFC 0059 §C: a delete needs the tag it is told", as: "a", do: "DELETE /v1/host/workspace/files/c{n}%2F{v}-etag.md", header: "If-Match: {etag}", status: 409, shape: "envelope"},
	row{asks: "RFC 0059: no .. in a path", as: "a", do: "PUT /v1/host/workspace/files/a%2F..%2Fb", body: `{"content":""}`, status: 400, shape: "envelope"},
	row{asks: "RFC 0059: too large", as: "a", do: "PUT /v1/host/workspace/files/c{n}%2Flarge", body: `{"content":"` + strings.Repeat("x", 1<<20+1) + `"}`, status: 413, shape: "envelope", has: `{"error":"workspace_too_large"}`},
	row{asks: "RFC 0059 §C: a delete", as: "a", do: "DELETE /v1/host/workspace/files/c{n}/{v}.md", status: 204},
	row{asks: "RFC 0059 §C: absent", as: "a", do: "GET /v1/host/workspace/files/c{n}/{v}.md", status: 404, shape: "envelope"},
)

// ownerRows are the seam by which one caller is several owners.
var ownerRows = []row{
	{asks: "WCT-1: an owner writes", as: "a", do: "POST " + seam + "/workspace/op", body: `{"tenant":"t{n}","workspace":"ws-a","op":"put","path":"WCT1.md","content":"A-only"}`, status: 200, shape: "workspace-file"},
	{asks: "WCT-1: another workspace", as: "a", do: "POST " + seam + "/workspace/op", body: `{"tenant":"t{n}","workspace":"ws-b","op":"get","path":"WCT1.md"}`, status: 404, shape: "envelope"},
	{asks: "WCT-1: another tenant", as: "a", do: "POST " + seam + "/workspace/op", body: `{"tenant":"u{n}","workspace":"ws-a","op":"get","path":"WCT1.md"}`, status: 404, shape: "envelope"},
	{asks: "WCT-1: another caller", as: "b", do: "POST " + seam + "/workspace/op", body: `{"tenant":"t{n}","workspace":"ws-a","op":"get","path":"WCT1.md"}`, status: 404, shape: "envelope"},
	{asks: "WCT-1: in no other list", as: "a", do: "POST " + seam + "/workspace/op", body: `{"tenant":"t{n}","workspace":"ws-b","op":"list"}`, status: 200, shape: "files", lacks: "WCT1.md"},
	{asks: "WCT-1: nor in the caller's own", as: "a", do: "GET /v1/host/workspace/files", status: 200, shape: "files", lacks: "WCT1.md"},
	{asks: "WCT-1: the owner reads", as: "a", do: "POST " + seam + "/workspace/op", body: `{"tenant":"t{n}","workspace":"ws-a","op":"get","path":"WCT1.md"}`, status: 200, shape: "workspace-file", has: `{"content":"A-only"}`},
}

// witnessRows are RFC 0229's own fixture. The digest is of the value that the run has.
var witnessRows = bothMajors(
	row{asks: "RFC 0229 §B.2: the value arrives intact", as: "a", do: "POST /v1/runs", body: witnessed("run:w", witnessDigest, "run:w"), header: "Idempotency-Key: key-of-a-run-of-{n}-{v}-000000", status: 201, shape: "accepted-#", lacks: witnessValue, keep: "witness=runId"},
	row{asks: "RFC 0229 §B.2: the value arrives intact", as: "a", do: "GET /v1/runs/{witness}", status: 200, shape: "run-#", has: `{"status":"completed","variables":{"witness":{"matched":true}}}`, lacks: witnessValue},
	row{asks: "RFC 0229: the request's digest has no secrets: answered as the first", as: "a", do: "POST /v1/runs", body: strings.ReplaceAll(witnessed("run:w", witnessDigest, "run:w"), witnessValue, strings.ToUpper(witnessValue)), header: "Idempotency-Key: key-of-a-run-of-{n}-{v}-000000", status: 201, has: `{"runId":"{witness}"}`, says: "OpenWOP-Idempotent-Replay: true", state: "/v1/runs/{witness}/events"},
	row{asks: "idempotency.md: another request with the key", as: "a", do: "POST /v1/runs", body: `{"workflowId":"conformance-noop"}`, header: "Idempotency-Key: key-of-a-run-of-{n}-{v}-000000", status: 409, shape: "envelope", has: `{"error":"idempotency_key_mismatch"}`},
	row{asks: "RFC 0229 §B.2: another value is an output, not a failure", as: "a", do: "POST /v1/runs", body: witnessed("run:w", strings.Repeat("0", 64), "run:w"), status: 201, keep: "witness=runId"},
	row{asks: "RFC 0229 §B.3: no digest of the value", as: "a", do: "GET /v1/runs/{witness}", status: 200, shape: "run-#", has: `{"variables":{"witness":{"matched":false}}}`, lacks: witnessDigest},
	row{asks: "RFC 0229 §B.1: only a secret of the run", as: "a", do: "POST /v1/runs", body: witnessed("conformance-test-secret", witnessDigest, "run:w"), status: 201, keep: "witness=runId"},
	row{asks: "RFC 0229 §B.1: only a secret of the run", as: "a", do: "GET /v1/runs/{witness}/events", status: 200, shape: "events-#", has: `{"events":["*",{"type":"node.failed","payload":{"nodeId":"witness","error":{"code":"credential_forbidden"}}},{"type":"run.failed"}]}`},
	row{asks: "RFC 0229 §A.2: not that of an earlier run", as: "a", do: "POST /v1/runs", body: witnessed("run:w", witnessDigest, "run:other"), status: 201, keep: "witness=runId"},
	row{asks: "RFC 0229 §A.2: not that of an earlier run", as: "a", do: "GET /v1/runs/{witness}/events", status: 200, shape: "events-#", has: `{"events":["*",{"type":"node.failed","payload":{"error":{"code":"credential_not_found"}}},"*"]}`},
	row{asks: "RFC 0229 §A.4: a fork does not inherit", as: "a", do: "POST /v1/runs", body: witnessed("run:w", witnessDigest, "run:w"), status: 201, keep: "witness=runId"},
	row{asks: "RFC 0229 §A.4: a fork does not inherit", as: "a", do: "POST /v1/runs/{witness}:fork", body: `{"fromSeq":0,"mode":"branch"}`, status: 201, keep: "witness=runId"},
	row{asks: "RFC 0229 §A.4: a fork does not inherit", as: "a", do: "GET /v1/runs/{witness}/events", status: 200, has: `{"events":["*",{"type":"node.failed","payload":{"error":{"code":"credential_not_found"}}},"*"]}`},
)

const (
	witnessValue  = "zq7-witness-value-of-a-run-0123456789"
	witnessDigest = "d8f1891903e851971b79f3177055d47b25859ea6215661d1103a1fd683a7a590"
)

// witnessed asks for the fixture with one secret.
func witnessed(ref, digest, given string) string {
	return fmt.Sprintf(`{"workflowId":%q,"inputs":{"ref":%q,"expectedSha256":%q},"runSecrets":[{"ref":%q,"value":%q}]}`, witnessFixture, ref, digest, given, witnessValue)
}

var proposalRows = slices.Concat(
	[]row{
		{asks: "a draft is there from the start", as: "a", do: "GET /v1/host/sample/proposals?state=draft", status: 200, shape: "proposals", lacks: `"proposals":[]`},
		{asks: "RFC 0096: what an agent proposes", as: "a", do: "POST /v1/test/proposals", body: `{"kind":"automation","artifact":{"schedule":"0 9 * * 2","steps":[{"say":"{n} ` + testSecret + `"}]},"title":"Mine","sourceRunIds":["{first}"]}`, status: 201, shape: "proposal", has: `{"state":"draft","owner":{"tenant":"tenant-a"}}`, lacks: testSecret, keep: "proposal=id"},
		{asks: "RFC 0096: an artifact that is none of its kind", as: "a", do: "POST /v1/test/proposals", body: `{"kind":"automation","artifact":{"steps":[]},"sourceRunIds":["{first}"]}`, status: 422, shape: "envelope"},
	},
	bothMajors(
		row{asks: "RFC 0096: the normal key sees it", as: "a", do: "GET " + seam + "/proposals/{proposal}", status: 200, shape: "proposal"},
		row{asks: "proposal-inert-until-applied: 403, state unchanged", as: "a", do: "POST " + seam + "/proposals/{proposal}/apply", body: "{}", status: 403, shape: "envelope", has: `{"error":"forbidden"}`, state: seam + "/proposals/{proposal}"},
		row{asks: "another tenant's proposal is not there", as: "b", do: "GET " + seam + "/proposals/{proposal}", status: 404, shape: "envelope"},
		row{asks: "draft or revised → revised", as: "a", do: "PATCH " + seam + "/proposals/{proposal}", body: `{"title":"Mine, {v}"}`, status: 200, shape: "proposal", has: `{"state":"revised"}`, state: seam + "/proposals/{proposal}", moves: true},
	),
	[]row{
		{asks: "direct-rbac: the scope applies", as: "approver", do: "POST " + seam + "/proposals/{proposal}/apply", body: "{}", status: 200, shape: "proposal", has: `{"state":"applied","activation":{"installedArtifactRef":"*"}}`, state: seam + "/proposals/{proposal}", moves: true},
		{asks: "a move that its state does not have", as: "approver", do: "POST " + seam + "/proposals/{proposal}/apply", body: "{}", status: 409, shape: "envelope", has: `{"error":"version_conflict"}`, state: seam + "/proposals/{proposal}"},
	},
)

var versionRows = []row{
	{asks: "versioning.md §1.3: a header that names none", as: "a", do: "GET /runs/{first}", version: "9", status: 406, shape: "envelope", has: `{"error":"protocol_version_unsupported","details":{"protocolVersions":["1.1","2.0"]}}`},
	{asks: "versioning.md §1.3: path and header name two", as: "a", do: "GET /v1/runs/{first}", version: "2.0", status: 400, shape: "envelope", has: `{"error":"protocol_version_mismatch"}`},
	{asks: "versioning.md §1.3: the header's major", as: "a", do: "GET /runs/{first}", version: "1", status: 200, shape: "run-1", has: `{"runId":"{first}"}`},
	{asks: "idempotency.md: 22 characters at least", as: "a", do: "POST /runs", body: `{"workflowId":"conformance-noop"}`, header: "Idempotency-Key: short", status: 400, shape: "envelope", has: `{"error":"idempotency_key_invalid"}`},
	{asks: "versioning.md §1.2: there is no /v2", as: "a", do: "GET /v2/runs/{first}", status: 404, shape: "envelope"},
	{asks: "a method that a path does not have", as: "a", do: "DELETE /v1/runs", status: 405, shape: "envelope"},
	{asks: "405 is not a status of version 2", as: "a", do: "DELETE /runs", status: 404, shape: "envelope", has: `{"error":"not_found"}`},
	{asks: "payload_too_large", as: "a", do: "POST /v1/runs", body: `{"workflowId":"` + strings.Repeat("x", 2<<20) + `"}`, status: 413, shape: "envelope", has: `{"error":"payload_too_large"}`},
}

// client asks for one row after the other, and remembers what they kept.
type client struct {
	*served
	kept map[string]string
}

func (c *client) fill(text string) string {
	return regexp.MustCompile(`\{[A-Za-z]+\}`).ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := c.kept[strings.Trim(name, "{}")]; ok {
			return value
		}
		return name
	})
}

// path is fill for a path: a bound id is one segment of it.
func (c *client) path(text string) string {
	filled := &client{kept: map[string]string{}}
	for name, value := range c.kept {
		filled.kept[name] = strings.ReplaceAll(value, "/", "~2F")
	}
	return filled.fill(text)
}

func (c *client) ask(r row) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(r.do, " ")
	var header []string
	if r.version != "" {
		header = []string{"OpenWOP-Version", r.version}
	}
	if name, value, ok := strings.Cut(c.fill(r.header), ": "); ok {
		header = append(header, name, value)
	}
	return c.do(strings.TrimPrefix(r.as, "-"), method, c.path(path), c.fill(r.body), header...)
}

func (c *client) check(t *testing.T, r row) {
	read := func() string { return c.do(r.as, "GET", c.path(r.state), "").Body.String() }
	before := ""
	if r.state != "" {
		before = read()
	}
	w := c.ask(r)
	name := fmt.Sprintf("%s: %s as %s", r.asks, c.path(r.do), r.as)
	text := w.Body.String()
	if !assert.Equal(t, r.status, w.Code, "%s: %s", name, text) {
		return
	}
	if v := w.Header().Get("OpenWOP-Version"); strings.Contains(r.do, " /v1/") || r.version == "1" {
		assert.Equal(t, wire.V1.String(), v, name)
	} else {
		assert.Equal(t, wire.V2.String(), v, name)
	}
	if name, value, ok := strings.Cut(r.says, ": "); ok {
		assert.Equal(t, value, w.Header().Get(name), name)
	}
	if r.state != "" {
		assert.Equal(t, r.moves, before != read(), "%s: whether %s has changed", name, r.state)
	}
	if r.lacks != "" {
		assert.NotContains(t, text, c.fill(r.lacks), name)
	}
	var out any
	if r.shape != "" || r.has != "" || r.keep != "" {
		require.NoError(t, json.Unmarshal([]byte(text), &out), "%s: %s", name, text)
	}
	if r.shape != "" {
		assert.NoError(t, valid(r.shape, out), "%s: %s", name, text)
	}
	if r.has != "" {
		var want any
		require.NoError(t, json.Unmarshal([]byte(c.fill(r.has)), &want), r.has)
		assert.Empty(t, missing("", want, out), "%s: %s", name, text)
	}
	if name, path, ok := strings.Cut(r.keep, "="); ok {
		for step := range strings.SplitSeq(path, ".") {
			switch v := out.(type) {
			case map[string]any:
				out = v[step]
			case []any:
				out = v[int(step[0]-'0')]
			}
		}
		c.kept[name] = fmt.Sprint(out)
	}
}

// missing says what of want is not in got.
func missing(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name := range w {
			if m := missing(at+"."+name, w[name], g[name]); m != "" {
				return m
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at + " has not as many items"
		}
		for i := range w {
			if m := missing(fmt.Sprint(at, ".", i), w[i], g[i]); m != "" {
				return m
			}
		}
	default:
		if want == "*" && got != nil {
			return ""
		}
		text, isText := got.(string)
		if form, ok := want.(string); ok && isText && strings.HasPrefix(form, "~") && regexp.MustCompile(form[1:]).MatchString(text) {
			return ""
		}
		if want != got {
			return fmt.Sprintf("%s is %v instead of %v", at, got, want)
		}
	}
	return ""
}

var shapes sync.Map

// valid checks a document against the published structure of its shape.
func valid(shape string, doc any) error {
	schema, ok := shapes.Load(shape)
	if !ok {
		raw, err := os.ReadFile("testdata/shapes.json")
		if err != nil {
			return err
		}
		compiler := jsonschema.NewCompiler()
		compiler.Draft, compiler.AssertFormat = jsonschema.Draft2020, true
		if err := compiler.AddResource("shapes.json", strings.NewReader(string(raw))); err != nil {
			return err
		}
		made, err := compiler.Compile("shapes.json#/$defs/" + strings.ReplaceAll(shape, " ", "%20"))
		if err != nil {
			return err
		}
		schema, _ = shapes.LoadOrStore(shape, made)
	}
	return schema.(*jsonschema.Schema).Validate(doc)
}

// TestContract asks for every row: of a new store and again of what that left, alone and with eight
// clients at once.
func TestContract(t *testing.T) {
	everywhere(t, func(t *testing.T, o options) {
		o.seams, o.expiredRun = true, "expired-run-000000"
		for _, state := range []string{"new", "again"} {
			t.Run(state, func(t *testing.T) {
				s := reopen(t, o)
				first := s.ok(200, "a", "POST", seam+"/memory/consolidate", `{"memoryRef":"`+conformanceRef+`"}`)["event"].(map[string]any)
				assert.Less(t, first["outputCount"], first["inputCount"], "duplicates were there before anybody called")
				one := &client{s, map[string]string{"n": "0" + state}}
				for _, r := range contract {
					one.check(t, r)
				}
				var clients sync.WaitGroup
				answers := make([]string, 8)
				for i := range answers {
					clients.Go(func() {
						w := s.do("a", "POST", seam+"/memory/distill", `{"memoryRef":"fresh-`+state+`","tokenBudget":8000,"sources":["one","two"]}`)
						answers[i] = regexp.MustCompile(`"archiveChecksum":"[^"]+"`).FindString(w.Body.String())
						if testing.Short() && i > 0 {
							return
						}
						c := &client{s, map[string]string{"n": fmt.Sprint(i+1) + state}}
						for _, r := range contract {
							c.check(t, r)
						}
					})
				}
				clients.Wait()
				assert.Len(t, slices.Compact(answers), 1, "eight callers of one ref get one answer")
				assert.NotEmpty(t, answers[0])
				s.everyDocumentIsValid(t)
			})
		}
	})
}

// everyDocumentIsValid reads all runs and their events in both versions. A run that an event names is a
// run that can be read.
func (s *served) everyDocumentIsValid(t *testing.T) {
	read := 0
	for token, tenant := range map[string]string{"a": tenantA, "b": tenantB} {
		for _, id := range s.runs(tenant) {
			for _, version := range []string{"1", "2"} {
				at := map[string]string{"1": "/v1/runs/", "2": "/runs/"}[version] + id
				require.NoError(t, valid("run-"+version, any(s.ok(200, token, "GET", at, ""))), id)
				events := s.ok(200, token, "GET", at+"/events", "")
				require.NoError(t, valid("events-"+version, any(events)), id)
				for _, ev := range events["events"].([]any) {
					ev := ev.(map[string]any)
					shape := map[string]string{"1": "payload ", "2": "payload-2 "}[version] + ev["type"].(string)
					require.NoError(t, valid(shape, ev["payload"]), "%v", ev)
					read++
				}
			}
		}
	}
	t.Logf("%d events are valid", read)
}
