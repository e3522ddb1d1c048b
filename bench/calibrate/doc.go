// Command calibrate makes the samples that package distill's estimator is fitted to: pieces of
// the files of this machine, sorted into kinds of text, each with the exact number of tokens
// that o200k_base counts. From the root of the repository:
//
//	go run -C bench ./calibrate > /tmp/samples.jsonl
//	AGENTMEMORY_CALIBRATE=/tmp/samples.jsonl go test -v -run Calibrate ./distill
//
// It reads Go's own tree and module cache (code, data and documents of many languages),
// /usr/share (translations, manuals, changelogs, licences) and /usr/lib/python3*, or the
// folders that are named instead. A kind takes up to 120 files, chosen by a digest of their
// path, and up to 8 KiB of each. The digest also puts each file into one of two halves: the
// estimator is fitted to one and measured on both.
package main
