#!/usr/bin/env bash
# scripts/test.sh [all|lint|mpi]: everything that guards a change; installs what is missing where it may.
# Goes on after a failure, says at the end what failed and what was skipped, and counts.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
what=${1:-all}
MPI_RANKS=${MPI_RANKS:-1 2 3 4 6}

has() { grep -q "^$2 *=" "$1/Cargo.toml"; }

lint() {
    if cargo fmt --version >/dev/null 2>&1; then step fmt cargo fmt --all -- --check; else skip fmt "no rustfmt (rustup component add rustfmt)"; fi
    if cargo clippy --version >/dev/null 2>&1; then
        step clippy cargo clippy --workspace --all-targets -- -D warnings
        if have_mpi; then
            step clippy-mpi cargo clippy --workspace --all-targets --all-features -- -D warnings
        else
            skip clippy-mpi "no MPI ($MPI_PACKAGES)"
        fi
    else
        skip clippy "no clippy (rustup component add clippy)"
    fi
    if command -v typos >/dev/null; then step typos typos; fi
    if cargo deny --version >/dev/null 2>&1; then step deny cargo deny check licenses bans sources; fi
}

# The same lists of cases as on threads, under mpirun: one binary a crate, at each rank count.
mpi() {
    if ! have_mpi; then
        skip mpi "no MPI ($MPI_PACKAGES); the suites at $MPI_RANKS ranks"
        return
    fi
    # shellcheck disable=SC2086
    step mpi-dist-comm scripts/mpi-test.sh dist-comm mpi,testkit mpi $MPI_RANKS
    # a rank that panics, is killed or leaves ends the job
    # (a test chosen by its name does not bring its example with it)
    step faults cargo build -p dist-comm --features mpi,testkit --example faults
    step mpi-faults cargo test -p dist-comm --features mpi,testkit --test mpi_faults
    # what is tested beside its code; the run over the whole workspace is without MPI
    step mpi-units cargo test -p dist-comm --features mpi,testkit --lib -- --show-output
    step mpi-doc cargo test -p dist-comm --features mpi,testkit --doc
    # shellcheck disable=SC2086
    step mpi-local-array scripts/mpi-test.sh local-array mpi mpi $MPI_RANKS
    # shellcheck disable=SC2086
    step mpi-integration-tests scripts/mpi-test.sh integration-tests mpi mpi $MPI_RANKS
    step demo-mpi scripts/demo-mpi.sh 4
}

# shellcheck disable=SC2086
install $MPI_PACKAGES python3-venv

case $what in
    lint) lint ;;
    mpi) mpi ;;
    all)
        lint
        step features scripts/features.sh
        step doc env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
        # Optional parts that need no library are on; --show-output so that a test that cannot run is heard.
        step tests cargo test --workspace --features "$(scripts/pure-features.py)" -- --show-output
        step demo cargo run --release -p integration-tests --example jacksboro -- --ranks 4
        step demo-7 cargo run --release -p integration-tests --example jacksboro -- --ranks 7
        mpi
        step python-interop scripts/python-interop.sh
        ;;
    *)
        echo "usage: $0 [all|lint|mpi]" >&2
        exit 2
        ;;
esac
summary total
