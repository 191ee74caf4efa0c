#!/usr/bin/env bash
# Says which Rust files no `mod` line leads to: they are never compiled, so nothing else would notice them.
# The compiler's own lists of what it read are asked, so run `cargo clippy --workspace --all-targets` first. In a
# target directory that is not fresh, a file that was linked once still counts.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

lists="${CARGO_TARGET_DIR:-target}/debug"
[[ -d "$lists/deps" ]] || { echo "nothing was compiled yet: run cargo clippy --workspace --all-targets first" >&2; exit 1; }

# Each list has a line "<file>:" for every file that was read; those of this repository are relative to its root.
compiled="$(find "$lists/deps" "$lists/examples" -name '*.d' -exec cat {} + | grep -E '^[^/ ][^ ]*\.rs:$' | tr -d : | sort -u)"
tracked=(git ls-files '*.rs')
unlinked="$(comm -23 <("${tracked[@]}" | sort) <(printf '%s\n' "$compiled"))"

if [[ -n "$unlinked" ]]; then
	printf 'no mod line leads to:\n%s\n' "$unlinked" >&2
	exit 1
fi
echo "$("${tracked[@]}" | wc -l) files, all compiled"
