// Package redact takes secrets out of text before anything is stored.
//
// A [SecretRegistry] holds the secrets that a run resolved and is at the same
// time the redactor: every occurrence of a registered value is replaced by the
// marker [REDACTED:<secretId>]. A registry belongs to one run. It closes after
// the run's last write and before its terminal event; a background pass opens
// one of its own, filled with the tenant's secrets (R6).
//
// # Guarantees
//
//   - R1: no registered value is a substring of any output, also not one that a
//     marker completes. A value for which that cannot be kept, because it occurs
//     in marker text, is refused, and from then on the registry refuses all text.
//   - R2: leftmost, longest first. Overlapping occurrences are covered as one
//     union, with one marker for each value that extends it, so that no tail of a
//     partly overlapped value is left.
//   - R3: one marker form, with ids of at most 64 bytes from [A-Za-z0-9._:/-].
//     Redacting an output again under the same secrets changes nothing.
//   - R4: [SecretRegistry.NewWriter] and [SecretRegistry.NewReader] give the
//     result of the whole text for every chunking. They hold back fewer bytes
//     than the longest form of the longest value has.
//   - R5: [SecretRegistry.RedactDerived] also replaces leak forms ([BYOK:…],
//     <REDACTED:…>) and well-known shapes of secrets ([Shapes]).
//   - R6: a closed registry fails closed: every call returns [ErrClosed].
//   - R7: encoded forms of a value are found as well; see below.
//
// # Encoded forms
//
// Unless [Config.PlainOnly] is set, these forms of each value are replaced too,
// by the marker of the same id:
//
//   - the inside of a JSON string: escaped as little as possible, the same with
//     \/ for /, with \u003c \u003e \u0026 as encoding/json writes them, and with
//     \uxxxx (lower-case hex) for everything outside ASCII;
//   - percent-encoding of all bytes but RFC 3986's unreserved ones, with upper or
//     lower-case hex, the same with + for a space, and the set that JavaScript's
//     encodeURIComponent leaves;
//   - base64, standard and URL alphabet, at each of the three alignments that the
//     value can have within a longer encoded text. Found are the characters
//     which the value alone determines; up to four bits of it can be left in the
//     characters on either side;
//   - hex, all lower-case or all upper-case.
//
// The list is closed. A value that was split, reversed, compressed, encrypted,
// double-encoded, or written in another case or Unicode normal form is not found.
//
// # What is over-covered
//
// A value that begins with "]" or ends with "[", or shares more than one
// character with an end of a marker, could be completed by a marker beside it.
// Such a value is covered without that character as well, wherever the rest
// occurs. If fewer than six bytes were left, it is refused as marker text.
//
// # Policies
//
// Under [Rewrite], the default, a secret is replaced by its marker. Under [Reject]
// a text that holds one is refused with [ErrSecretFound], code secret_leakage, and
// nothing of it is returned; a stream ends there with that error.
//
// # Cost
//
// A text without secrets passes at some gigabytes a second, in any number of
// secrets up to ten thousand, and is returned as it is. Encoded forms multiply
// the number of texts looked for by five to fifteen; that costs little up to some
// thousand secrets and about half the speed at ten thousand. Shorter values cost
// more than longer ones. The time for a text grows with its length whatever is in
// it: on text that was made to resemble the secrets everywhere, a registry
// changes to an automaton with about 20 bytes for each byte of all forms. A stream
// looks again at what it holds back whenever more comes, so pieces of some kilobytes
// are faster than small ones, most of all on such text.
//
// Registering is cheap; the first redaction after a change prepares all secrets
// anew, some milliseconds for a thousand. So register first and redact then. A
// registry takes some kilobytes of memory for each secret with its encoded forms,
// about one without them, and a tenth of a megabyte in any case.
//
// # Errors
//
// All errors of this package are [*Error] values to be matched with [errors.Is],
// or come from a wrapped reader or writer. Their texts are fixed and hold neither
// values nor ids, and [Error.ErrorCode] is the protocol's code. No way of printing a
// registry shows more than the number of its secrets.
//
// # Concurrency
//
// A [SecretRegistry] may be used by any number of goroutines. A redaction that
// begins after Register has returned covers the new value. A writer or reader
// belongs to one goroutine at a time.
package redact
