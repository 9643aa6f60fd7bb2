#!/usr/bin/env bash
# scripts/demo-mpi.sh RANKS [PROFILE]: the main job with MPI ranks, built as `release` or as the tests are (`dev`).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2086
install $MPI_PACKAGES
profile=${2:-release}
workspace
cargo build --profile "$profile" "${WORKSPACE[@]}" --example jacksboro
exec timeout 300 "${MPIRUN[@]}" -n "${1:-4}" "$TARGET/${profile/dev/debug}/examples/jacksboro" --mpi
