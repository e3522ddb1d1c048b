// Package dataset is the form of a data set for measuring retrieval: JSON Lines in UTF-8, where
// each line is an entry or a question.
//
//	{"entry": "n1", "ref": "team", "at": "2025-01-06T08:52:00Z", "speaker": "Mira", "tags": ["infra"], "text": "staging moved to port 6432"}
//	{"question": "q1", "ref": "team", "lang": "en", "category": "latest", "heldout": true, "evidence": ["n1"], "text": "which port has staging?"}
//
// An entry has
//
//   - entry: its id, which no other entry of its ref has;
//   - ref: the memory that it belongs to. A question is asked over the entries of its own ref and no
//     others. It may be left out, which is a memory too;
//   - at: when it was written, RFC 3339;
//   - speaker: who said it. It may be left out;
//   - tags: labels. They may be left out;
//   - text: what was said;
//   - other: what a model says of it in other words. It may be left out.
//
// A question has
//
//   - question: its id, which no other question of its ref has;
//   - ref: as above;
//   - lang: its language as an ISO 639-1 code. It may be left out;
//   - category: a name by which questions are counted together;
//   - heldout: true if its answers are not looked at while a ranker is worked on;
//   - evidence: the ids of all entries of its ref that it takes to answer, at least one;
//   - text: the question.
//
// Entries and questions may come in any order. Fields that are not named here are refused, so that a
// misspelt one is found.
package dataset
