// Package consolidate reconciles an agent's standing memory: it merges entries that
// say the same, and lets a newer fact supersede an older one (RFC 0068). What was merged into
// an entry corroborates it, and package distill weighs it by that. It is not distillation,
// which turns much recent memory into little under a token budget (RFC 0062).
//
//	merger, err := consolidate.New(consolidate.Config{})
//	…
//	err = bank.Pass(ctx, pass, func(job *memory.Job) error {
//		done, err := merger.Run(ctx, job, "support", consolidate.Options{})
//		fmt.Println(done.InputCount, "notes,", done.Merged, "merged")
//		return err
//	})
//
// A [Consolidator] makes one pass over one ref with a [memory.Job]: it reads the live
// entries, plans, commits group by group, and announces the pass by one event. A pass over
// an unchanged corpus reads no entry: the store says what has changed since the last one.
// [Consolidator.Plan] alone is the dry run: a [Plan] is a value, and every [Group] in it
// explains itself. [Consolidator.Undo] takes a pass back.
//
// # What is decided here
//
// The default planner, [Rules], decides by form and day only. Two entries are merged if they have
// the same tags and the same subjects and their texts are equal in canonical form. The
// form changes four things:
//
//   - A letter and the marks after it become the one character that Unicode composes them
//     to: letters of the Latin, Greek, Cyrillic and Arabic scripts, Kana and Hangul.
//   - A run of blanks between two words of a line becomes one blank; blanks at the end of
//     a line, and blank lines at the end of the text, go.
//   - Typographic double and single quotation marks (“ ” „ ‘ ’ ‚) and typographic spaces
//     become those of ASCII. Guillemets stay.
//   - One full stop at the end goes if it stands after a letter and the text has three
//     words or more.
//
// Everything else makes two entries of them: case, dashes, lines and indentation, numbers
// and dates however they are written, and every character within a word. No list of words
// is part of it.
//
// Equal texts of different days are merged only if they say the same on each of the days. A day
// is the date in UTC of an entry's CreatedAt. Words decide here, and only to keep entries apart:
//
//   - An English text stays apart from those of other days if it has a word or phrase that is
//     relative to its day: "today", "now", "still", "next week", "three days ago", "in a month",
//     "has lived here for a year", a weekday without a date, an age ("is 8", "8 years old"),
//     "is away", "is on holiday" or "is moving". What recurs ("every Monday", "on Mondays"), a
//     duration ("lasts 2 years") and a date with a year are not relative; a tense alone is not.
//   - A date without a year ("on 2 March", "in May") is the same date until it comes round again.
//     That of a birthday, an anniversary or of what is done every year is the same for ever.
//   - A text that is not known to be English stays apart from those of all other days. English is
//     known by some 1,400 common words.
//   - A line that begins with its day, as "2026-03-02: Ann moves tomorrow.", says the same on
//     every day. Package distill writes such lines.
//
// A value of a slot, which a tag declares, supersedes an older one of the same
// slot and the same subjects, if it lives at least as long; see [Rules]. So a pass that merges nothing
// has often met notes that differ in a tag or a subject: these are not compared.
//
// # What a model decides
//
// Whether two texts that differ say the same is not decided here. [Similar] finds groups
// that may, in any language. Where a [Merger] is given, the groups of [Config].Score and
// above are put to it, and it answers with a text or with [ErrDiffer]. A [Planner] of the
// host may add groups of its own to the plan of [Rules], such as those that its embeddings bring
// together.
//
// # What is checked here
//
// Every proposal of a planner or merger is checked, and refused if it breaks a rule (C8,
// C9). All its entries must have the same tags, subjects and, unless they are equal in
// form, the same expiry. They must be of one day if one of them says something relative to
// its day, also before a merger is asked, and so must the text that it writes. At most 32 texts that differ in form, of 256 KiB
// together with the first, become one. The text that stays must have every fact of every source and no other:
//
//   - numbers, each with its sign or operator, its currency and its unit, dates in digits,
//     quotations, identifiers, addresses, paths and flags, exactly as they stand;
//   - capitalised words that are names, months, weekdays, number words, quantifiers, conditions
//     and words such as "may", "would" or "perhaps", up to inflection;
//   - negations, each with a word beside it.
//
// It must have no word with meaning that no source has, up to inflection and to hyphens: "under" for
// "over", "red" for "blue" or "divorced" for "married" is refused. New words may only be
// connecting ones: articles, conjunctions, relative and possessive pronouns, and a pronoun if
// no source has one of the other gender. "Is", "has" and their forms must be in a source. The
// words and endings are those of English, German, French, Spanish and Russian. In Japanese and
// Chinese every character must stand in a pair that a source has, or be of a particle. In other
// languages only the words of the sources may be in the text, and negations are not known.
//
// Nor may a source have the bare word of a negation or identifier that the text has and it
// has not: "not closed" is not merged with "closed", nor "!ok" with "ok". Words and
// numbers that stand beside each other must not stand the other way round in the source that
// has both: "Bob owes Ann" is refused for "Ann owes Bob". So a text that equals a source is
// refused only if it lacks a fact of another source or denies one.
//
// The check errs to refusing. Of sentences in these languages but Chinese that it was not made with,
// it refused 58 of 59 false merges and kept 51 of 58 good ones (TestC8_Merges tells the figures by
// language). It compares words and not sentences, and does not see:
//
//   - who does what, where words that are not beside each other changed places or an ending
//     alone tells it: "Der Hund beißt den Mann" for "Den Hund beißt der Mann";
//   - that an ordinary word is missing: "Lena likes coffee" for "Lena likes coffee with milk";
//   - that a connecting word of one language is a word with meaning in another: "an Anna" for
//     "von Anna".
//
// # Guarantees
//
//   - C1 (CTI-1): a pass reads and writes one scope.
//   - C2: a pass over an unchanged corpus writes no entry and calls no planner or merger.
//     It remembers the digest of the ids that its plan leaves, with the tag that
//     selects them, the versions of planner, merger and redactor, the state of the
//     ref and the next expiry. If the store is a driver.Changes, nothing was touched since that
//     state and nothing has expired, the pass is over in one transaction. After a purge of that
//     state, and without driver.Changes, it reads the ref and compares the digest. When the
//     corpus has changed, a merger is asked again about groups that it said differ.
//   - C3: the default plan is a pure function of the entries in any order.
//   - C4 (SR-1): a merged text is redacted as derived text.
//   - C5: one conditional mutation per group, after one that takes the lease and before one
//     that ends the pass. A write that lands meanwhile survives and is looked at next time; a
//     group that has changed is skipped. A group that retires
//     more than 64 entries in favour of one that stays takes a mutation for each 64.
//   - C6: one agent.memory.consolidated event for each completed pass, also for one that
//     changed nothing, committed with the pass's last mutation under an id made from the
//     job's id and the ref.
//   - C7: a pass takes a [memory.Job], which has no view and is no part of a replay.
//   - C8: facts survive, as said above; what is relative to its day stays with it. Superseding
//     needs the same declared slot, the same subjects and a successor that lives at least as
//     long; the older value stays in the lineage.
//   - C9: entries of different tags or subjects never merge; of different expiry only
//     those equal in form do, and the longest-lived stays.
//   - C10: what a compaction wrote (a tag "compacted-from:…") is neither merged nor
//     retired. The cost of the default plan, of the check and of [Similar] is near-linear
//     in the bytes of any entries, and the context ends them.
//   - E3: crash anywhere, and nothing is lost: each group is whole or absent, and the
//     next pass goes on. A lease, renewed by every mutation, keeps a second process out
//     of the scope, and one that lost it cannot commit.
//
// The lease, the digest, the journal that Undo reads and the list of what was undone
// are documents of the ref, whose kinds or keys begin with "consolidate/". They hold ids and
// counts, and the number of their format.
//
// # Errors
//
// Errors match the classes of package memory: [memory.ErrConflict] while another pass
// holds the scope, [memory.ErrInternal] when a planner or merger fails, panics,
// outlives its deadline or answers far more than can be meant. None holds what an entry
// says; what the host's code said is reachable by [errors.Unwrap]. A group that breaks a
// rule is no error: it is in [Result].Refused with the rule. A document of a newer version of
// this package is [ErrNewerFormat], and stays as it is. Everything in this package is
// safe for concurrent use.
package consolidate
