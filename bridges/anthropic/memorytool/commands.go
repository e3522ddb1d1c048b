package memorytool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// MaxLines is the number of lines up to which the tool shows a file.
const MaxLines = 999_999

// command is the input of the tool.
type command struct {
	Command    string  `json:"command"`
	Path       *string `json:"path"`
	ViewRange  []int   `json:"view_range"`
	FileText   *string `json:"file_text"`
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"`
	InsertLine *int    `json:"insert_line"`
	InsertText *string `json:"insert_text"`
	OldPath    *string `json:"old_path"`
	NewPath    *string `json:"new_path"`
}

// refused is what the model is told of a command that cannot be carried out.
type refused string

func (r refused) Error() string { return string(r) }

// Do carries out a command of the tool, given as the input of its tool_use block, and returns the
// text of the tool_result and whether it is an error. A command that is refused changes nothing;
// of one that memory failed in the middle of, the text says that nothing can be said.
func (f *Files) Do(ctx context.Context, input []byte) (text string, failed bool) {
	var c command
	if err := json.Unmarshal(input, &c); err != nil {
		return "Error: the input is not a command of the memory tool", true
	}
	text, err := f.do(ctx, &c)
	if err == nil {
		return text, false
	}
	why := refused("")
	switch {
	case errors.As(err, &why):
		return string(why), true
	case errors.Is(err, memory.ErrValidation):
		return "Error: memory cannot hold this text (" + err.Error() + ")", true
	case errors.Is(err, memory.ErrNotProvided):
		return "Error: this memory cannot be changed", true
	case errors.Is(err, memory.ErrStorageLimit):
		return "Error: memory is full. Delete files first.", true
	case errors.Is(err, memory.ErrSecretLeakage):
		return "Error: the path or the text holds a secret and was not stored", true
	}
	return "Error: memory is not available. Nothing can be said of whether the change was made.", true
}

func (f *Files) do(ctx context.Context, c *command) (string, error) {
	switch {
	case c.Command == "view" && c.Path != nil:
		return f.view(ctx, *c.Path, c.ViewRange)
	case c.Command == "create" && c.Path != nil && c.FileText != nil:
		return f.edit(ctx, func() (string, error) { return f.create(ctx, *c.Path, *c.FileText) })
	case c.Command == "str_replace" && c.Path != nil && c.OldStr != nil:
		text := ""
		if c.NewStr != nil {
			text = *c.NewStr
		}
		return f.edit(ctx, func() (string, error) { return f.replace(ctx, *c.Path, *c.OldStr, text) })
	case c.Command == "insert" && c.Path != nil && c.InsertLine != nil && c.InsertText != nil:
		return f.edit(ctx, func() (string, error) { return f.insert(ctx, *c.Path, *c.InsertLine, *c.InsertText) })
	case c.Command == "delete" && c.Path != nil:
		return f.edit(ctx, func() (string, error) { return f.delete(ctx, *c.Path) })
	case c.Command == "rename" && c.OldPath != nil && c.NewPath != nil:
		return f.edit(ctx, func() (string, error) { return f.rename(ctx, *c.OldPath, *c.NewPath) })
	}
	return "", refused("Error: unknown command, or a parameter of it is missing")
}

func missing(p string) error {
	return refused("The path " + p + " does not exist. Please provide a valid path.")
}

// at returns a path in its normal form. One that is not valid is one that does not exist.
func at(p string) (string, error) {
	clean, ok := normal(p)
	if !ok {
		return "", refused("Error: The path " + strconv.Quote(p) + " is not valid: it must be below " + Root)
	}
	return clean, nil
}

// file returns a file that must be there.
func (f *Files) file(ctx context.Context, p string) (string, file, error) {
	clean, err := at(p)
	if err != nil {
		return "", file{}, err
	}
	e, ok, err := f.read(ctx, clean)
	if err == nil && !ok {
		err = refused("Error: The path " + clean + " does not exist. Please provide a valid path.")
	}
	return clean, e, err
}

func (f *Files) view(ctx context.Context, p string, lines []int) (string, error) {
	clean, err := at(p)
	if err != nil {
		return "", err
	}
	if clean != Root {
		e, ok, err := f.read(ctx, clean)
		if err != nil {
			return "", err
		}
		if ok {
			return show(clean, e.Content, lines)
		}
	}
	files, err := f.all(ctx)
	if err != nil {
		return "", err
	}
	return list(clean, files)
}

// show is a file with the numbers of its lines.
func show(p, text string, span []int) (string, error) {
	lines := strings.Split(text, "\n")
	if len(lines) > MaxLines {
		return "", refused(fmt.Sprintf("File %s exceeds maximum line limit of %d lines.", p, MaxLines))
	}
	first, last := 1, len(lines)
	if span != nil {
		if len(span) != 2 {
			return "", refused("Error: Invalid `view_range` parameter: it should be two line numbers")
		}
		first, last = span[0], span[1]
		if last == -1 {
			last = len(lines)
		}
		if first < 1 || first > len(lines) || last < first {
			return "", refused(fmt.Sprintf("Error: Invalid `view_range` parameter: [%d, %d]. It should be within the range of lines of the file: [1, %d]", span[0], span[1], len(lines)))
		}
		last = min(last, len(lines))
	}
	return "Here's the content of " + p + " with line numbers:\n" + numbered(lines, first, last), nil
}

func numbered(lines []string, first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "%6d\t%s\n", n, lines[n-1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list is a directory, two levels deep, with the sizes of what is in it.
func list(dir string, files map[string]*file) (string, error) {
	sizes := map[string]int{}
	for p, e := range files {
		below, ok := strings.CutPrefix(p, dir+"/")
		if !ok {
			continue
		}
		sizes[dir] += len(e.Content)
		parts := strings.Split(below, "/")
		if slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, ".") || s == "node_modules" }) {
			continue
		}
		for depth := 1; depth <= min(2, len(parts)); depth++ {
			sizes[dir+"/"+strings.Join(parts[:depth], "/")] += len(e.Content)
		}
	}
	if _, ok := sizes[dir]; !ok && dir != Root {
		return "", missing(dir)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Here're the files and directories up to 2 levels deep in %s, excluding hidden items and node_modules:\n", dir)
	fmt.Fprintf(&b, "%s\t%s", size(sizes[dir]), dir)
	delete(sizes, dir)
	for _, p := range slices.Sorted(maps.Keys(sizes)) {
		fmt.Fprintf(&b, "\n%s\t%s", size(sizes[p]), p)
	}
	return b.String(), nil
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n)
	case n < 1<<20:
		return fmt.Sprintf("%.1fK", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1fM", float64(n)/(1<<20))
}

// free fails unless a file can be made at a path.
func (f *Files) free(ctx context.Context, p, exists string) error {
	if p == Root {
		return refused(exists)
	}
	files, err := f.all(ctx)
	if err != nil {
		return err
	}
	for other := range files {
		if other == p || strings.HasPrefix(other, p+"/") {
			return refused(exists)
		}
		if strings.HasPrefix(p, other+"/") {
			return refused("Error: " + other + " is a file and not a directory")
		}
	}
	return nil
}

func (f *Files) create(ctx context.Context, p, text string) (string, error) {
	clean, err := at(p)
	if err != nil {
		return "", err
	}
	if err := f.free(ctx, clean, "Error: File "+clean+" already exists"); err != nil {
		return "", err
	}
	d := version(clean, text)
	if f.cfg.Subjects != nil {
		d.Subjects = f.cfg.Subjects(clean)
	}
	if err := f.cfg.Memory.putAll(ctx, f.cfg.Ref, []memory.Draft{d}); err != nil {
		return "", err
	}
	return "File created successfully at: " + clean, nil
}

func (f *Files) replace(ctx context.Context, p, before, after string) (string, error) {
	clean, e, err := f.file(ctx, p)
	if err != nil {
		return "", err
	}
	if before == "" || !strings.Contains(e.Content, before) {
		return "", refused(fmt.Sprintf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", before, clean))
	}
	head, tail, _ := strings.Cut(e.Content, before)
	if strings.Contains(e.Content[len(head)+1:], before) {
		return "", refused(fmt.Sprintf("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique", before, occurrences(e.Content, before)))
	}
	edited := head + after + tail
	if err := f.write(ctx, clean, edited, e); err != nil {
		return "", err
	}
	lines := strings.Split(edited, "\n")
	at := 1 + strings.Count(head, "\n")
	const around = 4
	return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
		numbered(lines, max(1, at-around), min(len(lines), at+strings.Count(after, "\n")+around)), nil
}

// occurrences lists the lines in which old begins.
func occurrences(text, old string) string {
	var lines []string
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		lines = append(lines, strconv.Itoa(1+strings.Count(text[:from+i], "\n")))
		from += i + 1
	}
}

func (f *Files) insert(ctx context.Context, p string, line int, text string) (string, error) {
	clean, e, err := f.file(ctx, p)
	if err != nil {
		return "", err
	}
	lines := strings.Split(e.Content, "\n")
	if e.Content == "" {
		lines = nil
	}
	if line < 0 || line > len(lines) {
		return "", refused(fmt.Sprintf("Error: Invalid `insert_line` parameter: %d. It should be within the range of lines of the file: [0, %d]", line, len(lines)))
	}
	added := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if err := f.write(ctx, clean, strings.Join(slices.Insert(lines, line, added...), "\n"), e); err != nil {
		return "", err
	}
	return "The file " + clean + " has been edited.", nil
}

// below returns the file at a path, or the files in the directory there.
func (f *Files) below(ctx context.Context, p string) (map[string]*file, error) {
	files, err := f.all(ctx)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(other string, _ *file) bool { return other != p && !strings.HasPrefix(other, p+"/") })
	if len(files) == 0 {
		return nil, refused("Error: The path " + p + " does not exist")
	}
	return files, nil
}

func (f *Files) delete(ctx context.Context, p string) (string, error) {
	clean, err := at(p)
	if err != nil {
		return "", err
	}
	if clean == Root {
		return "", refused("Error: The directory " + Root + " itself cannot be deleted")
	}
	files, err := f.below(ctx, clean)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, p := range slices.Sorted(maps.Keys(files)) {
		ids = append(ids, files[p].versions...)
	}
	if err := f.cfg.Memory.end(ctx, f.cfg.Ref, ids); err != nil {
		return "", err
	}
	return "Successfully deleted " + clean, nil
}

func (f *Files) rename(ctx context.Context, from, to string) (string, error) {
	old, err := at(from)
	if err != nil {
		return "", err
	}
	made, err := at(to)
	if err != nil {
		return "", err
	}
	if old == Root || strings.HasPrefix(made+"/", old+"/") {
		return "", refused("Error: " + old + " cannot be renamed to " + made)
	}
	files, err := f.below(ctx, old)
	if err != nil {
		return "", err
	}
	if err := f.free(ctx, made, "Error: The destination "+made+" already exists"); err != nil {
		return "", err
	}
	var moved []memory.Draft
	for _, p := range slices.Sorted(maps.Keys(files)) {
		below := made + strings.TrimPrefix(p, old)
		if _, ok := normal(below); !ok {
			return "", refused("Error: a path below " + made + " would be too long")
		}
		moved = append(moved, version(below, files[p].Content, files[p].versions...))
	}
	if err := f.cfg.Memory.putAll(ctx, f.cfg.Ref, moved); err != nil {
		return "", err
	}
	return "Successfully renamed " + old + " to " + made, nil
}
