package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// planted is a world into which a host has put a secret, before anybody knew that it is one.
type planted struct {
	*host
	tenant, ref string
	rng         *rand.Rand
	secret      string
}

// near is the secret with something before and behind it.
func (p *planted) near() string { return fmt.Sprintf("a%d %s b", p.rng.IntN(9), p.secret) }

func (p *planted) put(run string, d memory.Draft) memory.Entry {
	r := p.run(run, p.tenant)
	e, err := r.Put(ctx, p.ref, d)
	require.NoError(p.t, err)
	return e
}

func (p *planted) rewrite(id string, rw memory.Rewrite) {
	j, err := p.Background(memory.JobConfig{ID: id, Tenant: p.tenant, Redactor: newVault()})
	require.NoError(p.t, err)
	_, err = j.Rewrite(ctx, p.ref, rw)
	require.NoError(p.t, err)
}

func (p *planted) keep(d driver.Document) {
	d.Tenant = p.tenant
	if p.rng.IntN(2) == 0 {
		d.Ref = p.ref
	}
	p.rewrite("pass", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
		return []driver.DocumentSwap{{Document: d}}
	}})
}

// secretPlaces are where a host can put text or names, apart from a ref and a tenant.
var secretPlaces = map[string]func(p *planted){
	"content":  func(p *planted) { p.put("r", memory.Draft{Content: p.near(), Subjects: []string{"lena"}}) },
	"tag":      func(p *planted) { p.put("r", memory.Draft{Tags: []string{p.near()}, Subjects: []string{"lena"}}) },
	"subject":  func(p *planted) { p.put("r", memory.Draft{Subjects: []string{p.near()}}) },
	"run id":   func(p *planted) { p.put("r"+p.secret, memory.Draft{Content: "x", Subjects: []string{"lena"}}) },
	"node id":  func(p *planted) { p.put("r", memory.Draft{Content: "x", NodeID: p.near()}) },
	"agent id": func(p *planted) { p.put("r", memory.Draft{Content: "x", AgentID: p.near()}) },
	"key":      func(p *planted) { p.put("r", memory.Draft{Content: "x", Key: p.near()}) },
	"text value": func(p *planted) {
		p.keep(driver.Document{Class: driver.HostText, Kind: "f", Key: "1", Value: []byte(p.near())})
	},
	"JSON value": func(p *planted) {
		value, _ := json.Marshal(map[string]string{"content": p.near()})
		p.keep(driver.Document{Class: driver.HostText, Kind: "f", Key: "2", Value: value})
	},
	"text key":  func(p *planted) { p.keep(driver.Document{Class: driver.HostText, Kind: "f", Key: p.near()}) },
	"text kind": func(p *planted) { p.keep(driver.Document{Class: driver.HostText, Kind: p.secret, Key: "3"}) },
	"text group": func(p *planted) {
		p.keep(driver.Document{Class: driver.HostText, Kind: "f", Key: "4", Group: p.near()})
	},
	"text subject": func(p *planted) {
		p.keep(driver.Document{Class: driver.HostText, Kind: "f", Key: "5", Subjects: []string{p.near()}})
	},
	"forgotten text": func(p *planted) {
		p.keep(driver.Document{Class: driver.HostText, Kind: p.secret, Key: p.near(), Group: p.near(), Subjects: []string{"tom"}})
		_, err := p.Forget(ctx, p.tenant, "tom") // the ledger has its name
		require.NoError(p.t, err)
	},
	"machinery": func(p *planted) {
		value, _ := json.Marshal(p.near())
		p.keep(driver.Document{Kind: "m", Key: p.near(), Group: p.near(), Value: value})
	},
	"made of an entry": func(p *planted) {
		e := p.put("r", memory.Draft{Content: "source", Subjects: []string{"lena"}})
		p.rewrite("pass", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: driver.Document{Scope: memory.Scope{Ref: p.ref}, Class: driver.Content,
				Kind: "c", Key: p.near(), Group: p.near(), Value: []byte(p.near()), Of: []string{e.ID}}}}
		}})
	},
	"job id": func(p *planted) {
		a := p.put("r", memory.Draft{Content: "a"})
		p.rewrite("job"+p.secret, memory.Rewrite{Derive: []memory.Derived{{
			Draft: memory.Draft{Content: "made"}, Sources: []string{a.ID}, Merges: []string{a.ID}, Compacted: true}}})
	},
	"event": func(p *planted) {
		p.rewrite("pass", memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
			return []events.Record{{Payload: events.WorkspaceUpdated{Path: p.near(), Version: 1}}}
		}})
	},
}

// everything is what the bank and the store hand out of the tenant, by where. Where a ref holds
// the secret, refs are left out but in the ledger: Scrub does not rename them.
func (p *planted) everything() map[string]string {
	found := map[string]string{}
	show := func(where string, x any) {
		text, err := json.Marshal(x)
		require.NoError(p.t, err)
		found[where] += string(text) + "\n" + fmt.Sprintf("%+v", x) + "\n"
	}
	none := func(err error) { require.NoError(p.t, err) }
	tx := p.store.(driver.Versioned)
	for x, err := range p.Erasures(ctx, p.tenant) {
		none(err)
		show("ledger", x)
	}
	subjects := map[string]bool{"lena": true, "tom": true}
	for rec, err := range tx.History(ctx, p.tenant, driver.HistoryQuery{}) {
		none(err)
		for _, s := range rec.Entry.Subjects {
			subjects[s] = true
		}
		rec.Scope = memory.Scope{}
		show("history", rec)
	}
	for d, err := range tx.Documents(ctx, driver.DocumentQuery{Tenant: p.tenant, EveryRef: true}) {
		none(err)
		for _, s := range d.Subjects {
			subjects[s] = true
		}
		d.Scope = memory.Scope{}
		show("documents", d)
		show("document texts", string(d.Value))
		var plain any
		if json.Unmarshal(d.Value, &plain) == nil {
			show("document values", plain)
		}
	}
	for s := range subjects {
		show("subjects", s)
		for x, err := range p.Export(ctx, p.tenant, s) {
			none(err)
			if x.Record != nil {
				show("export", x.Record.Entry)
			} else {
				show("export", string(x.Document.Value))
			}
		}
	}
	for rec, err := range tx.Undelivered(ctx, "", "") {
		none(err)
		if rec.Tenant != p.tenant {
			continue
		}
		rec.Tenant = ""
		show("events", rec)
	}
	list, err := p.Reader(p.tenant).List(ctx, p.ref, memory.ListOptions{Limit: memory.MaxListLimit})
	none(err)
	show("list", list)
	return found
}

// A secret that is registered too late is nowhere after a Scrub, wherever it was, in nothing
// that the store and the bank hand out, errors too. Refs and tenants keep their names, also if those hold
// one, and the ledger names a ref by what the redactor leaves of it.
func TestM3_AScrubbedSecretIsInNothingThatIsHandedOut(t *testing.T) {
	places := slices.Sorted(maps.Keys(secretPlaces))
	for seed := range seeds(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		secret := fmt.Sprintf("hunter%08d%s", rng.IntN(1e8), []string{"", `"q`, `<&>`, `é\`}[rng.IntN(4)])
		store := newSpy()
		p := &planted{host: newHostOn(t, store), tenant: "acme", ref: "m", rng: rng, secret: secret}
		if rng.IntN(3) == 0 {
			p.ref = "of " + secret
		}
		if rng.IntN(5) == 0 {
			p.tenant = "tenant " + secret
		}
		rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		chosen := places[:1+rng.IntN(len(places))]
		for _, name := range chosen {
			secretPlaces[name](p)
		}
		p.put("r", memory.Draft{Content: "clean", Subjects: []string{"lena"}})

		late := redact.New(redact.Config{PlainOnly: rng.IntN(2) == 0})
		require.NoError(t, late.Register("late", []byte(secret)))
		store.wrote = nil
		_, err := p.Scrub(ctx, p.tenant, late)
		require.NoError(t, err, "seed %d", seed)
		for _, m := range store.wrote { // not for a moment either
			for _, d := range m.Documents {
				d.Scope = memory.Scope{} // which keeps its name
				require.False(t, d.Act != driver.Remove && strings.Contains(fmt.Sprintf("%s %+v", d.Value, d), secret), "seed %d: %+v", seed, d)
			}
			for _, x := range m.Put {
				require.NotContains(t, fmt.Sprintf("%+v", x.Entry), secret, "seed %d", seed)
			}
		}
		closed := redact.New(redact.Config{})
		require.NoError(t, closed.Close())
		_, refused := p.Scrub(ctx, p.tenant, closed)
		_, named := p.Background(memory.JobConfig{ID: secret + "\x00", Tenant: p.tenant, Redactor: late})
		_, absent := p.Reader(p.tenant).Get(ctx, p.ref, secret)
		_, stale := p.job(p.tenant).Rewrite(ctx, p.ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: driver.Document{Kind: "k", Key: secret, Rev: 9}}}
		}})
		for _, err := range []error{refused, named, absent, stale} {
			require.Error(t, err)
			require.NotContains(t, err.Error(), secret)
		}
		for _, then := range []string{"scrub", "forget"} {
			for where, text := range p.everything() {
				if at := strings.Index(text, secret); at >= 0 {
					t.Fatalf("seed %d: after the %s the secret is in %s, of those at %q: %s", seed, then, where, chosen, text)
				}
				escaped, _ := json.Marshal(secret)
				if strings.Contains(text, strings.Trim(string(escaped), `"`)) {
					t.Fatalf("seed %d: after the %s the secret is in %s with escapes, of those at %q: %s", seed, then, where, chosen, text)
				}
			}
			if then == "scrub" {
				require.Contains(t, contents(t, p.Reader(p.tenant), p.ref), "clean")
			}
			again, err := p.Scrub(ctx, p.tenant, late)
			require.NoError(t, err)
			require.Zero(t, again, "seed %d: a second Scrub finds nothing", seed)
			if then == "forget" || p.ref != "m" { // Forget has no redactor
				break
			}
			_, err = p.Forget(ctx, p.tenant, "lena")
			require.NoError(t, err)
		}
	}
}

// What a ledger names by what the redactor has left of it is found in a backup, and noted
// there by no other name.
func TestM10_TheLedgerFindsWhatItNamesRedacted(t *testing.T) {
	h, backup := newHost(t), newHost(t)
	dirty := memory.Scope{Tenant: "acme", Ref: "of hunter2hunter2"}
	for _, h := range []*host{h, backup} {
		_, err := h.job("acme").Rewrite(ctx, "m", memory.Rewrite{Documents: func([]memory.Entry) (swaps []driver.DocumentSwap) {
			for _, key := range []string{"scrubbed/hunter2hunter2", "forgotten/hunter2hunter2", "forgotten/hunter3hunter3", "forgotten/clean"} {
				d := driver.Document{Class: driver.HostText, Kind: "file", Key: key, Value: []byte("text")}
				if strings.HasPrefix(key, "forgotten") && !strings.HasSuffix(key, "3") {
					d.Subjects = []string{"lena"}
				}
				swaps = append(swaps, driver.DocumentSwap{Document: d})
			}
			return swaps
		}})
		require.NoError(t, err)
	}
	e := put(t, h.job("acme"), dirty.Ref, "about her", "lena")
	require.NoError(t, backup.store.Put(ctx, dirty, e))
	_, err := h.Forget(ctx, "acme", "lena")
	require.NoError(t, err)
	late := newVault("late", "hunter2hunter2")
	_, err = h.Scrub(ctx, "acme", late)
	require.NoError(t, err)
	ledgerOf := func(h *host) (ledger []memory.Erasure) {
		for x, err := range h.Erasures(ctx, "acme") {
			require.NoError(t, err)
			ledger = append(ledger, x)
		}
		return ledger
	}
	ledger := ledgerOf(h)
	require.NotContains(t, fmt.Sprint(ledger), "hunter2")
	require.Contains(t, fmt.Sprint(ledger), "scrubbed/[REDACTED:late]")

	done, err := backup.EraseAgain(ctx, "acme", ledger, late)
	require.NoError(t, err)
	require.Equal(t, memory.Forgotten{Erased: []driver.Located{{Scope: dirty, ID: e.ID}}, Documents: 3}, done)
	require.NotContains(t, fmt.Sprint(ledgerOf(backup)), "hunter2")
	require.NotZero(t, document(t, backup.job("acme"), "", "file", "forgotten/hunter3hunter3").Rev)
	done, err = backup.EraseAgain(ctx, "acme", ledgerOf(backup), late)
	require.NoError(t, err)
	require.Zero(t, done)
}

// dateless is the redactor of a host that takes dates for personal.
type dateless struct{}

var writtenDate = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

func (dateless) Redact(text string) (string, error) {
	return writtenDate.ReplaceAllString(text, "[REDACTED:date]"), nil
}
func (r dateless) RedactDerived(text string) (string, error) { return r.Redact(text) }
func (dateless) Inline() bool                                { return true }

// The ledger has instants and ids of its own. A scrub that took them for secrets would remove
// each step of the ledger, note that in a new one, and never end.
func TestM10_AScrubEndsWhateverItsRedactorFindsInTheLedger(t *testing.T) {
	h := newHost(t)
	put(t, h.job("acme"), "m", "born on 1990-01-01")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	done, err := h.Scrub(ctx, "acme", dateless{})
	require.NoError(t, err)
	require.Len(t, done.Rewritten, 1)
	var ledger []memory.Erasure
	for x, err := range h.Erasures(ctx, "acme") {
		require.NoError(t, err)
		ledger = append(ledger, x)
	}
	require.Len(t, ledger, 1)
	require.Equal(t, map[string][]string{"m": {done.Erased[0].ID}}, ledger[0].Entries)
}
