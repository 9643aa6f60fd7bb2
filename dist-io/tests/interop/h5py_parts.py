"""h5py_parts.py check FOLDER: compares every dataset of FOLDER/ours.h5 with what its elements should be, bit for bit.
h5py_parts.py annotate FOLDER: adds attributes and links to FOLDER/ours.h5; `annotated` looks for them.
h5py_parts.py make FOLDER: writes theirs.h5, with virtual datasets of many kinds, and what they are made of.
h5py_parts.py odd FOLDER: writes odd.h5, with virtual datasets of chunked, interleaved, missing and nested sources; what h5py reads of
each goes to NUMBER.bin, and a line "NUMBER ROWS COLUMNS NAME" is printed.
h5py_parts.py kinds FOLDER: writes kinds.h5, with datasets of many types and shapes, and virtual ones over some of them.
h5py_parts.py watch FOLDER: opens FOLDER/a.h5, prints a line, waits for one, and prints the sum of its dataset "a".
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



def odd(folder):
    f8 = expected("f8")
    large = np.arange(40.0 * 30).reshape(40, 30)
    with h5py.File(folder / "sources.h5", "w") as file:
        file["rows"] = f8
        file.create_dataset("gzip", data=large, chunks=(7, 8), compression="gzip", shuffle=True)
        file.create_dataset("lzf", data=large + 0.5, chunks=(16, 30), compression="lzf")
        file.create_dataset("fletcher32", data=-large, chunks=(40, 3), fletcher32=True)
        file.create_dataset("chunked", data=large * 2, chunks=(9, 9), maxshape=(None, 30))
        file.create_dataset("unwritten", (40, 30), "f8", chunks=(5, 5), fillvalue=7)
        file.create_dataset("nowhere", (40, 30), "f8", fillvalue=8)
        partly = file.create_dataset("partly", (40, 30), "f8", chunks=(5, 5), fillvalue=9)
        partly[3:8, 20:] = large[3:8, 20:]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((7, 10))
        h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F64BE, space, plist)
        file["compact"][...] = f8
        file.create_dataset("big", data=large.astype(">f8"), chunks=(11, 7), compression="gzip")
        # more chunks than are listed
        file.create_dataset("many", data=large, chunks=(1, 1))
        for number in range(4):
            file[f"block {number}"] = np.full((2, 5), number * 10.0) + np.arange(5)
    for number in range(5):
        with h5py.File(folder / f"step_{number}%.h5", "w") as file:
            file.create_dataset("x", data=np.full((3, 4), number) + [[0], [0.25], [0.5]], chunks=(2, 2))
    (folder / "elsewhere").mkdir()

    source = lambda name, shape=(40, 30), **more: h5py.VirtualSource("sources.h5", name, shape, **more)
    path = folder / "odd.h5"
    with h5py.File(path, "w") as file:

        def single(name, shape, fill, fillvalue=None, dtype="f8", maxshape=None):
            layout = h5py.VirtualLayout(shape, dtype, maxshape)
            fill(layout)
            file.create_virtual_dataset(name, layout, fillvalue=fillvalue)

        for name in ("gzip", "lzf", "fletcher32", "chunked", "unwritten", "nowhere", "partly", "big", "many"):

            def alone(layout):
                layout[...] = source(name)

            single(f"alone/{name}", (40, 30), alone)

        def stacked(layout):
            for number, name in enumerate(("gzip", "lzf", "fletcher32", "partly")):
                layout[40 * number : 40 * (number + 1)] = source(name)

        single("stacked", (160, 30), stacked)

        def side_by_side(layout):
            layout[:, :30] = source("gzip")
            layout[:, 30:] = source("chunked")

        single("side by side", (40, 60), side_by_side)

        def rows(layout):
            layout[::2] = source("gzip")
            layout[1::2] = source("lzf")

        single("interleaved rows", (80, 30), rows)

        def columns(layout):
            layout[:, ::3] = source("gzip")
            layout[:, 1::3] = source("nowhere")
            layout[:, 2::3] = source("big")

        single("interleaved columns", (40, 90), columns)

        def windows(layout):
            layout[5:10, 3:6] = source("chunked")[30:35, 2:5]
            layout[20:30:2, 10:20] = source("gzip")[1:40:8, 5:15]
            layout[0, ::7] = source("fletcher32")[39, 0:30:6]

        single("windows and gaps", (40, 30), windows, fillvalue=-1)
        single("gaps without a value", (40, 30), lambda layout: layout.__setitem__(slice(3, 5), source("gzip")[3:5]))
        single("nothing", (4, 6), lambda layout: None, fillvalue=2.5)

        def of_big(layout):
            layout[:40] = source("big")

        single("big with gaps", (50, 30), of_big, fillvalue=1.5, dtype=">f8")

        def compact(layout):
            layout[1:8, ::2] = source("compact", (7, 10))

        single("compact", (9, 20), compact, fillvalue=3)

        def transposed_extents(layout):
            layout[3] = source("gzip")[:30, 4]
            layout[4] = source("gzip")[7]

        single("a column as a row", (6, 30), transposed_extents, fillvalue=0)

        def nested(layout):
            layout[:80] = h5py.VirtualSource(".", "interleaved rows", (80, 30))
            layout[80:] = h5py.VirtualSource("odd.h5", "windows and gaps", (40, 30))

        single("nested", (120, 30), nested)
        single("nested twice", (60, 15), lambda layout: layout.__setitem__(..., h5py.VirtualSource(".", "nested", (120, 30))[::2, ::2]))

        def moved(layout):
            layout[...] = h5py.VirtualSource(str(folder / "elsewhere" / "sources.h5"), "gzip", (40, 30))

        single("moved with its folder", (40, 30), moved)

        unlimited = h5py.h5s.UNLIMITED

        def low_level(name, shape, maxshape, file_name, dataset, source_dims, select, fillvalue=None):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if fillvalue is not None:
                plist.set_fill_value(np.array(fillvalue))
            target = h5py.h5s.create_simple(shape, maxshape)
            space = h5py.h5s.create_simple(*source_dims)
            select(target, space)
            plist.set_virtual(target, file_name, dataset, space)
            whole = h5py.h5s.create_simple(shape, maxshape)
            h5py.h5d.create(file.id, name, h5py.h5t.IEEE_F64LE, whole, plist)

        def blocks_of_columns(target, space):
            target.select_hyperslab((0, 1), (40, 10), (1, 5), (1, 3))

        low_level(b"blocks of columns", (40, 52), (40, 52), b"sources.h5", b"gzip", ((40, 30),), blocks_of_columns, 4.0)

        def lists(target, space):
            for place, (row, count) in enumerate(((0, 2), (5, 1), (7, 3))):
                target.select_hyperslab((row, 2), (count, 5), op=h5py.h5s.SELECT_OR if place else h5py.h5s.SELECT_SET)
            space.select_hyperslab((3, 10), (6, 5))

        low_level(b"lists of rows", (12, 10), (12, 10), b"sources.h5", b"gzip", ((40, 30),), lists, 5.0)

        def steps(target, space):
            target.select_hyperslab((0, 0), (unlimited, 1), (3, 1), (3, 4))

        low_level(b"a file for each block", (15, 4), (unlimited, 4), b"step_%b%%.h5", b"x", ((3, 4),), steps)

        def gappy(target, space):
            target.select_hyperslab((1, 0), (unlimited, 1), (4, 1), (2, 5))

        low_level(b"a dataset for each block", (16, 5), (unlimited, 5), b"sources.h5", b"block %b", ((2, 5),), gappy, 6.0)

        def grows(target, space):
            target.select_hyperslab((2, 0), (unlimited, 1), (1, 1), (1, 30))
            space.select_hyperslab((0, 0), (unlimited, 1), (1, 1), (1, 30))

        low_level(b"as long as its source", (42, 30), (unlimited, 30), b"sources.h5", b"chunked", ((40, 30), (unlimited, 30)), grows, 1.0)

        # what is refused
        single("refused/missing", (40, 30), lambda layout: layout.__setitem__(..., h5py.VirtualSource("gone.h5", "x", (40, 30))))
        single("refused/itself", (40, 30), lambda layout: layout.__setitem__(..., h5py.VirtualSource(".", "refused/itself", (40, 30))))

        def overlap(layout):
            layout[::2] = source("gzip")[:20]
            layout[:3] = source("lzf")[:3]

        single("refused/overlap", (40, 30), overlap)

        def reshaped(target, space):
            target.select_hyperslab((0, 0), (6, 5))
            space.select_hyperslab((0, 0), (3, 10))

        low_level(b"refused/reshaped", (40, 30), (40, 30), b"sources.h5", b"gzip", ((40, 30),), reshaped)

        def stairs(target, space):
            target.select_hyperslab((0, 0), (1, 10))
            target.select_hyperslab((2, 1), (1, 10), op=h5py.h5s.SELECT_OR)
            space.select_hyperslab((0, 0), (2, 10))

        low_level(b"refused/stairs", (40, 30), (40, 30), b"sources.h5", b"gzip", ((40, 30),), stairs)

    names = []
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) and "refused" not in name else None)
        for number, name in enumerate(names):
            found = file[name][...]
            (folder / f"{number}.bin").write_bytes(found.astype("<f8").tobytes())
            print(number, *found.shape, name)


def kinds(folder):
    f8 = expected("f8")
    with h5py.File(folder / "kinds.h5", "w") as file:
        for code in ("i4", "f8", "f4", "u2", "c16"):
            file.create_dataset(f"big/{code}", data=expected(code).astype(">" + code))
            file.create_dataset(f"big gzip/{code}", data=expected(code).astype(">" + code), chunks=(3, 4), compression="gzip")
        file.create_dataset("gzip/f8", data=f8, chunks=(2, 3), compression="gzip", shuffle=True)
        file.create_dataset("lzf/f8", data=f8, chunks=(2, 3), compression="lzf")
        file.create_dataset("bool", data=expected("?"), chunks=(4, 4))
        file.create_dataset("f2", data=expected("f2"))
        file.create_dataset("unwritten", (7, 10), "i4", chunks=(2, 2), fillvalue=-5)
        file.create_dataset("enumeration", data=np.zeros((7, 10), "i4"), dtype=h5py.enum_dtype({"a": 0, "b": 1}, "i4"))
        file.create_dataset("long double", data=np.zeros((7, 10), "f16"))
        file.create_dataset("texts", data=np.full((7, 10), b"text"))
        file.create_dataset("long texts", data=np.full((7, 10), "text", object), dtype=h5py.string_dtype())
        file.create_dataset("records", data=np.zeros((7, 10), [("a", "i4"), ("b", "f8")]))
        file.create_dataset("null", data=h5py.Empty("f8"))
        file.create_dataset("scalar", data=np.float64(2.5))
        for shape in ((0,), (0, 5), (5, 0), (0, 0, 3)):
            file.create_dataset("empty/" + "x".join(map(str, shape)), shape, "f8")


def watch(folder):
    with h5py.File(folder / "a.h5", "r") as file:
        dataset = file["a"]
        print("open", flush=True)
        sys.stdin.readline()
        print(dataset[...].sum(), flush=True)


COMMANDS = {"check": check, "annotate": annotate, "annotated": annotated, "make": make, "odd": odd, "kinds": kinds, "watch": watch}
COMMANDS[sys.argv[1]](Path(sys.argv[2]))
