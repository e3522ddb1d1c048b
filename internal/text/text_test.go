package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// show writes each token with the letter of its kind.
func show(s string) string {
	var out []string
	for t := range Tokens(s) {
		out = append(out, fmt.Sprintf("%c:%s", "wcps"[t.Kind], t.Text))
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"Lena prefers e-mail.", "w:Lena w:prefers w:e-mail"},
		{"(see v1.2), \"don't\"; it’s", "w:see c:v1.2 w:don't w:it’s"},
		{"-5 –5 .5 ml != 200 -V ~/keys .env €49 22:00, C++", "c:-5 c:–5 c:.5 w:ml s:!= c:200 c:-V c:~/keys c:.env c:€49 c:22:00 c:C++"},
		{"f(x), (500) https://a.example/b?c=1.", "c:f(x) c:500 c:https://a.example/b?c=1"},
		{"ops@acme.example wrote—late… .. - ?", "c:ops@acme.example w:wrote w:late s:-"},
		{"明天22時に開始。次", "p:明天 c:22 p:時に p:に開 p:開始 p:次"},
		{"Москва́ сегодня", "w:Москва́ w:сегодня"},
		{"¿Qué? [a] {b} 'c' d- -", "w:Qué w:a w:b w:c c:d- s:-"},
		{"สวัสดี ok", "p:สว p:วั p:ัส p:สด p:ดี w:ok"},
	} {
		require.Equal(t, c[1], show(c[0]), c[0])
	}
}

// Every letter and digit of a text is in a token, each token stands where it says it
// does, and none holds a blank.
func TestTokensCoverTheText(t *testing.T) {
	alphabet := []rune("ab Z9é.,-'’\"()[]/…—日本語ไทย\n\t!=\u0301\ufffd")
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range r.IntN(24) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		s := b.String()
		covered := make([]bool, len(s))
		for tok := range Tokens(s) {
			require.NotEmpty(t, tok.Text, "%q", s)
			require.Equal(t, tok.Text, s[tok.At:tok.At+len(tok.Text)], "%q", s)
			require.NotContains(t, tok.Text, " ", "%q", s)
			require.True(t, utf8.ValidString(tok.Text), "%q", s)
			for i := range tok.Text {
				covered[tok.At+i] = true
			}
		}
		for i, c := range s {
			if strings.ContainsRune("abZ9é日本語ไทย", c) {
				require.True(t, covered[i], "%q at %d", s, i)
			}
		}
	}
}

func TestTokensStopWhenAsked(t *testing.T) {
	for _, s := range []string{"a b", "日本語", "日 本", "? + !"} {
		n := 0
		for range Tokens(s) {
			n++
			break
		}
		require.Equal(t, 1, n)
	}
}

// Tokens stand in the text where they say, in order, without overlap but for pairs, and no letter
// or digit is left out.
func FuzzTokens(f *testing.F) {
	f.Add("(see v1.2), 22時 \xff\xfe ''")
	f.Fuzz(func(t *testing.T, s string) {
		last, end := 0, 0
		between := func(from, to int) { // what belongs to no token has neither letter nor digit
			if from < to && strings.ContainsFunc(s[from:to], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				t.Fatalf("%q: %q is in no token", s, s[from:to])
			}
		}
		for tok := range Tokens(s) {
			if tok.Text == "" || tok.At < last || tok.At+len(tok.Text) > len(s) || s[tok.At:tok.At+len(tok.Text)] != tok.Text {
				t.Fatalf("%q: token %q at %d", s, tok.Text, tok.At)
			}
			if tok.Kind != Pair && tok.At < end {
				t.Fatalf("%q: token %q at %d overlaps the one before", s, tok.Text, tok.At)
			}
			between(end, tok.At)
			last, end = tok.At, tok.At+len(tok.Text)
		}
		between(end, len(s))
	})
}

func TestCompose(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""}, {"plain", "plain"}, {"cafe\u0301 \u0301", "café \u0301"}, {"\u0301a", "\u0301a"},
		{"Vie\u0323\u0302t Vie\u0302\u0323t", "Việt Việt"},                  // in either order
		{"a\u0301\u0301", "á\u0301"},                                        // the second is blocked
		{"\u1112\u1161\u11ab\u1100\u116e\u11a8 \ud55c", "한국 한"},             // Hangul
		{"か\u3099 ハ\u309a й й и\u0306 ё е\u0308", "が パ й й й ё ё"},          // Kana, Cyrillic
		{"<\u0338 \u0627\u0653 α\u0313\u0301", "<\u0338 \u0622 \u1f04"},     // no symbols; Arabic, Greek
		{"e\u0301\xff\u0301", "é\xff\u0301"}, {"\xffe\u0301", "\xff\u00e9"}, // what is no text stays
	} {
		require.Equal(t, c[1], Compose(c[0]), "%q", c[0])
	}
	zalgo := "e" + strings.Repeat("\u0301\u0323", 1<<15)
	require.Equal(t, Compose(zalgo), Compose(Compose(zalgo)))
}
