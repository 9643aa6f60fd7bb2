"""h5py_handles.py make FOLDER: writes theirs.h5, of which ranks read slices and to which they assign.
h5py_handles.py check FOLDER: compares every dataset of FOLDER/theirs.h5 with what it should be after the assignments, and prints their number.
h5py_handles.py numbers FOLDER: writes numbers.h5, for every dtype pairs of numbers and what NumPy makes of them.
h5py_handles.py made FOLDER: looks at the datasets that FOLDER/made.h5 was made with, and prints their number.
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


REAL = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "true_divide": np.true_divide,
    "negative": lambda a, b: np.negative(a),
    "absolute": lambda a, b: np.absolute(a),
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "invert": lambda a, b: np.invert(a),
}
SHIFTS = {"left_shift": np.left_shift, "right_shift": np.right_shift}
COMPLEX = {name: REAL[name] for name in ["add", "subtract", "multiply", "true_divide", "negative", "absolute", "equal", "not_equal"]}


def pairs(values):
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def numbers(path):
    with h5py.File(path, "w") as file, np.errstate(all="ignore"):

        def write(dtype, values, operations):
            group = file.create_group(dtype)
            a, b = pairs(values)
            group["a"], group["b"] = a, b
            for name, operation in operations.items():
                group[name] = operation(a, b)

        for bits in [8, 16, 32, 64]:
            low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            signed = [low, low + 1, -bits, -7, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, high - 1, high]
            dtype = f"i{bits // 8}"
            write(dtype, np.array(signed, dtype), {**REAL, **BITS, **SHIFTS})
            file[dtype]["sum"] = file[dtype]["a"][...].sum()
            unsigned = [0, 1, 2, 3, 7, bits - 1, bits, 2**bits - 2, 2**bits - 1]
            dtype = f"u{bits // 8}"
            write(dtype, np.array(unsigned, dtype), {**REAL, **BITS, **SHIFTS})
            file[dtype]["sum"] = file[dtype]["a"][...].sum()
        for dtype in ["f2", "f4", "f8"]:
            special = [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 2.5, -2.5, 6.0, 1e-5, 1e4, np.inf, -np.inf, np.nan]
            write(dtype, np.array(special, dtype), REAL)
            with_root = file[dtype]["a"][...]
            file[dtype]["sqrt"] = np.sqrt(with_root)
            whole = np.arange(3000).astype(dtype) % 7
            file[dtype]["whole"], file[dtype]["sum"] = whole, whole.sum()
        for dtype in ["c8", "c16"]:
            parts = [0.0, 1.0, -2.0, 3.0]
            values = np.array([complex(x, y) for x in parts for y in parts], dtype)
            write(dtype, values, COMPLEX)
            file[dtype]["sqrt"] = np.sqrt(file[dtype]["a"][...])
            file[dtype]["sum"] = file[dtype]["a"][...].sum()
        flags = np.array([False, True])
        write("b1", flags, {**BITS, "less": np.less, "equal": np.equal})


def made(path):
    with h5py.File(path, "r") as file:
        plain, coded, half = file["plain"], file["g/coded"], file["half"]
        assert plain.chunks is None and plain.fillvalue == -1.5, plain.fillvalue
        assert coded.chunks == (4, 3) and coded.compression == "gzip" and coded.compression_opts == 4, coded
        assert coded.shuffle and coded.fletcher32 and coded.fillvalue == 9, coded.fillvalue
        assert half.dtype == np.float16 and np.isnan(half.fillvalue), half.fillvalue
        expected = np.full((10, 6), 9, "u2")
        expected[3] = 7
        assert np.array_equal(coded[...], expected), coded[...]
        assert np.array_equal(plain[...], np.full((10, 6), -1.5)), plain[...]
        assert coded.id.get_num_chunks() == 2, coded.id.get_num_chunks()
    print(3)


FILES = {
    "make": (make, "theirs.h5"),
    "check": (check, "theirs.h5"),
    "numbers": (numbers, "numbers.h5"),
    "made": (made, "made.h5"),
}

if __name__ == "__main__":
    function, name = FILES[sys.argv[1]]
    function(Path(sys.argv[2]) / name)
