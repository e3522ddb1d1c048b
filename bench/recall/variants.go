package main

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

// variant is a way to put a question.
type variant struct {
	name string
	text func(q *dataset.Question) string
}

var variants = []variant{
	{"as written", func(q *dataset.Question) string { return q.Text }},
	{"words in another order", shuffled},
	{"with stop words", withStopWords},
}

// shuffled puts the words of a question in another order, always the same one. Text without blanks,
// such as Chinese, stays as it is.
func shuffled(q *dataset.Question) string {
	words := strings.Fields(q.Text)
	seed := fnv.New64a()
	seed.Write([]byte(q.Ref + "\x00" + q.ID))
	rand.New(rand.NewPCG(seed.Sum64(), 1)).Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words, " ")
}

// stopWords are put around a question in its language.
var stopWords = map[string][2]string{
	"de": {"und was ist das mit der", "oder so für uns bei dem"},
	"en": {"and so what is it with the", "or was that for us to have"},
	"es": {"y qué es lo de la", "o era para nosotros en el"},
	"zh": {"那么关于这个", "是什么的呢"},
}

func withStopWords(q *dataset.Question) string {
	added, known := stopWords[q.Lang]
	if !known {
		added = stopWords["en"]
	}
	return added[0] + " " + q.Text + " " + added[1]
}
