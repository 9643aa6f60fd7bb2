"""h5py_handles.py make FOLDER: writes theirs.h5, of which ranks read slices and to which they assign.
h5py_handles.py check FOLDER: compares every dataset of FOLDER/theirs.h5 with what it should be after the assignments, and prints their number.
"""

import sys
from pathlib import Path

import h5py
import numpy as np

SHAPE = (12, 9)
DTYPES = ["<i2", ">i4", "<f8", ">f4", ">c16"]
STORED = {
    "contiguous": {},
    "raw": {"chunks": (5, 4)},
    "gzip": {"chunks": (5, 4), "compression": "gzip", "shuffle": True},
    "lzf": {"chunks": (5, 4), "compression": "lzf", "fletcher32": True},
    "grows": {"chunks": (5, 4), "maxshape": (None, 9)},
}


def elements(dtype):
    return (np.arange(108, dtype="f8").reshape(SHAPE) * 7 % 120).astype(dtype)


def make(path):
    with h5py.File(path, "w") as file:
        for dtype in DTYPES:
            for name, how in STORED.items():
                file.create_dataset(f"{name}/{dtype}", data=elements(dtype), **how)
        file.create_dataset("late", SHAPE, "<f8", fillvalue=3.5)


def assigned(array):
    """What the test assigns, by NumPy."""
    array[10:2:-3, 1:7] = np.arange(18).reshape(3, 6).astype(array.dtype)
    array[[11, 0], -1] = 99
    return array


def check(path):
    checked = 0
    with h5py.File(path, "r") as file:
        for dtype in DTYPES:
            for name in STORED:
                found = file[f"{name}/{dtype}"]
                assert found.dtype == np.dtype(dtype), found
                expected = assigned(elements(dtype))
                assert np.array_equal(found[...], expected), (name, dtype, found[...])
                checked += 1
        expected = assigned(np.full(SHAPE, 3.5))
        assert np.array_equal(file["late"][...], expected), file["late"][...]
    print(checked + 1)


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]) / "theirs.h5")
