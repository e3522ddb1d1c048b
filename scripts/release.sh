#!/usr/bin/env bash
# Makes releases of the modules of this tree, and proves before there is one that strangers can
# install them. RELEASING.md says when to use it.
#
#	scripts/release.sh check            build all that is committed from what a stranger gets
#	scripts/release.sh api              compare the public packages with those of the last tag
#	scripts/release.sh prepare vX.Y.Z   let the modules require each other at a version
#	scripts/release.sh tag [-yes]       show the tags of the release; with -yes check it and make them
#	scripts/release.sh reopen           go back to working in the tree
#
# Between releases each go.mod replaces the modules of this tree by their directories, and `go
# install …@version` refuses such a go.mod. A release is a commit without these lines.
#
# check and prepare let the go command do the work: it fetches the modules of this tree from a
# clone that has the tags, in place of the repository that their paths name. The version that is
# checked is removed from the module cache, so two checks of one commit must not run at once.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off GOFLAGS=-modcacherw
root=github.com/openwop/agentmemory
apidiff=golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() { echo "release.sh: $*" >&2 && exit 1; }

clean() { [ -z "$(git status --porcelain)" ] || fail "commit or remove first: $(git status --short)"; }

last() { git tag --merged HEAD --sort=-version:refname --list 'v*' | head -n 1; }

# What is read, copied or run in the tree gets no tag. internal/testkit gets one: go mod tidy of
# who imports a store looks for it.
tagged() { [[ ! $1 =~ ^(examples|bench|docs|host)(/|$) ]]; }

path() { [ "$1" = . ] && echo "$root" || echo "$root/$1"; }

name() { [ "$1" = . ] && echo "$2" || echo "$1/$2"; } # of the tag

# The modules of the tree that one requires, directly or not, as directories.
requires() {
	(cd "$1" && go mod edit -json) | grep -oE "\"Path\": \"$root[^\"]*\"" | cut -d'"' -f4 | sort -u |
		while read -r found; do [ "$found" = "$(path "$1")" ] || sed "s|^$root\$|.|; s|^$root/||" <<<"$found"; done
}

# All modules, each behind those that it requires.
modules() {
	git ls-files 'go.mod' '*/go.mod' | grep -v testdata/ | xargs -n 1 dirname | while read -r dir; do
		echo "$dir $dir"
		requires "$dir" | sed "s|\$| $dir|"
	done | tsort
}

# What the release of HEAD is called; empty if HEAD is none.
released() { (cd memory/sqlite && ! grep -q '^replace\|^	.* => ' go.mod && awk -v p="$root" '$1 == p || $2 == p {print $NF}' go.mod) || true; }

# Has the go command fetch the modules of this tree from the clone $tmp/tree.
from_clone() {
	env GOPRIVATE="$root" GOBIN="$tmp/bin" GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0="url.file://$tmp/tree.insteadOf" \
		GIT_CONFIG_VALUE_0="https://$root" GIT_CONFIG_KEY_1=safe.directory GIT_CONFIG_VALUE_1='*' "$@"
}

# Makes the release of HEAD in the clone, module by module: the sums of one are in the next.
release() { # release <version>
	checked=$1
	trap 'forget "$checked"; rm -rf "$tmp"' EXIT
	forget "$checked" # what was killed has left it
	git -c safe.directory='*' clone --quiet --no-tags . "$tmp/tree"
	pushd "$tmp/tree" >/dev/null
	git config user.name release && git config user.email release@localhost
	local dir needed is
	is=$(released)
	for dir in $(modules); do
		if [ -z "$is" ] || ! tagged "$dir"; then
			for needed in $(requires "$dir"); do
				(cd "$dir" && go mod edit -dropreplace="$(path "$needed")")
				if (cd "$dir" && go mod edit -json) | grep -A1 "\"Path\": \"$(path "$needed")\"" | grep -q Version; then
					(cd "$dir" && go mod edit -require="$(path "$needed")@$1")
				fi
			done
			(cd "$dir" && from_clone go mod tidy)
			git commit --quiet --allow-empty -am "$dir"
		else
			(cd "$dir" && from_clone go mod tidy -diff) || fail "$dir was changed after it was prepared"
		fi
		if tagged "$dir"; then git tag "$(name "$dir" "$1")"; fi
	done
	popd >/dev/null
}

# Removes a version from the module cache, so that a tag of that name is fetched when there is one.
forget() { # forget <version>
	local cache dir
	cache=$(go env GOMODCACHE)
	for dir in $(modules); do
		rm -rf "$cache/$(path "$dir")@$1" "$cache/cache/download/$(path "$dir")/@v/$1".*
	done
	for dir in $(grep -lsF "https://$root" "$cache"/cache/vcs/*.info || true); do rm -rf "${dir%.info}" "${dir%.info}".*; done
}

step() { # step <what> <command…>: in an empty module
	local what=$1 dir begin=$SECONDS result=ok
	shift
	dir=$(mktemp -d "$tmp/stranger.XXXX")
	(cd "$dir" && go mod init example.org/stranger && from_clone "$@") >"$dir/log" 2>&1 || { result=FAILED && tail -n 20 "$dir/log" && touch "$tmp/failed"; }
	printf '%-6s %4d s  %s\n' "$result" $((SECONDS - begin)) "$what"
}

check() {
	local dir line version
	version=$(released)
	version=${version:-v0.0.0-check.$(git rev-parse --short=12 HEAD)}
	release "$version"
	for dir in $(modules); do
		if tagged "$dir"; then
			step "required: $dir" bash -c "go get $(path "$dir")/...@$version && go build -o /dev/null $(path "$dir")/..."
		else
			step "copied: $dir" bash -c "cp -r '$tmp/tree/$dir/.' . && go build -o /dev/null ./..."
		fi
	done
	# What the pages tell a newcomer to type, at this version.
	git grep -hoE 'go (get|install) [^`#]*' -- '*.md' | grep -oE "go (get|install) .*$root[^ ]*" | sort -u |
		sed -E "s#($root[^ @]*)(@[^ ]*)?#\1@$version#g" | while read -r line; do step "typed: $line" bash -c "$line" </dev/null; done
	[ ! -e "$tmp/failed" ] || fail "a stranger could not do all of that"
}

api() {
	local last dir
	last=$(last)
	[ -n "$last" ] || { echo "nothing to compare with: no tag yet" && return; }
	GOBIN="$tmp" go install "$apidiff"
	git worktree add --quiet --detach "$tmp/before" "$last~1" # where the modules replace each other
	trap 'git worktree remove --force "$tmp/before"; rm -rf "$tmp"' EXIT
	for dir in $(modules); do
		tagged "$dir" && [ -e "$tmp/before/$dir/go.mod" ] || continue
		(cd "$tmp/before/$dir" && "$tmp/apidiff" -m -w "$tmp/before.api" "$(path "$dir")")
		(cd "$dir" && "$tmp/apidiff" -m -w "$tmp/after.api" "$(path "$dir")")
		"$tmp/apidiff" -m -incompatible "$tmp/before.api" "$tmp/after.api" >"$tmp/changes"
		sed -n "/\/internal\//d; s|^- |$dir: |p" "$tmp/changes" >>"$tmp/all"
	done
	grep -vxFf scripts/api-changes.txt "$tmp/all" || return 0
	fail "these changes are not compatible, and scripts/api-changes.txt does not list them"
}

prepare() {
	clean
	[[ $1 =~ ^v[01]\.[0-9]+\.[0-9]+$ ]] || fail "$1 is no version such as v0.1.0"
	[ "$(printf '%s\n' "$(last)" "$1" | sort -V | tail -n 1)" = "$1" ] && [ "$1" != "$(last)" ] || fail "$1 is not higher than $(last)"
	grep -q "^## \[${1#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no section for $1"
	local file dir
	release "$1"
	for dir in $(modules); do
		if tagged "$dir"; then for file in go.mod go.sum; do [ ! -e "$tmp/tree/$dir/$file" ] || cp "$tmp/tree/$dir/$file" "$dir/$file"; done; fi
	done
	echo "The modules require each other at $1. Commit this as it is: git commit -am $1"
}

tag() {
	clean
	local version dir
	version=$(released)
	[ -n "$version" ] || fail "HEAD is no release: prepare one and commit it"
	[ "${1:-}" != -yes ] || { api && check; }
	for dir in $(modules); do
		if tagged "$dir"; then
			echo "git tag --annotate --message $(name "$dir" "$version") $(name "$dir" "$version")"
		fi
	done | if [ "${1:-}" = -yes ]; then bash -ex; else cat; fi
	echo "Then reopen, commit, and publish both commits and the tags: git push --atomic --follow-tags origin HEAD"
}

reopen() {
	clean
	[ -n "$(released)" ] || fail "HEAD is no release"
	git ls-files -z 'go.mod' '*/go.mod' 'go.sum' '*/go.sum' | xargs -0 git checkout HEAD~1 --
	sed -i '/^[^#]/d' scripts/api-changes.txt
	echo "The modules replace each other again. Commit that: git commit -am 'Work in the tree again'"
}

case "$#:${1:-}" in
1:check | 1:api | 1:reopen | 1:tag | 2:tag | 2:prepare) "$@" ;;
*) sed -n '5,9s/^#	//p' "$0" >&2 && exit 2 ;;
esac
