#!/usr/bin/env bash
# Our criterion groups and their peers, in turn, in one run. Output in out/bench: peers.jsonl, results.json
# (all medians), report.txt (the ratios), criterion*/report/index.html.
#   ONLY="maps plan redist halo dnpy array io"  some groups          BENCH_MPI="2 4"    rank counts under MPI
#   HEAT_PYTHON=python  a Python with NumPy, mpi4py and Heat (PyTorch, gigabytes), for group array
#   DISTARRAY_PYTHON=python  one with DistArray 0.6.0, NumPy before 1.24 and mpi4py, for its sums and variances
#   ARRAY_ROUNDS=3      how often ours and the peers of group array take turns
#   BENCH_DIRS="/dev/shm out/bench"    where files go       BENCH_MIB="64 512" sizes of the .npy files
#   IO_MIB=1024         size of the HDF5 dataset            IO_RANKS="1 2 4"  IO_PARTS="contiguous"  some of group io
set -uo pipefail
. "$(dirname "$0")/lib.sh"
ONLY=${ONLY:-maps plan redist halo dnpy array io}
BENCH_MPI=${BENCH_MPI:-2 4}
BENCH_DIRS=${BENCH_DIRS:-/dev/shm out/bench}
BENCH_MIB=${BENCH_MIB:-64 512}
ARRAY_ROUNDS=${ARRAY_ROUNDS:-3}
out=$PWD/out/bench
rm -rf "$out"
mkdir -p "$out"
# shellcheck disable=SC2086
install $MPI_PACKAGES python3-venv libfftw3-dev libfftw3-mpi-dev python3-petsc4py libscalapack-openmpi-dev
if [[ " $ONLY " == *" io "* ]]; then
    # shellcheck disable=SC2086
    install $HDF5_PACKAGES python3-h5py-mpi python3-mpi4py
    find_hdf5 # it may have been installed just now
fi

failed=
wanted() { [[ " $ONLY " == *" $1 "* ]]; }
absent() { printf '{"missing": "%s", "why": "%s"}\n' "$1" "$2" | tee -a "$out/peers.jsonl"; }
peer() { "$@" 2>>"$out/peers.log" </dev/null | grep '^{' | tee -a "${peers:-$out/peers.jsonl}"; }

# Features of a crate's benches: all that this machine can build, and no kernels of others.
features() {
    case $1 in
        local-array) if have_mpi; then echo --features mpi; fi ;;
        dist-io) echo "--features cli$(have_hdf5 && echo ,hdf5)$(have_mpi && echo ,mpi)" ;;
        *) echo --all-features ;;
    esac
}
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
        python3 -c 'import json,sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable") and m["target"]["name"] == sys.argv[1]][-1])' "$2"
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
# Ours on threads and under MPI, then the peers, at one rank count, into one folder: what is compared stands seconds apart.
array() { # FOLDER RANKS PARTS: repetitions and seconds of a peer's case, and criterion's, by environment
    local folder=$out/array/$1 peers=$out/array/$1/peers.jsonl
    mkdir -p "$folder"
    echo "== array, $3, $2 rank(s), $1 ($SECONDS s)"
    export CRITERION_HOME=$folder/criterion ARRAY_PARTS=$3 ARRAY_RANKS=$2
    "$array_bench" --bench --noplot --warm-up-time 0.1 --measurement-time 0.2 --nresamples 1000 >>"$out/array.log" 2>&1 || failed="$failed array(threads $2)"
    have_mpi || { absent "MPI at $2 ranks" "$MPI_PACKAGES"; return; }
    timeout 600 "${MPIRUN[@]}" -n "$2" "$array_bench" --bench --noplot --warm-up-time 0.1 --measurement-time 0.2 --nresamples 1000 >>"$out/array.log" 2>&1 || failed="$failed array(mpi $2)"
    [ -z "$python" ] || [ "${mpi4py:-}" = no ] || peer timeout 600 "${MPIRUN[@]}" -n "$2" "${HEAT_PYTHON:-$python}" benches/peers/arrays.py "${4},heat"
    [ "$4" = local ] && [ -n "${DISTARRAY_PYTHON:-}" ] || return 0
    PEER_REPETITIONS=3 peer timeout 600 "${MPIRUN[@]}" -n "$2" "$DISTARRAY_PYTHON" benches/peers/distarray_reductions.py
}
if wanted array; then
    array_bench=$(binary local-array array)
    for round in $(seq "$ARRAY_ROUNDS"); do
        for ranks in 1 $BENCH_MPI; do PEER_REPETITIONS=4 PEER_BUDGET=0.5 array "$round" "$ranks" "reduce element" local; done
    done
    for ranks in 1 $BENCH_MPI; do PEER_REPETITIONS=11 PEER_BUDGET=10 array once "$ranks" dot dot; done
    PEER_REPETITIONS=5 PEER_BUDGET=60 array once 2 sort sort
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
# Ours on threads and under MPI, then the peers, at one rank count after another.
io() { # NAME FOLDER PARTS
    local folder=$out/io/$1 ranks peers=$out/io/$1/peers.jsonl
    mkdir -p "$2" "$folder"
    export CRITERION_HOME=$folder/criterion IO_FOLDER PEER_REPETITIONS=4 PEER_BUDGET=2
    IO_FOLDER=$(realpath "$2")
    for ranks in $io_ranks; do
        echo "== io, $ranks rank(s), $1 ($SECONDS s)"
        IO_PARTS=$3 IO_RANKS=$ranks "$io_bench" --bench >>"$out/io.log" 2>&1 || failed="$failed io(threads $ranks)"
        if have_mpi; then
            IO_PARTS=$3 timeout 600 "${MPIRUN[@]}" -n "$ranks" "$io_bench" --bench >>"$out/io.log" 2>&1 || failed="$failed io(mpi $ranks)"
            # shellcheck disable=SC2086
            if [ -n "$h5py_mpi" ]; then peer timeout 600 "${MPIRUN[@]}" -n "$ranks" /usr/bin/python3 benches/peers/hdf5.py "$IO_FOLDER" $3; fi
        else
            absent "MPI at $ranks ranks" "$MPI_PACKAGES"
        fi
        # shellcheck disable=SC2086
        if [ -z "$h5py" ]; then continue; elif [ "$ranks" = 1 ]; then
            peer "$h5py" benches/peers/hdf5.py "$IO_FOLDER" $3
        elif have_mpi && [ "${mpi4py:-}" != no ]; then
            peer timeout 600 "${MPIRUN[@]}" -n "$ranks" "$h5py" benches/peers/hdf5.py "$IO_FOLDER" $3
        fi
    done
}
# The memory that a conversion takes: what `dap` says of itself.
peak() { # BUDGET IN FILES…
    "$dap" convert --report --budget "$@" | sed -nE 's/^peak memory ([0-9]+) bytes, budget ([0-9]+) bytes$/\1 \2/p'
}
converted() { # NAME FOLDER
    local folder=$2/dist-io-peak how peaks
    echo "== io, memory of dap convert ($SECONDS s)"
    mkdir -p "$folder"
    # zeros, which take no time to make
    python3 - "$folder/in.npy" "${IO_MIB:-1024}" <<'EOF'
import sys
header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 16384), }" % (int(sys.argv[2]) * 8)
header = header.ljust(117) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    file.truncate(10 + len(header) + int(sys.argv[2]) * 2**20)
EOF
    for how in "in.npy a.h5:/data --dist b --ranks 4" "a.h5:/data set --dist n,c:64 --ranks 4" "set b.h5:/data --dist c:8,b --grid 2x2"; do
        # shellcheck disable=SC2086
        peaks=$(cd "$folder" && peak 64MiB $how)
        # shellcheck disable=SC2086
        printf '{"group": "io", "case": "convert", "peer": "dap convert %s", "ranks": 1, "peak_bytes": %s, "budget_bytes": %s}\n' "$how" ${peaks:-null null} |
            tee -a "$out/io/$1/peers.jsonl"
    done
    rm -rf "$folder"
}
if wanted io; then
    io_ranks=${IO_RANKS:-1 $BENCH_MPI} h5py=$python h5py_mpi=/usr/bin/python3
    [ -z "$python" ] || "$python" -c 'import h5py' 2>/dev/null || "$venv/bin/pip" install -q h5py >>"$out/pip.log" 2>&1
    [ -n "$python" ] && "$python" -c 'import h5py' 2>/dev/null || { absent h5py "pip could not install it"; h5py=; }
    "${MPIRUN[@]}" -n 1 /usr/bin/python3 -c 'import h5py; assert h5py.get_config().mpi' 2>/dev/null || { absent "h5py with parallel HDF5" python3-h5py-mpi; h5py_mpi=; }
    absent Legate "its package needs the library of a GPU driver"
    if have_hdf5; then
        io_bench=$(binary dist-io io)
        dap=$(dirname "$(dirname "$io_bench")")/dap
        io tmpfs /dev/shm "${IO_PARTS:-contiguous chunked cyclic rows vds gzip batched small}"
        converted tmpfs /dev/shm
        IO_MIB=$((${IO_MIB:-1024} / 4)) io disk out/bench "contiguous chunked"
    else
        absent HDF5 "$HDF5_PACKAGES"
    fi
fi
scripts/bench_report.py "$out" | tee "$out/report.txt"
[ ! -d "$out/array" ] || scripts/bench_array_report.py "$out/array" | tee -a "$out/report.txt"
[ ! -d "$out/io" ] || scripts/bench_io_report.py "$out"/io/* | tee -a "$out/report.txt"
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
