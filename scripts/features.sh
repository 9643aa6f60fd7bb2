#!/usr/bin/env bash
# Builds every crate with no feature, each feature alone, and all pure ones: libraries and commands alone, because
# development dependencies would switch features on. Warnings are errors.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
check=(check) deny=()
if cargo clippy --version >/dev/null 2>&1; then check=(clippy) deny=(-- -D warnings); fi
while read -r crate features; do
    name="features-$crate-$features"
    if [ "$features" = mpi ] && ! have_mpi; then
        skip "$name" "no MPI ($MPI_PACKAGES)"
    elif [ "$features" = hdf5 ] && ! have_hdf5; then
        skip "$name" "no HDF5 ($HDF5_PACKAGES)"
    elif [ "$features" = hdf5-mpio ] && ! have_mpio; then
        skip "$name" "no parallel HDF5 ($HDF5_PACKAGES) or no MPI ($MPI_PACKAGES)"
    elif [ "$features" = - ]; then
        step "$name" cargo "${check[@]}" -q -p "$crate" --lib --bins --no-default-features "${deny[@]}"
    else
        step "$name" cargo "${check[@]}" -q -p "$crate" --lib --bins --no-default-features --features "$features" "${deny[@]}"
    fi
done < <(scripts/pure-features.py --sets)
summary features
