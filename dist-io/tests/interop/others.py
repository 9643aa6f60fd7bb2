"""Files of other programs.

others.py tables FOLDER    PyTables writes FOLDER/tables.h5
others.py list FILE        of each dataset of numbers one line, KEY TYPE SHAPE FILE: its elements are in that file, beside FILE,
                           in this machine's byte order, as h5py reads them
"""

import pathlib
import sys

import numpy as np


def write_tables(folder):
    import tables

    rng = np.random.default_rng(7)
    with tables.open_file(str(folder / "tables.h5"), "w", title="ours") as file:
        plain = file.create_group("/", "plain")
        for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", ">i4", ">f8"):
            numbers = (rng.random((9, 14)) * 100).astype(code)
            file.create_array(plain, "a" + code.replace(">", "big_"), numbers)
        file.create_array(plain, "flags", rng.random((9, 14)) < 0.5)
        file.create_array(plain, "scalar", np.float64(2.5))
        packed = file.create_group("/", "packed")
        for level, shuffle, fletcher32 in ((1, False, False), (6, True, False), (9, True, True), (0, False, True)):
            filters = tables.Filters(complevel=level, complib="zlib", shuffle=shuffle, fletcher32=fletcher32)
            name = f"zlib{level}{shuffle:d}{fletcher32:d}"
            numbers = rng.integers(0, 50, (31, 17))
            file.create_carray(packed, name, obj=numbers.astype("i4"), chunkshape=(8, 5), filters=filters)
            grown = file.create_earray(packed, "grown" + name, atom=tables.Float64Atom(), shape=(0, 6), filters=filters)
            for _ in range(3):
                grown.append(rng.random((11, 6)))
        # what has no elements of one number each
        file.create_table("/", "records", {"n": tables.Int32Col(), "x": tables.Float64Col()})
        file.create_array("/", "text", [b"ab", b"cd"])


TYPES = {
    ("i", 1): "i8", ("i", 2): "i16", ("i", 4): "i32", ("i", 8): "i64",
    ("u", 1): "u8", ("u", 2): "u16", ("u", 4): "u32", ("u", 8): "u64",
    ("f", 4): "f32", ("f", 8): "f64", ("c", 8): "c64", ("c", 16): "c128", ("b", 1): "bool",
}  # fmt: skip


def listed(path):
    import h5py

    found = []

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or item.shape is None:
            return
        ty = item.id.get_type()
        if ty.get_class() == h5py.h5t.BITFIELD:
            values = item[()].astype("?") if item.shape else np.bool_(item[()])
        elif ty.get_class() == h5py.h5t.COMPOUND and not np.issubdtype(item.dtype, np.complexfloating):
            return
        elif item.dtype.kind in "iufcb" and item.dtype.metadata is None:
            values = item[()]
        else:
            return
        values = np.asarray(values)
        values = values.astype(values.dtype.newbyteorder("="))
        kind = TYPES.get((values.dtype.kind, values.dtype.itemsize))
        if kind is None or " " in name:
            return
        out = path.with_suffix(f".{len(found)}.bin")
        out.write_bytes(values.tobytes())
        shape = ",".join(map(str, values.shape)) or "-"
        found.append(f"{name} {kind} {shape} {out}")

    with h5py.File(path) as file:
        file.visititems(visit)
    print("\n".join(found))


command, where = sys.argv[1], pathlib.Path(sys.argv[2])
if command == "tables":
    write_tables(where)
else:
    listed(where)
