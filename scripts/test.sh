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

# Parallel HDF5 with each of Open MPI's two libraries for files; then what only one run needs: files of all ways read by h5py, a
# disk that is full for one rank, more than 2 GiB on one. Few descriptors, so that a rank can run out of them.
parallel_hdf5() {
    if ! have_mpio; then
        skip parallel-hdf5 "no parallel HDF5 ($HDF5_PACKAGES)"
        return
    fi
    local run=(bash -c 'ulimit -n 1024; exec scripts/mpi-test.sh dist-io mpi "$@"' run)
    step mpi-dist-io-parallel env MPI_TEST_ARGS=--parallel "${run[@]}" 1 2 3 4 7
    step mpi-dist-io-romio env MPI_TEST_ARGS=--parallel MPIRUN_ARGS="--mca io romio321" "${run[@]}" 1 2 3 4 7
    step mpi-dist-io-ways env MPI_TEST_ARGS=--ways "${run[@]}" 3
    step mpi-dist-io-full-disk env MPI_TEST_ARGS=--full-disk "${run[@]}" 2
    step mpi-dist-io-large env MPI_TEST_ARGS=--large "${run[@]}" 2
}

# The serial HDF5 library itself, in a target folder of its own: the cases on thread ranks, and h5py's files.
serial_hdf5_lane() {
    local folder
    folder=$(serial_hdf5)
    if [ -z "$folder" ]; then
        skip serial-hdf5 "no serial HDF5 ($SERIAL_HDF5_PACKAGES)"
        return
    fi
    step serial-hdf5 env HDF5_DIR="$folder" CARGO_TARGET_DIR="$TARGET/serial-hdf5" \
        cargo test -p dist-io --features hdf5 --test it -- --show-output h5:: vds:: python
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
    parallel_hdf5
    step mpi-dist-torch scripts/mpi-test.sh dist-torch mpi 1 2 4
    # shellcheck disable=SC2086
    step mpi-local-array env MPI_TEST_ARGS=--mpi scripts/mpi-test.sh local-array cases $MPI_RANKS
    # shellcheck disable=SC2086
    step mpi-integration-tests scripts/mpi-test.sh integration-tests mpi $MPI_RANKS
    step demo-mpi scripts/demo-mpi.sh 4 dev
}

# A Python with h5py and PyTables for the tests of dist-io; without one they say that they are skipped.
h5py() {
    local venv=$PWD/$TARGET/h5py-venv
    case $TARGET in /*) venv=$TARGET/h5py-venv ;; esac
    if ! "$venv/bin/python" -c 'import h5py, tables' 2>/dev/null; then
        rm -rf "$venv"
        { python3 -m venv "$venv" && "$venv/bin/pip" install -q --only-binary :all: h5py tables; } >"$LOGS/pip-h5py.log" 2>&1 || rm -rf "$venv"
    fi
    if [ -x "$venv/bin/python" ]; then export DIST_IO_PYTHON=$venv/bin/python; fi
}

# netCDF-4 files of somebody else's: coasts and rivers, of a Debian package that is unpacked and not installed.
netcdf() {
    local folder=$PWD/$TARGET/netcdf package=gmt-gshhg-low
    case $TARGET in /*) folder=$TARGET/netcdf ;; esac
    if [ ! -d "$folder/unpacked" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        { (cd "$folder" && apt-get download $package) && dpkg -x "$folder"/$package*.deb "$folder/unpacked"; } \
            >"$LOGS/netcdf.log" 2>&1 || rm -rf "$folder"
    fi
    if [ -d "$folder/unpacked" ]; then export DIST_IO_NETCDF=$folder/unpacked/usr/share/gmt-gshhg; fi
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
install $MPI_PACKAGES $HDF5_PACKAGES $SERIAL_HDF5_PACKAGES python3-venv libopenblas-dev
workspace

case $what in
    lint) lint ;;
    mpi)
        h5py
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
        netcdf
        have_hdf5 || skip hdf5 "no HDF5 ($HDF5_PACKAGES); dist-io is tested without it"
        step tests cargo test --no-fail-fast "${WORKSPACE[@]}" -- --show-output
        if have_hdf5; then step tests-without-hdf5 cargo test -p dist-io --features cli; fi
        serial_hdf5_lane
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
