#!/usr/bin/env bash
# NumPy reads the elements of what we write, and we read what NumPy writes: with a NumPy 1 and a NumPy 2.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

repack=$TARGET/debug/examples/repack
workspace
step build cargo build -q "${WORKSPACE[@]}" --example repack
for version in 1.26.4 2.2.6; do
    venv=$TARGET/interop-venv-$version
    if ! "$venv/bin/python" -c "import numpy; assert numpy.__version__ == '$version'" 2>/dev/null; then
        rm -rf "$venv"
        if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q --only-binary :all: "numpy==$version"; } >"$LOGS/pip-numpy-$version.log" 2>&1; then
            rm -rf "$venv"
            skip "numpy-$version" "no NumPy $version from pip (log: $LOGS/pip-numpy-$version.log)"
            continue
        fi
    fi
    step "numpy-$version" "$venv/bin/python" dnpy-format/tests/interop/numpy_files.py "$repack"
done
summary python-interop
