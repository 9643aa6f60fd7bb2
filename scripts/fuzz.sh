#!/usr/bin/env bash
# scripts/fuzz.sh CRATE TARGET SECONDS: runs one fuzz target of CRATE/fuzz for SECONDS.
#
# libFuzzer with coverage counters, on the stable compiler: no sanitizer, no cargo-fuzz; needs a C++
# compiler. What it finds lands in CRATE/fuzz/artifacts/TARGET, new inputs in CRATE/fuzz/found/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
crate=${1:?crate} target=${2:?target} seconds=${3:?seconds}
fuzz=$crate/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
coverage="-Cpasses=sancov-module -Ccodegen-units=1"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$option"
done
build=${CARGO_TARGET_DIR:+$CARGO_TARGET_DIR/$crate-fuzz}
build=${build:-$fuzz/target}
# With a target given, the flags spare build scripts.
RUSTFLAGS="--cfg fuzzing $coverage" cargo build --quiet --release \
    --manifest-path "$fuzz/Cargo.toml" --target-dir "$build" --target "$triple" --bin "$target"
mkdir -p "$fuzz/found/$target" "$fuzz/artifacts/$target"
dictionary=()
[ ! -f "$fuzz/$target.dict" ] || dictionary=("-dict=$fuzz/$target.dict")
"$build/$triple/release/$target" "${dictionary[@]}" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$fuzz/artifacts/$target/" \
    "$fuzz/found/$target" "$fuzz/corpus/$target"
