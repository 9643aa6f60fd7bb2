"""Arrays whose elements follow from their flat index, as in tests/support/mod.rs."""

import h5py
import numpy as np

SHAPE = (7, 10)

INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8".split()
NUMBERS = [*INTEGERS, *"f2 f4 f8 c8 c16".split()]


def expected(dtype):
    dtype = np.dtype(dtype)
    flat = np.arange(70, dtype="f8").reshape(SHAPE)
    if dtype.kind == "b":
        return flat % 3 == 0
    if dtype.kind in "iu":
        return (flat * 7 % 120).astype(dtype)
    if dtype.kind == "c":
        return (flat * 0.5 - 3 + 1j * flat).astype(dtype)
    return (flat * 0.5 - 3).astype(dtype)


def bfloat16(kind=h5py.h5t.IEEE_F32LE):
    """The upper half of a float of 4 bytes, as HDF5 2.0 names it and ml_dtypes has it."""
    kind = kind.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_precision(16)
    kind.set_size(2)
    return kind


def upper_halves(array):
    return (array.astype("<f4").view("<u4") >> 16).astype("<u2")
