#!/usr/bin/env bash
# Our criterion groups and their peers, in turn, in one run. Output in out/bench: peers.jsonl, results.json
# (all medians), report.txt (the ratios), criterion*/report/index.html.
#   ONLY="maps plan redist halo dnpy array"  some groups          BENCH_MPI="2 4"    rank counts under MPI
#   HEAT_PYTHON=python  a Python with NumPy, mpi4py and Heat (PyTorch, gigabytes), for its sort
#   BENCH_DIRS="/dev/shm out/bench"    where files go       BENCH_MIB="64 512" sizes of the .npy files
set -uo pipefail
. "$(dirname "$0")/lib.sh"
ONLY=${ONLY:-maps plan redist halo dnpy array}
BENCH_MPI=${BENCH_MPI:-2 4}
BENCH_DIRS=${BENCH_DIRS:-/dev/shm out/bench}
BENCH_MIB=${BENCH_MIB:-64 512}
out=$PWD/out/bench
rm -rf "$out"
mkdir -p "$out"
# shellcheck disable=SC2086
install $MPI_PACKAGES python3-venv libfftw3-dev libfftw3-mpi-dev python3-petsc4py libscalapack-openmpi-dev

failed=
wanted() { [[ " $ONLY " == *" $1 "* ]]; }
absent() { printf '{"missing": "%s", "why": "%s"}\n' "$1" "$2" | tee -a "$out/peers.jsonl"; }
peer() { "$@" 2>>"$out/peers.log" </dev/null | grep '^{' | tee -a "$out/peers.jsonl"; }

# Features of a crate's benches: all that this machine can build, and no kernels of others.
features() { if [ "$1" != local-array ]; then echo --all-features; elif have_mpi; then echo --features mpi; fi; }
# criterion NAME CRATE BENCH: ours on threads (or one process), in its own folder of results
criterion() {
    echo "== $2 $3"
    # shellcheck disable=SC2046
    CRITERION_HOME=$out/criterion-$1 cargo bench -q -p "$2" $(features "$2") --bench "$3" 2>&1 | tee "$out/$3-$1.log" || failed="$failed $3($1)"
}
# The binary of a bench target.
binary() {
    # shellcheck disable=SC2046
    cargo bench -q -p "$1" $(features "$1") --bench "$2" --no-run --message-format json 2>/dev/null |
        python3 -c 'import json,sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable")][-1])'
}
mpi_criterion() { # RANKS CRATE BENCH
    echo "== $2 $3, $1 MPI ranks"
    CRITERION_HOME=$out/criterion-mpi$1 timeout 900 "${MPIRUN[@]}" -n "$1" "$(binary "$2" "$3")" --bench 2>&1 | tee "$out/$3-mpi$1.log" || failed="$failed $3(mpi$1)"
}

# The peers' Python: a virtual environment beside the build, and Debian's own for PETSc.
venv=$TARGET/peers-venv
if [ ! -x "$venv/bin/python" ]; then
    /usr/bin/python3 -m venv "$venv" 2>/dev/null || python3 -m venv "$venv"
    "$venv/bin/pip" install -q numpy mpi4py 'setuptools<80' wheel cython >"$out/pip.log" 2>&1
    CC=mpicc "$venv/bin/pip" install -q --no-build-isolation mpi4py-fft >>"$out/pip.log" 2>&1
fi
python=$venv/bin/python
"$python" -c 'import numpy' 2>/dev/null || { absent NumPy "pip could not install it"; python=; }
[ -z "$python" ] || "$python" -c 'from mpi4py import MPI' >/dev/null 2>&1 || { absent mpi4py "pip or MPI"; mpi4py=no; }
petsc=$(echo /usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages)
[ -d "$petsc" ] || { absent PETSc "python3-petsc4py"; petsc=; }
scalapack=$TARGET/peers-scalapack
mpicc -O2 benches/peers/scalapack.c -o "$scalapack" -lscalapack-openmpi -lm 2>>"$out/peers.log" || { absent ScaLAPACK libscalapack-openmpi-dev; scalapack=; }
absent COSTA "not in Debian or on a package index; build it from source to compare"

if wanted maps; then
    criterion one dist-maps maps
    [ -z "$python" ] || peer "$python" benches/peers/maps.py numpy
    [ -z "$petsc" ] || peer env PYTHONPATH="$petsc" /usr/bin/python3 benches/peers/maps.py petsc
fi
if wanted plan; then criterion one dist-maps plan; fi
for group in redist halo; do
    wanted "$group" || continue
    criterion threads local-array "$group"
    for ranks in $BENCH_MPI; do
        have_mpi || { absent "MPI at $ranks ranks" "$MPI_PACKAGES"; continue; }
        mpi_criterion "$ranks" local-array "$group"
        if [ -n "$python" ] && [ "${mpi4py:-}" != no ]; then peer timeout 600 "${MPIRUN[@]}" -n "$ranks" "$python" "benches/peers/$group.py"; fi
        if [ "$group" = halo ] && [ -n "$petsc" ]; then
            peer env PYTHONPATH="$petsc" timeout 600 "${MPIRUN[@]}" -n "$ranks" /usr/bin/python3 benches/peers/halo.py 2048 petsc
        fi
        if [ "$group" = redist ] && [ -n "$scalapack" ]; then peer timeout 600 "${MPIRUN[@]}" -n "$ranks" "$scalapack" 4096; fi
    done
done
if wanted array; then
    criterion threads local-array array
    for ranks in 1 $BENCH_MPI; do
        have_mpi || { absent "MPI at $ranks ranks" "$MPI_PACKAGES"; continue; }
        mpi_criterion "$ranks" local-array array
        if [ -n "$python" ] && [ "${mpi4py:-}" != no ]; then peer timeout 900 "${MPIRUN[@]}" -n "$ranks" "${HEAT_PYTHON:-$python}" benches/peers/array.py; fi
    done
fi
if wanted dnpy; then
    for folder in $BENCH_DIRS; do
        mkdir -p "$folder"
        where=$(basename "$folder")
        DNPY_BENCH_DIR=$(realpath "$folder") DNPY_BENCH_MIB=$BENCH_MIB criterion "$where" dnpy-format dnpy
        # shellcheck disable=SC2086
        [ -z "$python" ] || peer "$python" benches/peers/npy.py "$folder" $BENCH_MIB | sed "s|\"dnpy\"|\"dnpy\", \"where\": \"$where\"|"
    done
fi
scripts/bench_report.py "$out" | tee "$out/report.txt"
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
