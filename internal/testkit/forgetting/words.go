package forgetting

import (
	"encoding/base64"
	"math/rand/v2"
)

// Words are what a host is told about a subject, by role: its label, a tag, and the first word of
// each text about it. None of them occurs anywhere else.
type Words map[string]string

var roles = []string{"label", "tag", "file", "plain", "deleted", "superseded", "merged", "restored", "distilled", "killed", "shared"}

// NewWords returns random words for a subject.
func NewWords() Words {
	w := Words{}
	for _, role := range roles {
		letters := make([]byte, 24)
		for i := range letters {
			letters[i] = 'a' + byte(rand.IntN(26))
		}
		w[role] = string(letters)
	}
	return w
}

// Inflected is what the model of a [Host] makes of a word, so that a derived text has words of its own.
func Inflected(word string) string { return word + "s" }

func vectorOf(word string) string {
	return base64.StdEncoding.EncodeToString([]byte("vector of " + word))
}

// Stored returns the words that a store holds after [Host.Tell] and [Host.TellLate].
func (w Words) Stored() (words []string) {
	for _, role := range roles {
		words = append(words, w[role])
	}
	for _, role := range []string{"merged", "restored", "distilled", "shared"} {
		words = append(words, Inflected(w[role]))
	}
	return append(words, vectorOf(w["plain"]))
}

// Forgotten returns the words that no store may hold after the subject was forgotten: those that were
// told and those that a pass can have made of them.
func (w Words) Forgotten() (words []string) {
	for _, role := range roles {
		if role != "shared" {
			words = append(words, w[role])
		}
		words = append(words, Inflected(w[role]), vectorOf(w[role]))
	}
	return words
}

// SharedRef is the ref of what is known from elsewhere too. It has none of the words.
func (w Words) SharedRef() string { return "shared-" + w["plain"][:4] }
