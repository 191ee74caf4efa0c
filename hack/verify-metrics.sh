#!/usr/bin/env bash
# Checks that docs/metrics.md names every metric of src/metrics.rs, and no other.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

name='(capi_runtime_sdk|kapstan)_[a-z_]+'
in_code="$(grep -oE "\"$name\"" src/metrics.rs | tr -d '"' | sort -u)"
in_docs="$(grep -oE "^\| \`$name\`" docs/metrics.md | grep -oE "$name" | sort -u)"

if ! difference="$(diff <(printf '%s\n' "$in_docs") <(printf '%s\n' "$in_code"))"; then
	printf 'docs/metrics.md (<) and src/metrics.rs (>) differ:\n%s\n' "$difference" >&2
	exit 1
fi
echo "$(wc -l <<<"$in_code") metrics, all documented"
