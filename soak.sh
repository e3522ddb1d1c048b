#!/usr/bin/env bash
# The long checks: every fuzz target for some minutes, then all tests with
# AGENTMEMORY_LONG=1. Usage: ./soak.sh [minutes per fuzz target, 5 by default]
# An input that makes a target fail is left under its package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off
minutes=${1:-5}
root=$PWD
failed=()

while read -r file; do
	cd "$root/$(dirname "$file")"
	for pkg in $(go list ./...); do
		for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
			echo "=== $pkg $target, $minutes minute(s)"
			# By default the fuzzer may shorten each new input for a minute, in which it tries nothing new.
			go test -run '^$' -fuzz "^$target\$" -fuzztime "${minutes}m" -fuzzminimizetime 1s "$pkg" </dev/null ||
				failed+=("$pkg $target")
		done
	done
	echo "=== long tests of module $(dirname "$file")"
	AGENTMEMORY_LONG=1 go test -count=1 -timeout 3h ./... </dev/null || failed+=("long tests in $file")
done < <(cd "$root" && find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*' | sort)

if [ "${#failed[@]}" -ne 0 ]; then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
