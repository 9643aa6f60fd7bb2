#!/usr/bin/env bash
# What takes too long for every change: saves killed KILLS times, property tests with many cases and new
# seeds, the MPI suites three times over, every fuzz target for FUZZ_SECONDS.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2086
install $MPI_PACKAGES python3-venv g++
features=$(scripts/pure-features.py)
step kills env DNPY_KILLS="${KILLS:-200}" cargo test --release -p dnpy-format --all-features -- kill
step kills-io env DIST_IO_KILLS="${KILLS:-200}" cargo test --release -p dist-io --features hdf5 --test it -- killed
for seed in 1 2 3; do
    step "seeds-$seed" env PROPTEST_CASES="${CASES:-1000}" cargo test --release --workspace --features "$features"
done
if have_mpi; then
    for round in 1 2 3; do step "mpi-$round" scripts/test.sh mpi; done
else
    skip mpi "no MPI ($MPI_PACKAGES)"
fi
step fuzz scripts/fuzz-all.sh "${FUZZ_SECONDS:-600}"
summary total
