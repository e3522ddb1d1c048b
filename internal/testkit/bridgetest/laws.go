package bridgetest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// Bridge is a bridge as the suite uses it.
type Bridge struct {
	// Open begins a session of a tenant over the host's bank and Ref, with [Secrets]: one run, conversation or client. Any
	// number are open at once. A name that was used before is that of a session whose process was killed.
	Open func(t *testing.T, h *Host, tenant, name string) Session
	// Store opens a store in a file until the test ends. A bridge without M8 has none.
	Store func(t *testing.T, file string) driver.Adapter
	// Without has laws by number that the bridge has no means to keep, and why not.
	Without map[string]string
}

// Session is what a model or a program does through a bridge. Edit, Delete, Forget and List are nil if the bridge has no such
// thing. A function fails the test if the bridge fails.
type Session struct {
	// Remember stores a fact and returns the id by which Delete finds it. The same fact is the same call, tried again.
	Remember func(f Fact) (id string)
	// Edit adds a line to the one text that all sessions of a tenant edit. It reports false if the bridge refused that
	// because another session has changed the text.
	Edit func(line string) bool
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
		{"M3", "TheRankerSeesNoSecret", rankerSeesNoSecret},
		{"M4", "EntriesExpire", entriesExpire},
		{"M6", "AViewDoesNotMove", viewDoesNotMove},
		{"M8", "ARepeatedCallWritesOnce", writesOnce},
		{"M8", "AKilledProcessLosesNothing", killsLoseNothing},
		{"B", "NoAcknowledgedEditIsLost", sqliteEdits},
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

// open begins a session that was not begun before.
func (b Bridge) open(t *testing.T, h *Host, tenant string) Session {
	return b.Open(t, h, tenant, "session "+rand.Text())
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
		assert.Equal(t, has, strings.Contains(said, word), "whether it has %q:\n%s", word, said)
	}
}

// stored counts how often live entries have a text.
func stored(h *Host, tenant, text string) int {
	return strings.Count(strings.Join(h.Texts(tenant), "\n"), text)
}

// CTI-1: a tenant is told nothing of another one and cannot end anything of it.
func shareNothing(t *testing.T, h *Host, b Bridge) {
	const question = "Which locker is it?"
	ours := b.open(t, h, "acme")
	id := ours.Remember(Fact{Text: "The locker is number 4711.", Subjects: []string{"person:ann"}})
	expect(t, ours.says(question), true, "4711")
	for _, tenant := range []string{"globex", "Acme", "acme ", "acm", "acme/notes", "%"} {
		theirs := b.open(t, h, tenant)
		expect(t, theirs.says(question), false, "4711")
		assert.False(t, theirs.Delete != nil && theirs.Delete(id), "%q deletes an entry of another tenant", tenant)
		if theirs.Forget != nil {
			theirs.Forget("person:ann")
		}
		expect(t, theirs.says(question), false, "4711")
	}
	expect(t, ours.says(question), true, "4711")
	expect(t, b.open(t, h, "acme").says(question), true, "4711")
}

// CTI-1, with the race detector: each of many sessions at once sees its own tenant.
func atTheSameTime(t *testing.T, h *Host, b Bridge) {
	tenants := []string{"acme", "globex"}
	sessions := make([]Session, 8)
	for n := range sessions {
		sessions[n] = b.open(t, h, tenants[n%2])
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
		assert.Equal(t, len(sessions), stored(h, tenant, "of "+tenant), tenant)
		assert.Zero(t, stored(h, tenant, "of "+tenants[1-i]), "%s has entries of the other tenant", tenant)
	}
}

// SR-1: a secret is in nothing that is stored or told, in any form that is listed, and a question that has it
// finds what has its marker.
func secretsAreTakenOut(t *testing.T, h *Host, b Bridge) {
	inHex, inBase64 := hex.EncodeToString([]byte(Secret)), base64.StdEncoding.EncodeToString([]byte(Secret))
	s := b.open(t, h, "acme")
	s.Remember(Fact{Text: "The depot key is " + Secret + "."})
	s.Remember(Fact{Text: "The depot key in hex is " + inHex + ", in base64 " + inBase64 + "."})
	for _, s := range []Session{s, b.open(t, h, "acme")} {
		said := s.says("What is the depot key, " + Secret + "?")
		expect(t, said, true, "[REDACTED:key]")
		expect(t, said, false, Secret, inHex, inBase64)
	}
	assert.NotEmpty(t, h.Entries("acme"))
	for _, e := range h.Entries("acme") {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		expect(t, string(raw), false, Secret, inHex, inBase64)
	}
}

// SR-1: a question reaches the ranker, and so the embedder behind it, without its secrets.
func rankerSeesNoSecret(t *testing.T, h *Host, b Bridge) {
	s := b.open(t, h, "acme")
	s.Remember(Fact{Text: "The depot key is in the safe."})
	for _, s := range []Session{s, b.open(t, h, "acme")} {
		s.says("Is the depot key " + Secret + "?")
	}
	if len(h.asked) == 0 {
		t.Skip("not offered: the bridge asks no ranker")
	}
	for _, q := range h.asked {
		raw, err := json.Marshal(q)
		require.NoError(t, err)
		expect(t, string(raw), false, Secret)
	}
}

// TTL: an entry is told of until its instant and not from then on, also in a session that began before.
func entriesExpire(t *testing.T, h *Host, b Bridge) {
	end := h.Now().Truncate(time.Minute).Add(time.Minute) // which every bridge can say
	b.open(t, h, "acme").Remember(Fact{Text: "The door code is 9931.", ExpiresAt: end})
	h.Advance(end.Sub(h.Now()) - time.Millisecond)
	s := b.open(t, h, "acme")
	expect(t, s.says("Which door code is it?"), true, "9931")
	h.Advance(time.Millisecond)
	for _, s := range []Session{s, b.open(t, h, "acme")} {
		expect(t, s.says("Which door code is it?"), false, "9931")
	}
	assert.Zero(t, stored(h, "acme", "9931"), "live entries have it")
}

// A session sees memory as it was when it began and its own changes, and what it was told is deleted stays gone.
func viewDoesNotMove(t *testing.T, h *Host, b Bridge) {
	const question = "Where is tea?"
	old := b.open(t, h, "acme").Remember(Fact{Text: "Tea is in the kitchen."})
	s := b.open(t, h, "acme")
	expect(t, s.says(question), true, "kitchen")
	h.Advance(time.Second)
	b.open(t, h, "acme").Remember(Fact{Text: "Tea is in the garden."})
	expect(t, s.says(question), true, "kitchen")
	expect(t, s.says(question), false, "garden")
	own := s.Remember(Fact{Text: "Tea is on the roof."})
	expect(t, s.says(question), true, "kitchen", "roof")
	expect(t, s.says(question), false, "garden")
	if s.Delete != nil {
		for _, id := range []string{old, own} {
			assert.True(t, s.Delete(id) && !s.Delete(id), "it is deleted once")
		}
		expect(t, s.says(question), false, "kitchen", "garden", "roof")
	}
	expect(t, b.open(t, h, "acme").says(question), true, "garden")
}

// Idempotence: what is tried again is written once, and another fact is another entry.
func writesOnce(t *testing.T, h *Host, b Bridge) {
	s := b.open(t, h, "acme")
	f := Fact{Text: "Tea is served at ten.", Subjects: []string{"topic:tea"}}
	id := s.Remember(f)
	for range 3 {
		h.Advance(time.Second)
		assert.Equal(t, id, s.Remember(f), "of the same call")
	}
	s.Remember(Fact{Text: "Coffee is served at ten.", Subjects: f.Subjects})
	assert.Equal(t, 1, stored(h, "acme", "Tea"))
	assert.Equal(t, 1, stored(h, "acme", "Coffee"))
}

// Forgetting a subject takes what the bridge has stored about it, out of open sessions and all versions.
func forgottenIsGone(t *testing.T, h *Host, b Bridge) {
	s := b.open(t, h, "acme")
	s.Remember(Fact{Text: "Ann takes Tazorin.", Subjects: []string{"person:ann"}})
	s.Remember(Fact{Text: "Bob takes Velitan.", Subjects: []string{"person:bob"}})
	open := b.open(t, h, "acme")
	expect(t, open.says("Who takes what?"), true, "Tazorin", "Velitan")
	if s.Forget != nil {
		s.Forget("person:ann")
	} else {
		_, err := h.Forget(t.Context(), "acme", "person:ann")
		require.NoError(t, err)
	}
	for _, s := range []Session{s, open, b.open(t, h, "acme")} {
		said := s.says("Who takes what?")
		expect(t, said, false, "Tazorin")
		expect(t, said, true, "Velitan")
	}
	h.pass("acme", func(j *memory.Job) error {
		for rec, err := range j.History(t.Context(), Ref) {
			require.NoError(t, err)
			assert.NotContains(t, rec.Entry.Content, "Tazorin")
			assert.NotContains(t, rec.Entry.Subjects, "person:ann")
		}
		return nil
	})
}
