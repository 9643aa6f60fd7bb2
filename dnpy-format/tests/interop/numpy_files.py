#!/usr/bin/env python3
"""numpy_files.py REPACK: arrays of every element type, order and shape through NumPy and the example `repack`.

NumPy writes a `.npy` file; repack makes a `.dnpy` file of it; NumPy reads the elements in that; repack makes a `.npy`
file of the `.dnpy` file again; NumPy reads it. What repack writes in native byte order is what NumPy wrote, to the byte.
"""

import io
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (1, 5), (5, 1), (2, 0, 3), (2, 3, 4), (1, 2, 1, 3), (1,) * 20, (2,) + (1,) * 17]
REFUSED = [
    np.array([("a", 1)], dtype=[("name", "S1"), ("n", "<i4")]),
    np.array(["text"]),
    np.array([b"text"]),
    np.array(["2014-04-01"], dtype="M8[D]"),
    np.zeros(2, dtype="g"),
]
random = np.random.default_rng(20141)


def array(dtype, shape):
    raw = random.integers(0, 256, size=int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    if dtype.kind == "b":
        raw &= 1
    return raw.view(dtype).reshape(shape)


def same(a, b):
    """Bit for bit, whatever the byte order; NaN included."""
    native = [np.ascontiguousarray(x).astype(x.dtype.newbyteorder("="), copy=False) for x in (a, b)]
    return a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and native[0].tobytes() == native[1].tobytes()


def elements(path):
    """The `.npy` part of a `.dnpy` file."""
    data = path.read_bytes()
    assert data[:8] == b"\x93DARRY\x01\x00", data[:8]
    end = 10 + int.from_bytes(data[8:10], "little")
    assert end % 16 == 0 and data[end - 1 : end] == b"\n"
    return data[end:]


def check(repack, folder):
    cases = []
    for number, (name, order, fortran, shape) in enumerate(itertools.product(TYPES, "<>", (False, True), SHAPES)):
        a = array(np.dtype(name).newbyteorder(order), shape)
        if fortran:
            a = np.asfortranarray(a).reshape(shape, order="A")
        files = [folder / f"{number}{suffix}" for suffix in (".npy", ".dnpy", ".back.npy")]
        # strided arrays too: NumPy writes them in C order
        np.save(files[0], a)
        cases.append((a, files))
    for part in range(0, len(cases), 200):
        arguments = [str(f) for _, f in cases[part : part + 200] for f in (f[0], f[1], f[1], f[2])]
        subprocess.run([repack, *arguments], check=True)
    failed = 0
    for a, (original, packed, back) in cases:
        native = a.dtype.newbyteorder("=") == a.dtype
        inner = elements(packed)
        good = same(np.load(io.BytesIO(inner)), a) and same(np.load(back), a)
        if native:
            good = good and inner == original.read_bytes() and back.read_bytes() == original.read_bytes()
        if not good:
            failed += 1
            print("failed:", a.dtype, a.shape, a.flags.f_contiguous, file=sys.stderr)
    return len(cases) - failed, failed


def check_versions(repack, folder):
    """Versions 2.0 and 3.0 of the format."""
    failed = 0
    for version in ((2, 0), (3, 0)):
        a = array(np.dtype("f8"), (3, 4))
        source, packed = folder / "v.npy", folder / "v.dnpy"
        with open(source, "wb") as file:
            np.lib.format.write_array(file, a, version=version)
        subprocess.run([repack, str(source), str(packed)], check=True)
        failed += not same(np.load(io.BytesIO(elements(packed))), a)
    return 2 - failed, failed


def check_refused(repack, folder):
    failed = 0
    for a in REFUSED:
        np.save(folder / "refused.npy", a)
        run = subprocess.run([repack, str(folder / "refused.npy"), str(folder / "out.dnpy")], capture_output=True, text=True)
        if run.returncode == 0 or "descr is" not in run.stderr:
            failed += 1
            print("not refused:", a.dtype, run.stderr, file=sys.stderr)
    return len(REFUSED) - failed, failed


def main():
    repack = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        results = [check(repack, folder), check_versions(repack, folder), check_refused(repack, folder)]
    passed, failed = (sum(column) for column in zip(*results))
    print(f"numpy {np.__version__}: {passed} passed, {failed} failed")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
