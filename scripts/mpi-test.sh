#!/usr/bin/env bash
# Builds a test binary, as `make test` does with all features, and runs it under mpirun, once for each number of ranks:
#
#     scripts/mpi-test.sh CRATE TEST N…        MPI_TEST_ARGS=--mpi scripts/mpi-test.sh local-array cases 1 2 3 4 6
#
# Variables: MPI_TEST_TIMEOUT, seconds for each run (300); MPI_TEST_ARGS, arguments for the binary;
# MPIRUN_ARGS, further arguments for mpirun; CARGO_FLAGS, for example --release.
# Needs (Debian) openmpi-bin libopenmpi-dev libclang-dev pkg-config, and python3; dist-io libhdf5-openmpi-dev too.
set -euo pipefail

if [ $# -lt 3 ]; then
    echo "usage: $0 CRATE TEST N…" >&2
    exit 2
fi
crate=$1 test=$2
shift 2
. "$(dirname "$0")/lib.sh"

for tool in cargo mpirun timeout python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "$0: $tool is missing (mpirun is in the Debian package openmpi-bin)" >&2
        exit 1
    fi
done

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
workspace
# shellcheck disable=SC2086
cargo test ${CARGO_FLAGS:-} "${WORKSPACE[@]}" --test "$test" --no-run \
    --message-format=json-render-diagnostics >"$messages"
binary=$(python3 - "$crate" "$test" "$messages" <<'PYTHON'
import json, pathlib, sys

crate, test, messages = sys.argv[1:]
found = None
for message in map(json.loads, open(messages)):
    if message.get("executable") and message["target"]["name"] == test:
        if pathlib.Path(message["manifest_path"]).parent.name == crate:
            found = message["executable"]
if found is None:
    sys.exit(f"cargo built no test binary named {test} of {crate}")
print(found)
PYTHON
)

# More ranks than cores give way to each other; the run may be root's, as in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
oversubscribe=
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    oversubscribe=--oversubscribe
fi
failed=0
for ranks in "$@"; do
    echo "== $crate $test on $ranks ranks"
    # shellcheck disable=SC2086
    if timeout -k 10 "${MPI_TEST_TIMEOUT:-300}" \
        mpirun $oversubscribe ${MPIRUN_ARGS:-} -n "$ranks" "$binary" ${MPI_TEST_ARGS:-}; then
        :
    else
        code=$?
        [ "$code" -ne 124 ] || echo "$0: no end within ${MPI_TEST_TIMEOUT:-300} s" >&2
        echo "$0: $crate $test failed on $ranks ranks (code $code)" >&2
        failed=1
    fi
done
exit $failed
