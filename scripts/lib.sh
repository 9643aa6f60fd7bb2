# Sourced by the other scripts: where logs go, system packages, mpirun, and counted steps.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
TARGET=${CARGO_TARGET_DIR:-target}
LOGS=$TARGET/test-logs
mkdir -p "$LOGS"
PASSED=0 FAILED=0 SKIPPED=0
FAILURES=() SKIPS=()

# Root and few cores need these; they change nothing elsewhere.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Nobody edits between two steps: caches for that would only fill the disk.
export CARGO_INCREMENTAL=0
MPIRUN=(mpirun --oversubscribe --mca mpi_yield_when_idle 1)

# Debian packages of the feature `mpi` (bindgen reads mpi.h through libclang).
MPI_PACKAGES="libopenmpi-dev openmpi-bin libclang-dev pkg-config"

# Debian packages of the features `hdf5` and `hdf5-mpio`: the parallel build does for most serial lanes too, so that HDF5 is built
# against once. One lane has the serial library itself.
HDF5_PACKAGES="libhdf5-openmpi-dev pkg-config"
SERIAL_HDF5_PACKAGES="libhdf5-dev"

# Where HDF5 lies is said outright: beside another HDF5, pkg-config may name that one.
find_hdf5() {
    local folder
    [ -z "${HDF5_DIR:-}" ] || return 0
    for folder in /usr/lib/*/hdf5/openmpi /usr/lib/*/hdf5/serial; do
        if [ -e "$folder/include/hdf5.h" ]; then
            export HDF5_DIR=$folder
            return
        fi
    done
}
find_hdf5

# Where the serial library lies, if it is there.
serial_hdf5() { find /usr/lib/*/hdf5/serial -maxdepth 0 -exec test -e {}/include/hdf5.h \; -print -quit 2>/dev/null; }

# missing PACKAGE...: those that are not installed. Without dpkg nothing can be said of packages:
# then the programs themselves decide (have_mpi).
missing() {
    command -v dpkg-query >/dev/null || return 0
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
    done
}

# install PACKAGE...: by apt, as root or by sudo; names what is still missing. Always succeeds.
install() {
    local wanted sudo=()
    wanted=$(missing "$@")
    [ -n "$wanted" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        # without a terminal nobody could type a password
        if [ -t 0 ]; then sudo=(sudo); else sudo=(sudo -n); fi
    fi
    if [ "$(id -u)" = 0 ] || "${sudo[@]}" true 2>/dev/null; then
        echo "== installing $wanted"
        # shellcheck disable=SC2086
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends $wanted" \
            </dev/null >"$LOGS/apt.log" 2>&1 || tail -n 5 "$LOGS/apt.log"
    fi
    wanted=$(missing "$@")
    [ -z "$wanted" ] || echo "missing Debian packages: ${wanted% } (apt-get install ${wanted% })"
}

have_hdf5() { [ -n "${HDF5_DIR:-}" ] || pkg-config --exists hdf5 2>/dev/null; }
# Whether the feature can be built: without dpkg the compiler and the launcher stand for the rest.
# shellcheck disable=SC2086
have_mpi() { command -v mpicc >/dev/null && command -v mpirun >/dev/null && [ -z "$(missing $MPI_PACKAGES)" ]; }

# Whether the HDF5 that is built against is a parallel one.
have_mpio() { have_mpi && grep -qsE '^#define H5_HAVE_PARALLEL 1' "${HDF5_DIR:-/nowhere}"/include/H5pubconf*.h; }

# One set of features for the runs over all crates, so that nothing is built twice: all that this machine can build.
# The sets that this leaves out are features.sh's.
workspace() {
    find_hdf5 # it may have been installed since
    WORKSPACE=(--workspace --features "$(scripts/pure-features.py $(have_mpi && echo --mpi) $(have_hdf5 && echo --hdf5) $(have_mpio && echo --hdf5-mpio))")
}

# skip NAME REASON: counted, and said again at the end.
skip() {
    SKIPPED=$((SKIPPED + 1))
    SKIPS+=("$1: $2")
    echo "-- $1: skipped: $2"
}

# Adds up what a log says, in cargo's words ("test result: …", as our MPI harness has them too) or in ours
# ("…: N passed, N failed, N skipped"). A test that could not run says "skipped: …"; ignored ones are not counted.
count() {
    awk '
        function number(word,   m) { return match($0, "[0-9]+ " word) ? substr($0, RSTART, RLENGTH) + 0 : 0 }
        { sub(/\r$/, "") }
        /^test result: / { p += number("passed"); f += number("failed"); next }
        /^([a-z-]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { p += number("passed"); f += number("failed"); s += number("skipped"); next }
        /^skipped: / { s += 1 }
        END { print p + 0, f + 0, s + 0 }
    ' "$1"
}

# step NAME COMMAND...: runs it with its output in a log. What counts is what the log counts; a command
# without counts is one check; one that fails without a failed test is one failure.
step() {
    local name=$1 log started status passed failed skipped
    shift
    log="$LOGS/${name//[^A-Za-z0-9._-]/_}.log"
    started=$SECONDS
    printf '== %s\n' "$name"
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    read -r passed failed skipped < <(count "$log")
    if [ "$((passed + failed + skipped))" = 0 ] && [ "$status" = 0 ]; then passed=1; fi
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    if [ "$skipped" != 0 ]; then
        while read -r line; do SKIPS+=("$name: $(sed -E "s/^skipped( -|:) //" <<<"$line")"); done < <(grep -E '^skipped( -|:) ' "$log")
    fi
    if [ "$failed" != 0 ]; then
        FAILURES+=("$name (log: $log)")
        echo "-- $name FAILED (exit $status); the end of $log:"
        # indented, so that a script above does not count these lines again
        grep -nE '^error|panicked at|FAILED|^failures:' "$log" | head -n 20 | sed 's/^/   | /'
        tail -n 40 "$log" | sed 's/^/   | /'
    fi
    echo "   $passed passed, $failed failed, $skipped skipped; $((SECONDS - started)) s"
}

# The closing line, alone on a line, and the exit status.
summary() {
    local item
    for item in "${SKIPS[@]}"; do echo "skipped - $item"; done
    for item in "${FAILURES[@]}"; do echo "failed - $item"; done
    echo "$1: $PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}
