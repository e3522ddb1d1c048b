package facts

import (
	"context"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func whyRefused(merged string, sources []string) string {
	why, err := Changed(context.Background(), merged, sources)
	if err != nil {
		panic(err)
	}
	return why
}

func TestC8_Form(t *testing.T) {
	for _, same := range [][2]string{
		{"Lena prefers e-mail.", "Lena prefers e-mail"},
		{"cafe\u0301", "café"},
		{"Vie\u0323\u0302t", "Việt"},
		{"Vie\u0302\u0323t", "Việt"},
		{"\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"},
		{"か\u3099", "が"},
		{"a \t\u00a0 b", "a b"},
		{"“Run” it’s", "\"Run\" it's"},
		{"10\u202f000 km", "10 000 km"},
		{"a  \r\nb \n\n", "a\nb"},
		{"one two thre\u0301.", "one two thré"},
	} {
		require.Equal(t, Form(same[1]), Form(same[0]), "%q %q", same[0], same[1])
	}
	for _, differ := range [][2]string{
		{".5 ml", "5 ml"}, {"!= 200", "= 200"}, {".env", "env"}, {"~/keys", "/keys"}, {"bit.ly/AbCdEf", "abcdef"}, {"-V", "-v"},
		{"5 Mb", "5 MB"}, {"10 mW", "10 MW"}, {"(500)", "500"}, {"Max pays", "maximum pays"}, {"tensorflow", "tensorfloww"},
		{"Ayer llamó a Marta", "Ayer llamó Marta"}, {"able to", "may"}, {"the train in Paris", "the Paris train"},
		{"–5", "-5"}, {"git add .", "git add"}, {"Polish", "polish"}, {"yes no.", "yes no"}, {"a b c..", "a b c."}, {"a b c..", "a b c"},
		{"see section 5.", "see section 5"}, {"if x:\n  y\nz", "if x:\n  y\n  z"}, {"a\nb", "a b"}, {" a", "a"}, {"a\n\nb", "a\nb"},
		{"1,000", "1000"}, {"one", "1"}, {"don't", "do not"}, {"e-mail", "email"}, {"straße", "strasse"}, {"İ", "I"}, {"Does Ruth pay", "Does Ruth pay?"},
		{"x \u2260 y", "x = y"}, {"<\u0338", "<"}, {"…", "..."}, {"ﬁn", "fin"}, {"２", "2"}, {"a\u200bb", "ab"},
	} {
		require.NotEqual(t, Form(differ[1]), Form(differ[0]), "%q %q", differ[0], differ[1])
	}
}

// The form of a form is itself, and putting in what the form takes out changes nothing.
func TestC8_FormIsIdempotentAndStable(t *testing.T) {
	alphabet := []rune("ab  .\t\n\r\u00a0“’\"é\u0301\u0323e\u1112\u1161\u11ab한-–5日\ufffd")
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		runes := make([]rune, r.IntN(16))
		for i := range runes {
			runes[i] = alphabet[r.IntN(len(alphabet))]
		}
		s := string(runes)
		f := Form(s)
		require.Equal(t, f, Form(f), "%q", s)
		require.Equal(t, Form(s), Form(s+" "), "%q", s)
		require.True(t, utf8.ValidString(f))
	}
}

func FuzzForm(f *testing.F) {
	f.Add("\u0301e\u0301 “a” \u1112\u1161.\xff")
	f.Add("0 n")   // a word that denies, and no unit
	f.Add("0 C'A") // words of which one is elided
	f.Fuzz(func(t *testing.T, s string) {
		if once := Form(s); once != Form(once) {
			t.Fatalf("%q: %q, then %q", s, once, Form(once))
		}
		if why := whyRefused(s, []string{s, s}); why != "" && utf8.ValidString(s) { // as all entries are
			t.Fatalf("%q loses a fact to itself: %s", s, why)
		}
		if why, _ := Unsupported(context.Background(), s, []string{s}); why != "" && utf8.ValidString(s) {
			t.Fatalf("%q does not say what it says: %s", s, why)
		}
	})
}
