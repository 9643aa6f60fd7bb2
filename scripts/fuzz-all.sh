#!/usr/bin/env bash
# scripts/fuzz-all.sh SECONDS: every fuzz target of every crate, one after the other.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
seconds=${1:-600}
for folder in */fuzz; do
    [ -f "$folder/Cargo.toml" ] || continue
    crate=${folder%/fuzz}
    for source in "$folder"/fuzz_targets/*.rs; do
        target=$(basename "$source" .rs)
        step "fuzz-$target" scripts/fuzz.sh "$crate" "$target" "$seconds"
    done
done
summary fuzz
