// Command convert turns the files of two public data sets into the form of package dataset, which
// bench/recall reads. The files are not part of this repository.
//
//	go run -C bench/recall ./convert -locomo locomo10.json > locomo.jsonl
//	go run -C bench/recall ./convert -longmemeval longmemeval_s.json > longmemeval.jsonl
//
// # LoCoMo
//
// The file is a list of conversations of two people. Each becomes a memory, its turns become the
// entries under their own ids ("D1:3"), at the time of their session. The caption that the data set
// gives a shared picture stands in the text. What the data set observes of a turn is what it says in other words. Questions of category 5 have no answer in the
// conversation and are left out, and so are questions without evidence. Turns without a text are left
// out in both data sets.
//
// # LongMemEval
//
// The file is a list of questions, each with chat sessions of its own, so that each question becomes
// a memory. A turn is an entry; its id is made of the places of its session and of the turn ("4:0").
// The evidence are the turns that the data set marks with has_answer. Questions about what was never
// said (their ids end in "_abs"), and those without a marked turn, are left out.
//
// What is left out is counted on standard error.
package main
