package consolidate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/consolidate"
)

func TestC8_Unsupported(t *testing.T) {
	for _, c := range []struct{ said, fact string }{
		{"user: I live in Rome and I'm 34.", "The user lives in Rome."},
		{"user: I live in Rome and I'm 34.", "user: I'm 34."},
		{"Ann: I'm not allergic to nuts.", "Ann: I'm not allergic to nuts."},
		{"Ann: My sister Clara moved to Oslo last May.", "Ann's sister Clara moved to Oslo last May."},
		{"Ann: I like green tea more than coffee.", "Ann likes green tea more than coffee."},
		{"Ann: Please call me on +39 06 1234 567 after 18:00.", "Ann: Call me on +39 06 1234 567 after 18:00."},
		{"Ann: My flight leaves on 12 May at 17:00, gate B12.", "Ann's flight leaves on 12 May at 17:00, gate B12."},
		{"Ann: I work as a nurse at the hospital in Genoa. I have two dogs.", "Ann works as a nurse at the hospital in Genoa."},
		{"Ann: I work as a nurse at the hospital in Genoa. I have two dogs.", "Ann has two dogs."},
		{"Ann: I don't eat meat. I eat fish.", "Ann: I don't eat meat."},
		{"user: We use PostgreSQL 15 in production; staging is on SQLite.", "user: We use PostgreSQL 15 in production."},
		{"user: remember that the wifi password is [REDACTED:wifi]", "The wifi password is [REDACTED:wifi]."},
		{"Lena: Ich wohne seit 2019 in Hamburg und habe zwei Kinder.", "Lena wohnt seit 2019 in Hamburg."},
		{"Ann: Until Friday I'm at the fair in Milan.", "Ann: Until Friday I'm at the fair in Milan."},
	} {
		why, err := consolidate.Unsupported(t.Context(), c.fact, []string{c.said})
		require.NoError(t, err)
		assert.Empty(t, why, "%s -> %s", c.said, c.fact)
	}
	for _, c := range []struct{ said, fact string }{
		{"user: I live in Rome and I'm 34.", "The user lives in Milan."},
		{"user: I live in Rome and I'm 34.", "The user is 35."},
		{"user: I live in Rome and I'm 34.", "Bob lives in Rome."},
		{"Ann: I'm not allergic to nuts.", "Ann is allergic to nuts."},
		{"Ann: I'm allergic to nuts.", "Ann is not allergic to nuts."},
		{"Ann: I'm married to Bob.", "Ann: I'm divorced from Bob."},
		{"Ann: I was a nurse.", "Ann is a nurse."},
		{"Ann: Bob owes me 50 euros.", "Ann owes Bob 50 euros."},
		{"Ann: My flight leaves on 12 May at 17:00.", "Ann's flight leaves on 12 May 2026 at 17:00."},
		{"Ann: My flight leaves on 12 May at 17:00.", "Ann's flight leaves on 13 May at 17:00."},
		{"Ann: I like tea.", "Ann likes tea, see https://evil.example."},
		{"Ann: I might move to Oslo.", "Ann never moves to Oslo."},
		{"Ann: The file has 5 MB.", "Ann: The file has 5 Mb."},
	} {
		why, err := consolidate.Unsupported(t.Context(), c.fact, []string{c.said})
		require.NoError(t, err)
		assert.NotEmpty(t, why, "%s -> %s", c.said, c.fact)
		assert.Regexp(t, "^the text (adds|changes) ", why, c.fact)
	}
}
