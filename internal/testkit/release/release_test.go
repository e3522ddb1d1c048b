package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a release says of its modules is what the go command finds by its tags, and the program
// can be installed from them.
func TestRelease_IsWhatTheGoCommandGetsFromTheTags(t *testing.T) {
	repo := project(t, smallFiles())
	release(t, repo, "v0.1.0")
	if tags := must(t, repo, "tag", "--points-at", "HEAD"); tags != "cmd/agentmemory/v0.1.0\ninternal/testkit/v0.1.0\nmemory/sqlite/v0.1.0\nv0.1.0" {
		t.Fatalf("tags: %q", tags)
	}
	if kind := must(t, repo, "cat-file", "-t", "memory/sqlite/v0.1.0"); kind != "tag" {
		t.Errorf("the tag is no annotated one: %s", kind)
	}
	direct := []string{
		"GOPROXY=direct", "GOSUMDB=off", "GOMODCACHE=" + t.TempDir(), "GOBIN=" + t.TempDir(),
		"GIT_ALLOW_PROTOCOL=file", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + fileURL(repo) + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/openwop/agentmemory",
	}
	kept, err := os.ReadFile(filepath.Join(repo, "cmd", "agentmemory", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []module{small[0], small[2]} { // what the program requires
		out, err := command(t.TempDir(), direct, "go", "mod", "download", "-json", m.path()+"@v0.1.0")
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Sum, GoModSum string }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{m.path() + " v0.1.0 " + got.Sum, m.path() + " v0.1.0/go.mod " + got.GoModSum} {
			if !strings.Contains(string(kept), line+"\n") {
				t.Errorf("go.sum does not have %q:\n%s", line, kept)
			}
		}
	}
	if _, err := command(t.TempDir(), direct, "go", "install", rootPath+"/cmd/agentmemory@v0.1.0"); err != nil {
		t.Error(err)
	}
	// A module that imports the store can be tidied, which looks for what its tests import.
	importer := t.TempDir()
	put(t, importer, "go.mod", "module example.org/importer"+goLine)
	put(t, importer, "importer.go", "package importer\n\nimport _ \""+rootPath+"/memory/sqlite\"\n")
	if _, err := command(importer, direct, "go", "mod", "tidy"); err != nil {
		t.Error(err)
	}
	// And the commit can be built as it is, by somebody who has checked it out.
	if _, err := command(filepath.Join(repo, "cmd", "agentmemory"), direct, "go", "build", "-o", os.DevNull, "."); err != nil {
		t.Error(err)
	}
}

// After a release the tree is as it was, but for the versions, and the list of changes is empty.
func TestReopen_GoesBackToTheTree(t *testing.T) {
	repo := project(t, smallFiles())
	before := must(t, repo, "show", "HEAD:cmd/agentmemory/go.mod")
	release(t, repo, "v0.1.0")
	if released := must(t, repo, "show", "HEAD:cmd/agentmemory/go.mod"); strings.Contains(released, "replace") {
		t.Errorf("the release replaces:\n%s", released)
	}
	if kept := must(t, repo, "show", "HEAD:examples/sqlite/go.mod"); !strings.Contains(kept, "=> ../../memory/sqlite") {
		t.Errorf("a module that is not tagged cannot be built in the tree any more:\n%s", kept)
	}
	if err := reopen(repo, small, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	commit(t, repo)
	after := must(t, repo, "show", "HEAD:cmd/agentmemory/go.mod")
	if want := strings.ReplaceAll(before, " v0.0.0", " v0.1.0"); after != want {
		t.Errorf("got %s\nwant %s", after, want)
	}
	if sums := must(t, repo, "show", "HEAD:cmd/agentmemory/go.sum"); strings.Contains(sums, rootPath) {
		t.Errorf("sums are left:\n%s", sums)
	}
	for _, m := range small {
		if _, err := command(filepath.Join(repo, m.dir), nil, "go", "mod", "tidy", "-diff"); err != nil {
			t.Error(err)
		}
	}
	release(t, repo, "v0.2.0")
}

func TestPrepare_Refuses(t *testing.T) {
	repo := project(t, smallFiles())
	must(t, repo, "tag", "v0.1.0")
	for version, want := range map[string]string{
		"0.2.0": "not a version", "v0.2": "not a version", "v0.2.0+x": "not a version", "v2.0.0": "end in /v2",
		"v0.1.0": "not higher", "v0.0.9": "not higher", "v0.3.0": "no section",
	} {
		if err := prepare(repo, small, version, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", version, err)
		}
	}
	put(t, repo, "memory/new.go", "package memory\n")
	if err := prepare(repo, small, "v0.2.0", new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "memory/new.go") {
		t.Errorf("with a file that is not committed: %v", err)
	}
	must(t, repo, "clean", "--quiet", "--force")
	if status := must(t, repo, "status", "--porcelain"); status != "" {
		t.Errorf("something was written: %s", status)
	}
}

func TestTag_Refuses(t *testing.T) {
	repo := project(t, smallFiles())
	var out bytes.Buffer
	if err := tag(repo, small, true, &out); err == nil || !strings.Contains(err.Error(), "no release") {
		t.Errorf("in the midst of work: %v", err)
	}
	if err := prepare(repo, small, "v0.1.0", &out); err != nil {
		t.Fatal(err)
	}
	commit(t, repo)
	if err := tag(repo, small, false, &out); err != nil || must(t, repo, "tag") != "" {
		t.Errorf("without -yes: %v, tags %q", err, must(t, repo, "tag"))
	}
	// A fix after the preparation makes other modules than the go.sum files say.
	put(t, repo, "memory/fix.go", "package memory\n")
	commit(t, repo)
	if err := tag(repo, small, true, &out); err == nil || !strings.Contains(err.Error(), "prepare it again") || must(t, repo, "tag") != "" {
		t.Errorf("with a fix: %v, tags %q", err, must(t, repo, "tag"))
	}
}
