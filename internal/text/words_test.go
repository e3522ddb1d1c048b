package text

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStem(t *testing.T) {
	for _, forms := range []string{
		"lease leases leased leasing", "plan plans planned planning", "run runs running", "city cities", "box boxes", "call calls called calling",
		"prefer prefers preferred preferring", "deploy deploys deployed deploying deployment", "hope hopes hoped hoping", "quick quickly", "style styled styling",
		"organize organise organization organisation organized", "happy happily", "dress dresses", "pass passes passed passing", "dance dances dancing danced",
	} {
		words := strings.Fields(forms)
		for _, w := range words {
			require.Equal(t, Stem(words[0]), Stem(w), w)
		}
	}
	for _, apart := range [][2]string{{"bus", "bu"}, {"this", "thi"}, {"sing", "s"}, {"red", "r"}, {"café", "caf"}, {"v1s", "v1"}} {
		require.NotEqual(t, Stem(apart[0]), Stem(apart[1]), apart)
	}
}

func TestTerms(t *testing.T) {
	for in, want := range map[string]string{
		"Lena's e-mail, ÉTÉ café":    "lena e-mail e mail ete caf",
		"getUserById -V ~/keys/.env": "getuserbyid get user by id -v v ~/keys/.env key env",
		"see v1.2 at 22:00, 10,000€": "see v1.2 v 1 2 at 22:00 22 00 10,000€ 10 000 10000",
		"明日 a":                       "明日 明 日 a",
		"x != cafe\u0301":            "x != caf", // with the accent apart
	} {
		require.Equal(t, want, strings.Join(Terms(in), " "), in)
	}
}

// The forms of a Russian word are one term, and short words stay whole.
func TestTermsOfRussianForms(t *testing.T) {
	for _, forms := range []string{
		"книга книги книгу книгой книгами книгах", "договор договора договору договоров договоры", "новый новая новое новые новых новому",
		"платить платит платят платим", "станция станции станцию станцией", "окно окна окну", "меняется меняем",
	} {
		terms := Terms(forms)
		require.Equal(t, slices.Repeat(terms[:1], len(terms)), terms, forms)
	}
	require.Equal(t, []string{"дом", "лес", "час"}, Terms("дом лес час"))
}
