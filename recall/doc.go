// Package recall finds the entries of a memory that answer a question.
//
// A host gives a bank a [Ranker], and asks by memory.Bank.Search, memory.Run.Search or
// memory.Past.Search:
//
//	ranker, err := recall.New(recall.Config{})
//	…
//	bank, err := memory.New(store, memory.Config{Ranker: ranker})
//	hits, err := bank.Search(ctx, tenant, ref, memory.Search{Text: "when does the lease end?"})
//
// A host that has a model also finds by meaning:
//
//	ranker, err := recall.New(recall.Config{Embedder: model, Redactor: secretsOf})
//	bank, err := memory.New(store, memory.Config{Ranker: ranker})
//	go bank.Keep(ctx, time.Minute)
//
// Then lists can be ranked by relevance too (RFC 0113). A model can also say in other words what entries say:
//
//	ranker, err := recall.New(recall.Config{Expander: model, Redactor: secretsOf})
//
// # How it ranks by words
//
// Entries are ranked by BM25 over the words of their content and their tags: a word counts
// for more the fewer entries have it, and a word in a tag counts twice. What entries have beside their
// words decides between those that match:
//
//   - An entry gains half as much again if the question names a word of one of its subjects.
//   - A weekday, a day, a month or a year that the question names counts for the entries that were made
//     then (in English and in UTC).
//   - An entry gains a fifth of what a neighbour has that is among the thirty best, and a tenth of what the
//     neighbour behind that has. Neighbours were made one after the other, within half an hour.
//   - An entry a year older than the newest one that matches loses one part in forty, and none loses more
//     than one in twenty.
//   - An entry that a merge made of two others gains one part in forty, and none gains more than one in
//     twenty; what a compaction made gains nothing.
//
// Words are compared in lower case and, in the Latin script, without their accents, so that
// "Zurich" finds "Zürich". Words of English letters lose their English endings, so that "leases"
// finds "lease", and words of Cyrillic letters their Russian ones; any other word is compared whole. Scripts without blanks
// between words, such as Chinese, Japanese and Thai, are compared by pairs of characters.
// What has a digit or a symbol in it (a number, a path, a version, an identifier) is
// compared whole, and an identifier of several words by each of them too; 12500 and 12,500 are the same
// number. Words that
// questions are made of, such as "what" and "the", count only in a question that has no
// others: those of English, and of German, Spanish, French, Russian and Chinese where they are no
// words of English.
//
// # How it ranks by other words
//
// An [Expander] says what an entry says in other words, and memory.Bank.Maintain stores them. A question in
// those words finds the entry too: they are a field of their own, ranked by BM25 likewise, and count a third of
// what the entry's own words count. An entry that only they find has no Hit.Terms, since it does not say them.
// They begin to count when vectors do.
//
// # How it ranks by meaning
//
// An [Embedder] turns a text into a vector, and memory.Bank.Maintain stores one for each entry, see
// [Ranker.Attach]. A question is compared with all of them, by the cosine of the angle between
// them, in whole numbers of eight bits: there is no approximate index, in which what was
// removed could live on. What points away from the question is left out. Unless Search.Rank
// asks for one of them, the ranking by words and that by meaning are fused by reciprocal rank:
// an entry counts 1/(60+its place) by words, and a weight times that by meaning, up to the thousandth place.
//
// The weight is Config.Weight, or the ranker sets it for each entry: nearly nothing if the entry is no nearer
// to the question than the nearest of as many random vectors would be, and 1 if it stands out clearly. A
// model that finds the best by words near too is trusted with less. So a weak model, or one that does not
// know the language, hardly moves what the words find.
//
// A vector, or another word, begins to count in live memory when it is stored, and in the view of a run if it was
// stored a minute before the run began; never in what the run wrote itself. Until then an entry
// is found by its own words only. So a run, in each process that resumes it, and its replay rank by the same
// vectors and words. The clocks of processes that share a store must agree within half a minute.
//
// # Guarantees
//
//   - S1: an answer has only what a list of the same ref would show: the bank reads every hit
//     through the view at hand. A ranker cannot show anything else.
//   - S2: the same view, question and version of the ranker give the same answer: the counts
//     behind BM25 are those of the view, not of what the process has seen, and so are the
//     vectors and other words of a run's view. For live memory, those that are stored are part of the
//     view. An Embedder must give the same vector for the same text whenever it is asked.
//   - S3: what is erased leaves the store with its vectors and its other words, by one mutation. It leaves the
//     process's index with the next question about its ref, and by each round of
//     memory.Bank.Maintain, and the image by the mutation that erases. What was purged leaves it with the first round after the
//     horizon of the store has passed the instant at which the index was made. If memory.Bank.Scrub finds a secret
//     only in the other words for an entry, it removes them; an index that has read them before forgets
//     them with its process, or with the entry.
//   - S4: an index is of one ref of one tenant. Nothing else moves its ranking.
//   - M3: models see redacted text only, of entries and of questions, and other words are redacted before they
//     are stored.
//
// # Errors
//
// A model that fails, panics, hangs or gives what are no vectors or no texts fails the question with
// [memory.ErrInternal], and likewise the pass, which leaves nothing half done. A question by
// meaning is never answered by words instead; a host that wants that asks again with
// Search.Rank "lexical". The text of an error holds nothing of what the model said;
// errors.Unwrap gives that.
//
// # Cost
//
// The index is a cache in the process, never the truth. It takes some 300 bytes for an entry of
// a hundred characters, and a byte more for each dimension of its vector. Beyond Config.MaxBytes
// the index that was used least recently goes. After the first question, questions read what has
// changed since, if the store offers driver.Changes; otherwise every question reads the ref.
// In the store a vector takes four bytes for each three dimensions, and other words their length. An index
// reads both when it is made: they are in no image. A question by meaning
// goes through all vectors of the ref, so that its time grows with their number; docs/operating.md
// in the repository has measured figures.
//
// The first question about a ref reads the image of its index, which the rounds of memory.Bank.Maintain
// write, and what has changed since; without one it reads the whole ref, and if its caller gives up, the
// work goes on for the next question. A ref has an image from 256 entries on. It is written again after as
// many changes or a change of one entry in 64, and after any erasure or purge in the ref, which removes
// it in its own mutation. A process with other rules for words does not read it. It
// takes some 170 bytes for an entry of 200. A put pays nothing for it.
//
// An image holds no text: the ids of entries, instants and numbers, and of words, tags and subjects digests
// for which the ref is the salt. All of that is written in symbols, in which no redactor could find a
// secret. So it is written without Config.Redactor too. An entry in which a secret is found later takes
// the image with it when it is erased.
//
// # Map
//
//   - recall.go: the ranker, and how an answer is made. cache.go: the index of a ref, brought up
//     to date. index.go: what is known of a ref, and what a view shows of it.
//   - rank.go: ranking by words, which internal/text takes out of texts.
//   - meaning.go: ranking by meaning. vector.go: vectors. made.go: what models make,
//     vectors and other words, as it is stored and read.
//   - upkeep.go: the rounds, and the pass in which models are asked. image.go: images.
package recall
