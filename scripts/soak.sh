#!/usr/bin/env bash
# The long checks: every fuzz target for some minutes, and the tests of every package with
# AGENTMEMORY_LONG=1.
#
#	scripts/soak.sh [minutes per fuzz target, 5 by default] [file]
#
# The file lists what has passed. A run leaves out what it lists, so that one that was stopped
# goes on; after a change of the tree begin with another file. An input that makes a target fail
# is left under its package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off
minutes=${1:-5}
passed=${2:-$(mktemp)}
touch "$passed"
failed=()

part() { # part <name> <command…>
	local name=$1 begin=$SECONDS
	shift
	if grep -qxF "$name" "$passed"; then return; fi
	echo "=== $name"
	if "$@" </dev/null; then
		echo "$name" >>"$passed"
	else
		failed+=("$name")
	fi
	echo "=== $((SECONDS - begin)) s"
}

while read -r dir; do
	for pkg in $(go list -C "$dir" ./...); do
		for target in $(go test -C "$dir" -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
			# By default the fuzzer may shorten each new input for a minute, in which it tries nothing new.
			part "$pkg $target, $minutes minute(s)" \
				go test -C "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${minutes}m" -fuzzminimizetime 1s "$pkg"
		done
		part "$pkg, long tests" env AGENTMEMORY_LONG=1 go test -C "$dir" -count=1 -timeout 12h "$pkg"
	done
done < <(find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*' -printf '%h\n' | sort)

if [ "${#failed[@]}" -ne 0 ]; then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
