// Package redact takes secrets out of text before anything is stored.
//
// A [SecretRegistry] holds the secrets that a run resolved and is at the same time the redactor:
// every occurrence of a registered value is replaced by the marker [REDACTED:<secretId>]. A
// registry belongs to one run. It closes after the run's last write and before its terminal event;
// a background pass opens one of its own, filled with the tenant's secrets (R6).
//
// # Guarantees
//
//   - R1: no registered value is a substring of any output, also not one that a marker completes. A
//     value for which that cannot be kept, because it occurs in marker text, closes the registry,
//     which from then on refuses all text. If it was registered as optional, it alone is refused.
//   - R2: leftmost, longest first. Overlapping occurrences are covered as one union, with one
//     marker for each value that extends it, so that no tail of a partly overlapped value is left.
//   - R3: one marker form, with ids of at most 64 bytes from [A-Za-z0-9._:/-]. Those that begin with
//     "shape." name shapes, and cannot be registered. Redacting an output again under the same
//     secrets changes nothing.
//   - R4: [SecretRegistry.NewWriter] gives the result of the whole text for every chunking. It
//     holds back fewer bytes than the longest form of the longest value has, in the text at hand;
//     with [Config.Shapes] it holds back the whole text.
//   - R5: [SecretRegistry.RedactDerived] also replaces leak forms ([BYOK:…], <REDACTED:…>) and
//     well-known shapes of secrets (shapes.txt), by markers such as [REDACTED:shape.github]. With
//     [Config.Shapes] every other redaction does so too.
//   - R6: a closed registry fails closed: every call returns [ErrClosed].
//   - R7: encoded forms of a value are found as well; see below.
//
// [SecretRegistry.Register] protects the value: the host has the promise that nothing is stored
// while a value which it counts on could show, and pays with a registry that refuses all text once
// a value and marker text collide. That suits secrets that the host issued itself.
// [SecretRegistry.RegisterOptional] protects everybody else: where users choose their secrets, one
// that chose "REDACTED" loses the protection of that value and stops no other.
//
// # Encoded forms
//
// Unless [Config.PlainOnly] is set, these forms of each value are replaced too:
//
//   - the inside of a JSON string: as JavaScript, Go, Python, PHP, Ruby, Jackson, Gson, Newtonsoft,
//     System.Text.Json, Django and Rails write it by default or for HTML or ASCII, and with + / = <
//     > & ' or all but ASCII escaped, in either case of hex digits;
//   - percent-encoding, with either case of hex digits: RFC 3986 (all but its unreserved
//     characters), Go's url.PathEscape, url.QueryEscape, url.UserPassword and the path of a
//     url.URL, JavaScript's encodeURIComponent, encodeURI and URLSearchParams, Python's quote and
//     quote_plus, PHP's urlencode, Java's URLEncoder and .NET's UrlEncode;
//   - HTML and XML text and attributes: & < > " ' and + ` = as character references, as browsers,
//     Go, Python, PHP, Ruby, React, lodash, Handlebars and libxml2 write them;
//   - base64, standard and URL alphabet, at each of the three alignments that the value can have
//     within a longer encoded text, also broken into lines at any column, with up to 32 blanks and
//     line ends at each break. Found are the characters which the value alone determines; up to
//     four bits of it can be left in the characters beside them;
//   - hex, in any mixture of cases.
//
// The list is closed. A value that was split, reversed, compressed, encrypted, double-encoded, or
// written in another case or Unicode normal form is not found.
//
// # What is over-covered
//
// A value that begins with what can be the end of a marker, such as "]" or "key]", or ends with the
// start of one, such as "[", could be completed by a marker beside it. Such a value is covered
// without that part as well, wherever the rest occurs. If fewer than six bytes were left, it counts
// as marker text where a marker does end so.
//
// # Reading the code
//
// In this order, each file is used by those before it: registry.go and redact.go are what hosts
// call; secrets.go holds what is registered; forms.go makes the forms of a value; marker.go says
// why the output holds none of them, and clash.go, by way of substrings.go, finds the values for
// which that would fail.
// scan.go looks for the forms of all values in a text, by way of index.go and, where a text is
// hostile, automaton.go. stream.go does the same in pieces. shapes.go and shapes_match.go find
// secrets by their shape; shapes.txt lists their kinds.
//
// # Cost and concurrency
//
// The time for any text grows with its length only: a filter skips most of it in
// steps, what the filter suspects is compared, and on text that was made to resemble the secrets
// everywhere an automaton takes over, with about 20 bytes for each byte of all forms. With encoded
// forms a text is searched twice, and once more if hex is in it. A stream looks again at what it
// holds back whenever more comes, so pieces of some kilobytes are faster than small ones.
//
// Registering and unregistering take a time that depends on the value, the id and its other values,
// and next to nothing on how many others there are or how they look. A refused value leaves
// only its id, in [SecretRegistry.Uncovered]. The first redaction after a change prepares all
// secrets anew. So register first and redact then.
//
// A [SecretRegistry] may be used by any number of goroutines; changes to it wait for the redactions
// that are under way, and a redaction that begins after Register has returned covers the new value.
// A writer belongs to one goroutine at a time.
package redact
