#!/usr/bin/env bash
# scripts/test.sh [all|lint|mpi]: everything that guards a change; installs what is missing where it may.
# Goes on after a failure, says at the end what failed and what was skipped, and counts.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
what=${1:-all}
MPI_RANKS=${MPI_RANKS:-1 2 3 4 6}

# Every file: cargo does not see the modules that a macro names.
formatted() { find . -name target -prune -o -name '*.rs' -print0 | xargs -0 rustfmt --check; }

lint() {
    if rustfmt --version >/dev/null 2>&1; then step fmt formatted; else skip fmt "no rustfmt (rustup component add rustfmt)"; fi
    if cargo clippy --version >/dev/null 2>&1; then
        step clippy cargo clippy "${WORKSPACE[@]}" --all-targets -- -D warnings
        have_mpi || skip clippy-mpi "no MPI ($MPI_PACKAGES)"
    else
        skip clippy "no clippy (rustup component add clippy)"
    fi
    if command -v typos >/dev/null; then step typos typos; fi
    if cargo deny --version >/dev/null 2>&1; then step deny cargo deny check licenses bans sources; fi
}

# The same lists of cases as on threads, under mpirun at each rank count, in the binaries that are there already.
mpi() {
    if ! have_mpi; then
        skip mpi "no MPI ($MPI_PACKAGES); the suites at $MPI_RANKS ranks"
        return
    fi
    # shellcheck disable=SC2086
    step mpi-dist-comm scripts/mpi-test.sh dist-comm mpi $MPI_RANKS
    # shellcheck disable=SC2086
    if have_hdf5; then step mpi-dist-io scripts/mpi-test.sh dist-io mpi 1 2 4; else skip mpi-dist-io "no HDF5 ($HDF5_PACKAGES)"; fi
    # shellcheck disable=SC2086
    step mpi-local-array env MPI_TEST_ARGS=--mpi scripts/mpi-test.sh local-array cases $MPI_RANKS
    # shellcheck disable=SC2086
    step mpi-integration-tests scripts/mpi-test.sh integration-tests mpi $MPI_RANKS
    step demo-mpi scripts/demo-mpi.sh 4 dev
}

# A Python with h5py for the tests of dist-io; without one they say that they are skipped.
h5py() {
    local venv=$PWD/$TARGET/h5py-venv
    case $TARGET in /*) venv=$TARGET/h5py-venv ;; esac
    if ! "$venv/bin/python" -c 'import h5py' 2>/dev/null; then
        rm -rf "$venv"
        { python3 -m venv "$venv" && "$venv/bin/pip" install -q --only-binary :all: h5py; } >"$LOGS/pip-h5py.log" 2>&1 || rm -rf "$venv"
    fi
    if [ -x "$venv/bin/python" ]; then export DIST_IO_PYTHON=$venv/bin/python; fi
}

# Products by somebody else's BLAS, linked as a program would.
blas() {
    if [ -n "$(missing libopenblas-dev)" ]; then
        skip blas "no BLAS (libopenblas-dev)"
        return
    fi
    step blas cargo rustc -p local-array --features blas --example blas -- -l openblas
    step blas-run "$TARGET/debug/examples/blas"
}

# A rank that panics, is killed or leaves ends the job. (A test chosen by its name does not bring its example with it.)
faults() {
    have_mpi || return
    step faults cargo build "${WORKSPACE[@]}" --example faults
    step mpi-faults cargo test "${WORKSPACE[@]}" --test mpi_faults
}

# shellcheck disable=SC2086
install $MPI_PACKAGES $HDF5_PACKAGES python3-venv libopenblas-dev
workspace

case $what in
    lint) lint ;;
    mpi)
        mpi
        faults
        ;;
    all)
        lint
        step features scripts/features.sh
        step doc env RUSTDOCFLAGS="-D warnings" cargo doc "${WORKSPACE[@]}" --no-deps
        # --show-output so that a test that cannot run is heard. Those of MPI run on one rank here, and start mpirun by
        # themselves where they need more.
        h5py
        have_hdf5 || skip hdf5 "no HDF5 ($HDF5_PACKAGES); dist-io is tested without it"
        step tests cargo test --no-fail-fast "${WORKSPACE[@]}" -- --show-output
        if have_hdf5; then step tests-without-hdf5 cargo test -p dist-io --features cli; fi
        for ranks in 4 7; do step "demo-$ranks" make demo RANKS=$ranks; done
        mpi
        blas
        step python-interop scripts/python-interop.sh
        ;;
    *)
        echo "usage: $0 [all|lint|mpi]" >&2
        exit 2
        ;;
esac
summary total
