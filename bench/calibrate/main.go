package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

const (
	filesOfKind = 120
	partOfFile  = 8 << 10
	block       = 2 << 10
)

// sample is a line of the output.
type sample struct {
	Kind   string `json:"kind"`
	Held   bool   `json:"held"` // not to be fitted to
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

func run(roots []string) error {
	if len(roots) == 0 {
		env, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
		if err != nil {
			return err
		}
		pythons, err := filepath.Glob("/usr/lib/python3*")
		if err != nil {
			return err
		}
		roots = append(append(strings.Fields(string(env)), "/usr/share"), pythons...)
	}
	exact, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	found, err := survey(roots)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		taken := 0
		for _, f := range found[kind] {
			if taken == filesOfKind {
				break
			}
			text, err := f.read()
			if err != nil || len(text) < block/2 || !utf8.ValidString(text) {
				continue
			}
			taken++
			for _, b := range blocks(text) {
				n, err := exact.Count(b)
				if err != nil {
					return err
				}
				if err := out.Encode(sample{kind, f.order[0]&1 == 1, n, b}); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%-12s %4d files\n", kind, taken)
	}
	return nil
}

// file is one of a kind, with the digest of its path below the root, by which files are chosen.
type file struct {
	path  string
	order [sha256.Size]byte
}

// survey sorts the files below the roots into kinds, each in the order of the digests.
func survey(roots []string) (map[string][]file, error) {
	found := map[string][]file{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be read is left out
			}
			below, err := filepath.Rel(root, path)
			if kind := kindOf(filepath.ToSlash(path)); kind != "" && err == nil {
				found[kind] = append(found[kind], file{path, sha256.Sum256([]byte(below))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, files := range found {
		slices.SortFunc(files, func(a, b file) int {
			return cmp.Or(bytes.Compare(a.order[:], b.order[:]), cmp.Compare(a.path, b.path))
		})
	}
	return found, nil
}

var kindByEnd = map[string]string{
	".go": "go", ".c": "c", ".h": "c", ".py": "python", ".js": "javascript", ".sh": "shell", ".bash": "shell", ".sql": "sql",
	".yaml": "yaml", ".yml": "yaml", ".json": "json", ".html": "html", ".css": "css", ".md": "markdown", ".xml": "xml", ".svg": "svg",
	".pm": "perl", ".pl": "perl", ".s": "assembly", ".vim": "vim", ".tcl": "tcl", ".crt": "base64", ".pem": "base64",
}

var languages = map[string]string{
	"ar": "arabic", "cs": "czech", "de": "german", "el": "greek", "es": "spanish", "fa": "persian", "fi": "finnish", "fr": "french",
	"he": "hebrew", "hi": "hindi", "hu": "hungarian", "it": "italian", "ja": "japanese", "ko": "korean", "nl": "dutch", "pl": "polish",
	"pt_BR": "portuguese", "ru": "russian", "sv": "swedish", "th": "thai", "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese",
	"zh_CN": "chinese", "zh_TW": "chinese",
}

// kindOf is the kind of the file of a path; empty if it is of none.
func kindOf(path string) string {
	base := filepath.Base(path)
	if _, rest, ok := strings.Cut(path, "/locale/"); ok && strings.HasSuffix(path, ".mo") {
		language, _, _ := strings.Cut(rest, "/")
		return languages[language]
	}
	if _, rest, ok := strings.Cut(path, "/man/"); ok {
		section, _, _ := strings.Cut(rest, "/")
		if strings.HasPrefix(section, "man") {
			return "manual"
		}
		return languages[section]
	}
	switch {
	case strings.HasPrefix(base, "changelog"):
		return "changelog"
	case base == "copyright" || strings.HasPrefix(base, "LICENSE"):
		return "licence"
	case strings.Contains(path, "/doc/") && (strings.HasPrefix(base, "README") || strings.HasPrefix(base, "NEWS") || strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".txt.gz")):
		return "english"
	}
	return kindByEnd[filepath.Ext(path)]
}

// read returns the text of a file, of which gettext's catalogues have the translations.
func (f file) read() (string, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	switch filepath.Ext(f.path) {
	case ".gz":
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return "", err
		}
		if data, err = io.ReadAll(io.LimitReader(z, 1<<20)); err != nil {
			return "", err
		}
	case ".mo":
		return translations(data), nil
	}
	return string(data), nil
}

// translations are those of a catalogue of gettext, a line each; empty if it is damaged.
func translations(data []byte) string {
	const magic = 0x950412de
	if len(data) < 20 || binary.LittleEndian.Uint32(data) != magic {
		return ""
	}
	number := func(at uint32) uint32 {
		if int64(at)+4 > int64(len(data)) {
			return 0
		}
		return binary.LittleEndian.Uint32(data[at:])
	}
	var b strings.Builder
	table := number(16)
	for i := range number(8) {
		if i == 0 {
			continue // the catalogue's header
		}
		length, at := int64(number(table+8*i)), int64(number(table+8*i+4))
		if at+length > int64(len(data)) {
			return ""
		}
		b.WriteString(strings.ReplaceAll(string(data[at:at+length]), "\x00", "\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// blocks are whole lines from the middle of a text, where no licence is in the way.
func blocks(text string) (all []string) {
	if over := len(text) - partOfFile; over > 0 {
		text = text[over/2:]
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	size := min(len(text), partOfFile)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if size -= len(line); size < 0 {
			break
		}
		if b.WriteString(line); b.Len() >= block {
			all = append(all, b.String())
			b.Reset()
		}
	}
	if b.Len() > block/4 {
		all = append(all, b.String())
	}
	return all
}
