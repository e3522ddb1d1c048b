#!/usr/bin/env bash
# Builds, vets and tests every module of the tree under the race detector.
# Arguments go to `go test`, for example: ./test.sh -count=1
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off CGO_ENABLED=1 # the race detector needs cgo and a C compiler

mapfile -t modules < <(find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*' | sort)
if [ "${#modules[@]}" -eq 0 ]; then
	echo "test.sh: no go.mod found under $PWD" >&2
	exit 1
fi

failed=()
for file in "${modules[@]}"; do
	dir=$(dirname "$file")
	echo "=== module $dir"
	if ! (cd "$dir" && go build ./... && go vet ./... && go test -race "$@" ./...); then
		failed+=("$dir")
	fi
done

if [ "${#failed[@]}" -ne 0 ]; then
	echo "FAILED in module(s): ${failed[*]}" >&2
	exit 1
fi
