"""h5py_files.py check FOLDER: compares every dataset of FOLDER/ours.h5 with what its elements should be, bit for bit.
h5py_files.py make FOLDER: writes theirs.h5 and userblock.h5 for the tests to read.
"""

import ast
import sys
from pathlib import Path

import h5py
import numpy as np

SHAPE = (7, 10)


def expected(dtype):
    """The array whose elements follow from their flat index, as in tests/support/mod.rs."""
    dtype = np.dtype(dtype)
    flat = np.arange(70, dtype="f8").reshape(SHAPE)
    if dtype.kind == "b":
        return flat % 3 == 0
    if dtype.kind in "iu":
        return (flat * 7 % 120).astype(dtype)
    if dtype.kind == "c":
        return (flat * 0.5 - 3 + 1j * flat).astype(dtype)
    return (flat * 0.5 - 3).astype(dtype)


def check(folder):
    count = 0
    with h5py.File(folder / "ours.h5", "r") as file:

        def one(name, item):
            nonlocal count
            if not isinstance(item, h5py.Dataset):
                return
            wanted = expected(name.split("/")[1] if name.startswith("types/") else "f8")
            found = item[...]
            assert found.dtype == wanted.dtype, (name, found.dtype)
            assert found.tobytes() == wanted.tobytes(), (name, found)
            assert item.chunks is None, name
            assert item.attrs["__version__"] == "0.10.0", name
            ranks = ast.literal_eval(item.attrs["dim_data"])
            assert all(tuple(dim["size"] for dim in rank) == SHAPE for rank in ranks), (name, ranks)
            count += 1

        file.visititems(one)
    print(count, "datasets")


def make(folder):
    with h5py.File(folder / "userblock.h5", "w", userblock_size=512) as file:
        file["a"] = expected("f8")
    np.zeros(70).tofile(folder / "raw")
    with h5py.File(folder / "theirs.h5", "w") as file:
        file["b1"] = expected("b1")
        for order in "<>":
            for code in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
                array = expected(code).astype(order + code)
                dataset = file.create_dataset(order + code, SHAPE, array.dtype)
                dataset[...] = array
        f8 = expected("f8")
        file["soft link"] = h5py.SoftLink("/<f8")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file.create_dataset("chunked", data=f8, chunks=(2, 5))
        file.create_dataset("gzip", data=f8, chunks=SHAPE, compression="gzip")
        file.create_dataset("external", SHAPE, "f8", external=[(str(folder / "raw"), 0, 560)])
        file.create_dataset("never written", SHAPE, "f8")
        file["null"] = h5py.Empty("f8")
        layout = h5py.VirtualLayout(SHAPE, "f8")
        layout[...] = h5py.VirtualSource("theirs.h5", "<f8", shape=SHAPE)
        file.create_virtual_dataset("virtual", layout)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(SHAPE)

        def low_level(name, dtype, plist=None):
            return h5py.h5d.create(file.id, name.encode(), dtype, space, plist)

        low_level("compact", h5py.h5t.IEEE_F64LE, plist).write(h5py.h5s.ALL, h5py.h5s.ALL, f8)
        file.create_dataset("text", SHAPE, h5py.string_dtype())
        file.create_dataset("enum", SHAPE, h5py.enum_dtype({"RED": 0, "BLUE": 1}, "i1"))
        file.create_dataset("compound", SHAPE, [("x", "f4"), ("y", "f4")])
        low_level("bitfield", h5py.h5t.STD_B8LE)
        for name, kind in (("bfloat16", h5py.h5t.IEEE_F32LE), ("bfloat16 big", h5py.h5t.IEEE_F32BE)):
            bf16 = kind.copy()
            bf16.set_fields(15, 7, 8, 0, 7)
            bf16.set_precision(16)
            bf16.set_size(2)
            low_level(name, bf16)
        bits = h5py.h5t.STD_I16LE.copy()
        bits.set_precision(12)
        low_level("12 bits", bits)
        odd = file.create_dataset("odd dim_data", data=f8)
        odd.attrs["__version__"] = "0.10.0"
        odd.attrs["dim_data"] = "[({'dist_type': 'b'},)]"
        odd = file.create_dataset("odd bool", data=expected("b1"))
        offset = odd.id.get_offset()
    with open(folder / "theirs.h5", "r+b") as file:
        file.seek(offset + 12)
        file.write(b"\x07")


{"check": check, "make": make}[sys.argv[1]](Path(sys.argv[2]))
