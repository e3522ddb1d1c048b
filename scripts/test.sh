#!/usr/bin/env bash
# Builds, vets and tests every module of the tree, two modules at a time, under the race
# detector except for benchmarks and pages. Arguments go to `go test`, for example:
# scripts/test.sh -count=1
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off CGO_ENABLED=1 # the race detector needs cgo and a C compiler

# SQLite is C that was translated to Go, and takes many times as long if each of its own
# accesses is watched. Those of our code and of the driver are.
race=(-race -gcflags='modernc.org/sqlite/lib=-race=false' -gcflags='modernc.org/libc/...=-race=false')

# The stores and the root take longest: they go first.
mapfile -t modules < <(
	find ./memory -name go.mod | sort -r
	echo ./go.mod
	find . -mindepth 2 -name go.mod -not -path './memory/*' -not -path '*/testdata/*' -not -path './.git/*' | sort
)
if [ "${#modules[@]}" -eq 0 ]; then
	echo "test.sh: no go.mod found under $PWD" >&2
	exit 1
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

check() { # check <dir> <arguments of go test…>
	local dir=$1 name flags=("${race[@]}")
	shift
	name=log${dir//\//_}
	case $dir in ./bench* | ./docs) flags=() ;; esac
	if ! (cd "$dir" && go build -o /dev/null ./... && go vet ./... && go test -vet=off "${flags[@]}" "$@" ./...) >"$logs/$name" 2>&1; then
		echo "$dir" >>"$logs/failed"
	fi
	echo "=== module $dir"
	cat "$logs/$name"
}

for file in "${modules[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n || true
	done
	check "$(dirname "$file")" "$@" &
done
wait

if [ -s "$logs/failed" ]; then
	echo "FAILED in module(s): $(tr '\n' ' ' <"$logs/failed")" >&2
	exit 1
fi
