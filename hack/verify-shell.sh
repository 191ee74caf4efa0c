#!/usr/bin/env bash
# Has bash parse every shell script of the repository without running it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files -z | xargs -0 grep -lZE '^#!.*\bbash\b' -- | while IFS= read -r -d '' script; do
	[[ "$(head -c 2 "$script")" == '#!' ]] || continue # named in a text, not a script
	bash -n "$script"
	echo "$script"
done
