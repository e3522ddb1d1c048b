package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command runs a program in dir with additions to the environment and returns what it printed
// on standard output, without the last line break. The error has what it printed elsewhere.
func command(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(errs.String()+out.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// tail is the end of a long output.
func tail(output string) string {
	const most = 4000
	if len(output) > most {
		return "…" + output[len(output)-most:]
	}
	return output
}

// git runs git in dir, which may belong to another user, as it often does in a container.
func git(dir string, args ...string) (string, error) {
	return command(dir, nil, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
}

// export writes the files of a commit of the repository into a new directory below temp.
func export(repo, commit, temp string) (string, error) {
	archive := filepath.Join(temp, "export.zip")
	if _, err := git(repo, "-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=zip", "-o", archive, commit); err != nil {
		return "", err
	}
	defer os.Remove(archive)
	files, err := zip.OpenReader(archive)
	if err != nil {
		return "", err
	}
	defer files.Close()
	dir, err := os.MkdirTemp(temp, "tree")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, files)
}

// clean fails if the working tree differs from HEAD.
func clean(repo string) error {
	status, err := git(repo, "status", "--porcelain")
	if err == nil && status != "" {
		err = fmt.Errorf("commit or remove first:\n%s", status)
	}
	return err
}

// lastTag is the highest version that the root has a tag for among the ancestors of HEAD;
// empty if there is none.
func lastTag(repo string) (string, error) {
	list, err := git(repo, "tag", "--merged", "HEAD", "--sort=-version:refname", "--list", "v*")
	if err != nil {
		return "", err
	}
	return newest(strings.Fields(list)), nil
}
