package house_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The README links every certificate of a store, with what it says. That it says what the
// store does now is compared by the kit's run on the store.
func TestT5_TheReadmeLinksEveryCertificate(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tree, found := os.DirFS(root), 0
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != "certificate.json" {
			return err
		}
		found++
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		var certificate struct{ Level, Durability string }
		if err := json.Unmarshal(data, &certificate); err != nil {
			return err
		}
		text := strings.TrimSuffix(name, "json") + "txt"
		links := fmt.Sprintf("| [step %s; %s](%s), [JSON](%s) |", certificate.Level, certificate.Durability, text, name)
		if !strings.Contains(string(readme), links) {
			t.Errorf("the README does not have %s", links)
		}
		if kept, err := fs.ReadFile(tree, text); err != nil || !strings.HasPrefix(string(kept), "agentmemory ") {
			t.Errorf("%s is no certificate: %v", text, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links := strings.Count(string(readme), "certificate.json)"); links != found || found == 0 {
		t.Errorf("the README links %d certificates, and there are %d", links, found)
	}
}
