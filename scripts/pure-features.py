#!/usr/bin/env python3
"""Features of the members, read from `cargo metadata`.

pure-features.py            crate/feature,... of every feature that needs no system library
pure-features.py --mpi      those, and `mpi`; likewise --hdf5, --hdf5-mpio
pure-features.py --sets     one line a set to check: CRATE FEATURES (none, each alone, all pure ones)
"""

import json
import subprocess
import sys

# Features that need a system library.
NEEDS = ("mpi", "hdf5", "hdf5-mpio", "blas")


def members():
    text = subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"])
    for package in json.loads(text)["packages"]:
        yield package["name"], sorted(f for f in package["features"] if f != "default")


def main():
    if sys.argv[1:] == ["--sets"]:
        for name, features in members():
            pure = [f for f in features if f not in NEEDS]
            print(name, "-")
            for feature in features:
                print(name, feature)
            if len(pure) > 1:
                print(name, ",".join(pure))
    else:
        left_out = [f for f in NEEDS if f"--{f}" not in sys.argv]
        print(",".join(f"{name}/{f}" for name, features in members() for f in features if f not in left_out))


main()
