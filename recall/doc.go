// Package recall finds the entries of a memory that answer a question.
//
// A host gives a bank a [Ranker], and asks by memory.Bank.Recall, memory.Run.Recall or
// memory.Bank.RecallAsOf:
//
//	bank, err := memory.New(store, memory.Config{Ranker: recall.New(recall.Config{})})
//	hits, err := bank.Recall(ctx, tenant, ref, memory.Search{Text: "when does the lease end?"})
//
// # How it ranks
//
// Entries are ranked by BM25 over the words of their content and their tags: a word counts
// for more the fewer entries have it, and a word in a tag counts twice. Newer entries come
// first among those that match alike: an entry a year older than the newest one that matches
// loses one part in forty, and none loses more than one in twenty.
//
// Words are compared in lower case and without accents of letters being decomposed or not.
// Words of English letters lose their endings (see [Ranker.Version] for the rules' version),
// so that "leases" finds "lease"; any other word is compared whole. Scripts without blanks
// between words, such as Chinese, Japanese and Thai, are compared by pairs of characters.
// What has a digit or a symbol in it (a number, a path, a version, an identifier) is
// compared whole, and an identifier of several words by each of them too. Words that English
// questions are made of, such as "what" and "the", count only in a question that has no
// others.
//
// # Guarantees
//
//   - S1: an answer has only what a list of the same ref would show: the bank reads every hit
//     through the view at hand. A ranker cannot show anything else.
//   - S2: the same view, question and version of the ranker give the same answer: the counts
//     behind BM25 are those of the view, not of what the process has seen.
//   - S3: what is erased leaves the process's index with the next question about its ref, and
//     by [Ranker.Sweep], which a host gives to memory.Bank.Keep. What was purged
//     leaves it with the first sweep after the horizon of the store has passed the instant at
//     which the index was made.
//   - S4: an index is of one ref of one tenant. Nothing else moves its ranking.
//
// # Cost
//
// The index is a cache in the process, never the truth: some 300 bytes for an entry of a
// hundred characters, in least recently used order within Config.MaxBytes. The first question
// reads the ref once; after that, questions read what has changed since, if the store offers
// driver.Changes. Otherwise every question reads the ref.
package recall
