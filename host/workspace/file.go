package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// DefaultContentType is that of a file whose writer named none.
const DefaultContentType = "text/markdown"

// MaxContentType is the length of the longest content type, in bytes.
const MaxContentType = 256

// File is a version of a file. Its JSON form is the protocol's WorkspaceFile, or without
// the content a row of a list.
type File struct {
	Path        string    `json:"path"`
	Content     string    `json:"content"`
	ContentType string    `json:"contentType"`
	Version     int64     `json:"version"`   // from 1
	ETag        string    `json:"etag"`      // with its quotes
	UpdatedAt   time.Time `json:"updatedAt"` // in whole milliseconds, UTC
	// Subjects are the labels under which memory.Bank.Forget finds the file.
	Subjects []string `json:"-"`
}

// Draft is a version to be written.
type Draft struct {
	// Path has 1 to 256 of the characters A-Z, a-z, 0-9, ".", "_", "/" and "-", begins with a
	// letter or a digit, and has no segment "." or ".." and no empty one.
	Path string
	// Content is UTF-8 without U+0000.
	Content string
	// ContentType is [DefaultContentType] if it is empty.
	ContentType string
	// Subjects are those of memory.Draft. A version has its own.
	Subjects []string
	// IfMatch, if set, is the ETag that the file must have; "*" is any, so that the file
	// must be there.
	IfMatch string
	// IfNoneMatch says that there must be no such file.
	IfNoneMatch bool
}

var pathForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$`)

func validPath(path string) bool {
	return pathForm.MatchString(path) &&
		!slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." || s == ".." })
}

// The documents of a file. Its current version is under its path and earlier ones are under
// path@version, where "@" is in no path; all are host text, by whose subjects Forget finds
// them. The head, machinery under its path, outlives them: it has the last version. If the
// document under the path is gone, and not by a delete, the newest earlier version is current.
const (
	fileKind = "workspace/file"
	headKind = "workspace/head"
)

const format = 1

// stored is the value of a version.
type stored struct {
	Format      int    `json:"format"`
	ContentType string `json:"type"`
	Version     int64  `json:"version"`
	At          int64  `json:"at"` // Unix milliseconds
	Content     string `json:"content"`
}

// head is the value of a head.
type head struct {
	Format  int   `json:"format"`
	Version int64 `json:"version"`
	Deleted bool  `json:"deleted,omitempty"` // by its last version
}

// headOf reads a head out of its document.
func headOf(d *driver.Document) (h head, err error) {
	if json.Unmarshal(d.Value, &h) != nil || h.Format != format {
		return head{}, errFormat
	}
	return h, nil
}

func versionKey(path string, version int64) string {
	return path + "@" + strconv.FormatInt(version, 10)
}

// namesOf reads the path out of the key of a document, and the version of an earlier one; of
// the document under the path itself it is 0.
func namesOf(key string) (path string, version int64) {
	path, digits, _ := strings.Cut(key, "@")
	version, _ = strconv.ParseInt(digits, 10, 64)
	return path, version
}

// fileOf reads a version out of its document.
func fileOf(path string, d *driver.Document) (File, error) {
	var s stored
	if json.Unmarshal(d.Value, &s) != nil || s.Format != format || s.Version < 1 {
		return File{}, errFormat
	}
	return File{
		Path: path, Content: s.Content, ContentType: s.ContentType, Version: s.Version,
		ETag: etag(s), UpdatedAt: time.UnixMilli(s.At).UTC(), Subjects: d.Subjects,
	}, nil
}

// etag is of what is stored, so that it moves when a scrub redacts the file.
func etag(s stored) string {
	sum := sha256.Sum256([]byte(strconv.FormatInt(s.Version, 10) + "\n" + s.ContentType + "\n" + s.Content))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}
