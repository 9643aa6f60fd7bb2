"""h5py_parts.py check FOLDER: compares every dataset of FOLDER/ours.h5 with what its elements should be, bit for bit.
h5py_parts.py annotate FOLDER: adds attributes and links to FOLDER/ours.h5; `annotated` looks for them.
h5py_parts.py make FOLDER: writes theirs.h5, with virtual datasets of many kinds, and what they are made of.
"""

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
    count = virtual = 0
    with h5py.File(folder / "ours.h5", "r") as file:

        def one(name, item):
            nonlocal count, virtual
            if not isinstance(item, h5py.Dataset):
                return
            wanted = expected(name.split("/")[1] if name.startswith("types/") else "f8")
            found = item[...]
            assert found.dtype == wanted.dtype, (name, found.dtype)
            assert found.tobytes() == wanted.tobytes(), (name, found)
            if item.is_virtual:
                assert all(not source.file_name.startswith("/") for source in item.virtual_sources()), name
            count += 1
            virtual += item.is_virtual

        file.visititems(one)
    print(f"{count} datasets, {virtual} virtual")


TEXTS = np.array(["a", "longer", "grün"], dtype=object)


def annotate(folder):
    with h5py.File(folder / "ours.h5", "r+") as file:
        item = file["types/f8"]
        item.attrs["unit"] = "K"
        item.attrs["numbers"] = np.arange(6, dtype=">i2").reshape(2, 3)
        item.attrs.create("texts", TEXTS, dtype=h5py.string_dtype())
        item.attrs["fixed"] = np.bytes_("fixed")
        item.attrs["flag"] = True
        item.attrs["nothing"] = h5py.Empty("f4")
        item.attrs["record"] = np.array((1, 2.5), dtype=[("i", "i4"), ("x", "f8")])
        file["types"].attrs["of group"] = 7
        file["second name"] = item
        file["soft"] = h5py.SoftLink("/types/f8")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["types/cycle"] = file["/"]
        file["plain"] = expected("f8")


def annotated(folder):
    with h5py.File(folder / "ours.h5", "r") as file:
        for item in (file["types/f8"], file["second name"], file["soft"]):
            assert item.attrs["unit"] == "K"
            assert item.attrs["numbers"].dtype == np.dtype(">i2")
            assert (item.attrs["numbers"] == [[0, 1, 2], [3, 4, 5]]).all()
            assert list(item.attrs["texts"]) == list(TEXTS)
            assert item.attrs["fixed"] == b"fixed"
            assert item.attrs["flag"] == np.bool_(True)
            assert isinstance(item.attrs["nothing"], h5py.Empty)
            assert item.attrs["record"]["x"] == 2.5
            assert item.attrs["dim_data"].startswith("[(")
            assert "dist_io_save" not in item.attrs
        assert file["second name"] == file["types/f8"]
        assert file["types"].attrs["of group"] == 7
        assert file.get("dangling", getlink=True).path == "/nowhere"
        assert file["types/cycle/types/f8"] == file["types/f8"]
    print("annotated")


def make(folder):
    f8 = expected("f8")
    (folder / "sub").mkdir()
    for name, data in (("top", f8[:3]), ("bottom", f8[3:])):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = data
            file["big"] = data.astype(">f8")
            file["i8"] = data.astype("i8")
            file["bool"] = expected("b1")[: len(data)] if name == "top" else expected("b1")[3:]
            file["complex"] = (expected("c8")[:3] if name == "top" else expected("c8")[3:])
            file.create_group("group")
            file.create_dataset("chunked", data=data, chunks=(1, 10))
    with h5py.File(folder / "sub" / "bottom.h5", "w") as file:
        file["x"] = f8[3:]
    for row in range(7):
        with h5py.File(folder / f"row{row}.h5", "w") as file:
            file["x"] = f8[row]
    # tiles lie inside larger arrays
    with h5py.File(folder / "tiles.h5", "w") as file:
        for name, rows, columns in (("a", slice(0, 4), slice(0, 6)), ("b", slice(0, 4), slice(6, 10)), ("c", slice(4, 7), slice(0, 10))):
            tile = f8[rows, columns]
            large = np.full((tile.shape[0] + 3, tile.shape[1] + 2), np.nan)
            large[1 : 1 + tile.shape[0], 2 : 2 + tile.shape[1]] = tile
            file[name] = large

    with h5py.File(folder / "theirs.h5", "w") as file:
        file["x"] = f8

        def halves(name, dtype="f8", dataset="x", top="top.h5", bottom="bottom.h5", shape=(3, 10)):
            layout = h5py.VirtualLayout(SHAPE, dtype)
            layout[:3] = h5py.VirtualSource(top, dataset, shape)
            layout[3:] = h5py.VirtualSource(bottom, dataset, (4, 10))
            file.create_virtual_dataset(name, layout)

        halves("halves")
        halves("nested/group")
        halves("absolute", top=str(folder / "top.h5"))
        halves("other folder", bottom="sub/bottom.h5")
        halves("big parts", dataset="big")
        halves("big", dtype=">f8")
        halves("bool", dtype="?", dataset="bool")
        halves("complex", dtype="c8", dataset="complex")
        halves("no file", bottom="nowhere.h5")
        halves("no dataset", dataset="y")
        halves("another type", dataset="i8")
        halves("group", dataset="group")
        halves("chunked", dataset="chunked")

        layout = h5py.VirtualLayout(SHAPE, "f8")
        for row in range(7):
            layout[row] = h5py.VirtualSource(f"row{row}.h5", "x", (10,))
        file.create_virtual_dataset("stacked rows", layout)

        layout = h5py.VirtualLayout(SHAPE, "f8")
        layout[:4, :6] = h5py.VirtualSource("tiles.h5", "a", (7, 8))[1:5, 2:8]
        layout[:4, 6:] = h5py.VirtualSource("tiles.h5", "b", (7, 6))[1:5, 2:6]
        layout[4:] = h5py.VirtualSource("tiles.h5", "c", (6, 12))[1:4, 2:12]
        file.create_virtual_dataset("tiles", layout)

        def single(name, fill):
            layout = h5py.VirtualLayout(SHAPE, "f8")
            fill(layout)
            file.create_virtual_dataset(name, layout)

        def own(layout):
            layout[...] = h5py.VirtualSource(".", "x", SHAPE)

        def strided(layout):
            layout[::2] = h5py.VirtualSource("bottom.h5", "x", (4, 10))
            layout[1::2] = h5py.VirtualSource("top.h5", "x", (3, 10))

        def overlap(layout):
            layout[:3] = h5py.VirtualSource("top.h5", "x", (3, 10))
            layout[2:6] = h5py.VirtualSource("bottom.h5", "x", (4, 10))

        def gap(layout):
            layout[:3] = h5py.VirtualSource("top.h5", "x", (3, 10))

        def another_shape(layout):
            layout[:3] = h5py.VirtualSource("bottom.h5", "x", (3, 10))

        def beyond(layout):
            layout[:3] = h5py.VirtualSource("top.h5", "x", (4, 10))[1:]

        single("own file", own)
        single("strided", strided)
        single("overlap", overlap)
        single("gap", gap)
        single("another shape", another_shape)
        single("beyond", beyond)

        def low_level(name, source_dims, name_of_source, select):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            target = h5py.h5s.create_simple(SHAPE)
            source = h5py.h5s.create_simple(*source_dims)
            select(target, source)
            plist.set_virtual(target, name_of_source, b"x", source)
            h5py.h5d.create(file.id, name, h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(SHAPE), plist)

        def by_reshaping(target, source):
            target.select_hyperslab((0, 0), (6, 5))
            source.select_hyperslab((0, 0), (3, 10))

        low_level(b"reshaped", ((3, 10),), b"top.h5", by_reshaping)

        def two_blocks(target, source):
            target.select_hyperslab((0, 0), (1, 10))
            target.select_hyperslab((2, 0), (3, 10), op=h5py.h5s.SELECT_OR)

        low_level(b"points", ((4, 10),), b"bottom.h5", two_blocks)

        # a source for each row, as many as there are
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        unlimited = h5py.h5s.UNLIMITED
        target = h5py.h5s.create_simple(SHAPE, (unlimited, 10))
        target.select_hyperslab((0, 0), (unlimited, 1), (1, 1), (1, 10))
        plist.set_virtual(target, b"row%b.h5", b"x", h5py.h5s.create_simple((10,)))
        h5py.h5d.create(file.id, b"pattern", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple(SHAPE, (unlimited, 10)), plist)


{"check": check, "annotate": annotate, "annotated": annotated, "make": make}[sys.argv[1]](Path(sys.argv[2]))
