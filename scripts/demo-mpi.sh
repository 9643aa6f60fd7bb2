#!/usr/bin/env bash
# scripts/demo-mpi.sh RANKS: the main job with MPI ranks.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2086
install $MPI_PACKAGES
cargo build --release -p integration-tests --features mpi --example jacksboro
exec timeout 300 "${MPIRUN[@]}" -n "${1:-4}" "$TARGET/release/examples/jacksboro" --mpi
