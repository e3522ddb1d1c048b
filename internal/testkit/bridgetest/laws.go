package bridgetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// Bridge is a bridge as the suite uses it.
type Bridge struct {
	// Open begins a session of a tenant over the host's bank and Ref, with [Secrets]: one run, conversation or client. Any
	// number are open at once.
	Open func(t *testing.T, h *Host, tenant string) Session
	// Without has laws by number that the bridge has no means to keep, and why not.
	Without map[string]string
}

// Session is what a model or a program does through a bridge. Delete, Forget and List are nil if the bridge has no such
// thing. A function fails the test if the bridge fails.
type Session struct {
	// Remember stores a fact and returns the id by which Delete finds it. The same fact is the same call, tried again.
	Remember func(f Fact) (id string)
	// Recall returns all that the bridge says, in any way, to a user who asks a question.
	Recall func(question string) string
	// List returns all that it says without a question.
	List func() string
	// Delete takes one entry out and reports whether there was one.
	Delete func(id string) bool
	// Forget erases what is about a subject.
	Forget func(subject string)
}

// Fact is what a session remembers.
type Fact struct {
	Text     string
	Subjects []string
	// ExpiresAt is zero for a fact that does not expire.
	ExpiresAt time.Time
}

// Run proves the laws, each in a subtest.
func Run(t *testing.T, b Bridge) {
	for _, law := range []struct {
		number, name string
		prove        func(*testing.T, *Host, Bridge)
	}{
		{"M1", "TenantsShareNothing", shareNothing},
		{"M1", "TenantsAtTheSameTime", atTheSameTime},
		{"M3", "SecretsAreTakenOut", secretsAreTakenOut},
		{"M4", "EntriesExpire", entriesExpire},
		{"M6", "AViewDoesNotMove", viewDoesNotMove},
		{"M8", "ARepeatedCallWritesOnce", writesOnce},
		{"M10", "WhatIsForgottenIsGone", forgottenIsGone},
	} {
		t.Run(law.number+"_"+law.name, func(t *testing.T) {
			if why := b.Without[law.number]; why != "" {
				t.Skip("not offered: ", why)
			}
			law.prove(t, NewHost(t, inmem.New()), b)
		})
	}
}

// says is all that a session tells of a question.
func (s Session) says(question string) string {
	said := s.Recall(question)
	if s.List != nil {
		said += "\n" + s.List()
	}
	return said
}

func expect(t *testing.T, said string, has bool, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(said, word) != has {
			t.Errorf("it has %q: %v, want %v:\n%s", word, !has, has, said)
		}
	}
}

// stored counts the live entries that have a text.
func stored(h *Host, tenant, text string) (n int) {
	for _, said := range h.Texts(tenant) {
		if strings.Contains(said, text) {
			n++
		}
	}
	return n
}

// CTI-1: a tenant is told nothing of another one and cannot end anything of it.
func shareNothing(t *testing.T, h *Host, b Bridge) {
	const question = "Which locker is it?"
	ours := b.Open(t, h, "acme")
	id := ours.Remember(Fact{Text: "The locker is number 4711.", Subjects: []string{"person:ann"}})
	expect(t, ours.says(question), true, "4711")
	for _, tenant := range []string{"globex", "Acme", "acme ", "acm", "acme/notes", "%"} {
		theirs := b.Open(t, h, tenant)
		expect(t, theirs.says(question), false, "4711")
		if theirs.Delete != nil && theirs.Delete(id) {
			t.Errorf("%q deletes an entry of another tenant", tenant)
		}
		if theirs.Forget != nil {
			theirs.Forget("person:ann")
		}
		expect(t, theirs.says(question), false, "4711")
	}
	expect(t, ours.says(question), true, "4711")
	expect(t, b.Open(t, h, "acme").says(question), true, "4711")
}

// CTI-1, with the race detector: each of many sessions at once sees its own tenant.
func atTheSameTime(t *testing.T, h *Host, b Bridge) {
	tenants := []string{"acme", "globex"}
	sessions := make([]Session, 8)
	for n := range sessions {
		sessions[n] = b.Open(t, h, tenants[n%2])
	}
	var wg sync.WaitGroup
	for n, s := range sessions {
		wg.Go(func() {
			for k := range 2 {
				s.Remember(Fact{Text: fmt.Sprintf("Tea %d of %s is noted by session%d.", k, tenants[n%2], n)})
				said := s.says("Which tea is noted?")
				expect(t, said, true, fmt.Sprintf("Tea %d of %s is noted by session%d.", k, tenants[n%2], n))
				expect(t, said, false, "of "+tenants[1-n%2])
			}
		})
	}
	wg.Wait()
	for i, tenant := range tenants {
		if n := stored(h, tenant, "of "+tenant); n != len(sessions) {
			t.Errorf("%s has %d entries", tenant, n)
		}
		if n := stored(h, tenant, "of "+tenants[1-i]); n != 0 {
			t.Errorf("%s has %d entries of the other tenant", tenant, n)
		}
	}
}

// SR-1: a secret is in nothing that is stored or told, in any form that is listed, and a question that has it
// finds what has its marker.
func secretsAreTakenOut(t *testing.T, h *Host, b Bridge) {
	inHex, inBase64 := hex.EncodeToString([]byte(Secret)), base64.StdEncoding.EncodeToString([]byte(Secret))
	s := b.Open(t, h, "acme")
	s.Remember(Fact{Text: "The depot key is " + Secret + "."})
	s.Remember(Fact{Text: "The depot key in hex is " + inHex + ", in base64 " + inBase64 + "."})
	for _, s := range []Session{s, b.Open(t, h, "acme")} {
		said := s.says("What is the depot key, " + Secret + "?")
		expect(t, said, true, "[REDACTED:key]")
		expect(t, said, false, Secret, inHex, inBase64)
	}
	if len(h.Entries("acme")) == 0 {
		t.Error("nothing is stored")
	}
	for _, e := range h.Entries("acme") {
		raw, err := json.Marshal(e)
		h.must(err)
		expect(t, string(raw), false, Secret, inHex, inBase64)
	}
}

// TTL: an entry is told of until its instant and not from then on, also in a session that began before.
func entriesExpire(t *testing.T, h *Host, b Bridge) {
	end := h.Now().Truncate(time.Minute).Add(time.Minute) // which every bridge can say
	b.Open(t, h, "acme").Remember(Fact{Text: "The door code is 9931.", ExpiresAt: end})
	h.Advance(end.Sub(h.Now()) - time.Millisecond)
	s := b.Open(t, h, "acme")
	expect(t, s.says("Which door code is it?"), true, "9931")
	h.Advance(time.Millisecond)
	for _, s := range []Session{s, b.Open(t, h, "acme")} {
		expect(t, s.says("Which door code is it?"), false, "9931")
	}
	if n := stored(h, "acme", "9931"); n != 0 {
		t.Errorf("%d live entries have it", n)
	}
}

// A session sees memory as it was when it began and its own changes, and what it was told is deleted stays gone.
func viewDoesNotMove(t *testing.T, h *Host, b Bridge) {
	const question = "Where is tea?"
	old := b.Open(t, h, "acme").Remember(Fact{Text: "Tea is in the kitchen."})
	s := b.Open(t, h, "acme")
	expect(t, s.says(question), true, "kitchen")
	h.Advance(time.Second)
	b.Open(t, h, "acme").Remember(Fact{Text: "Tea is in the garden."})
	expect(t, s.says(question), true, "kitchen")
	expect(t, s.says(question), false, "garden")
	own := s.Remember(Fact{Text: "Tea is on the roof."})
	expect(t, s.says(question), true, "kitchen", "roof")
	expect(t, s.says(question), false, "garden")
	if s.Delete != nil {
		for _, id := range []string{old, own} {
			if !s.Delete(id) || s.Delete(id) {
				t.Error("it is deleted once")
			}
		}
		expect(t, s.says(question), false, "kitchen", "garden", "roof")
	}
	expect(t, b.Open(t, h, "acme").says(question), true, "garden")
}

// Idempotence: what is tried again is written once, and another fact is another entry.
func writesOnce(t *testing.T, h *Host, b Bridge) {
	s := b.Open(t, h, "acme")
	f := Fact{Text: "Tea is served at ten.", Subjects: []string{"topic:tea"}}
	id := s.Remember(f)
	for range 3 {
		h.Advance(time.Second)
		if again := s.Remember(f); again != id {
			t.Errorf("the same call gives %q and then %q", id, again)
		}
	}
	s.Remember(Fact{Text: "Coffee is served at ten.", Subjects: f.Subjects})
	if tea, coffee := stored(h, "acme", "Tea"), stored(h, "acme", "Coffee"); tea != 1 || coffee != 1 {
		t.Errorf("%d and %d entries, want 1 of each", tea, coffee)
	}
}

// Forgetting a subject takes what the bridge has stored about it, out of open sessions and all versions.
func forgottenIsGone(t *testing.T, h *Host, b Bridge) {
	s := b.Open(t, h, "acme")
	s.Remember(Fact{Text: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	s.Remember(Fact{Text: "Bob takes Velitan.", Subjects: []string{"person:bob"}})
	open := b.Open(t, h, "acme")
	expect(t, open.says("Who takes what?"), true, "Tazorin", "Velitan")
	if s.Forget != nil {
		s.Forget("person:ann")
	} else if _, err := h.Forget(t.Context(), "acme", "person:ann"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Session{s, open, b.Open(t, h, "acme")} {
		said := s.says("Who takes what?")
		expect(t, said, false, "Tazorin")
		expect(t, said, true, "Velitan")
	}
	h.pass("acme", func(j *memory.Job) error {
		for rec, err := range j.History(t.Context(), Ref) {
			if err != nil {
				return err
			}
			if strings.Contains(rec.Entry.Content, "Tazorin") || slices.Contains(rec.Entry.Subjects, "person:ann") {
				t.Error("a version of it is kept")
			}
		}
		return nil
	})
}
