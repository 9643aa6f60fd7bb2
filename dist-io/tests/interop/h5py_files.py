"""h5py_files.py check FOLDER: compares every dataset of FOLDER/ours.h5 with what its elements should be, bit for bit.
h5py_files.py make FOLDER: writes theirs.h5, latest.h5 and userblock.h5 for the tests to read.
h5py_files.py lock FILE: opens a file for writing, says so, and closes it when its input ends.
"""

import ast
import itertools
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np

from elements import NUMBERS, SHAPE, bfloat16, expected, upper_halves


def check(folder):
    count = 0
    with h5py.File(folder / "ours.h5", "r") as file:

        def one(name, item):
            nonlocal count
            if not isinstance(item, h5py.Dataset):
                return
            group, code = name.split("/")[:2]
            if code == "bfloat16":
                assert item.id.get_type().equal(bfloat16()), name
                wanted = upper_halves(expected("f4"))
                found = np.zeros(SHAPE, "<u2")
                item.id.read(h5py.h5s.ALL, h5py.h5s.ALL, found, mtype=bfloat16())
            else:
                wanted = expected(code if group in ("types", "filters") else "f8")
                found = item[...]
            assert found.dtype == wanted.dtype, (name, found.dtype)
            assert found.tobytes() == wanted.tobytes(), (name, found)
            # the last part of a name says how it is stored: "3x4 shuffle gzip fletcher32"
            way = name.split("/")[-1].split(" ") if group in ("chunks", "filters") else [""]
            chunks = tuple(map(int, way[0].split("x"))) if way[0] else None
            assert item.chunks == chunks, (name, item.chunks)
            assert item.shuffle == ("shuffle" in way), name
            assert (item.compression == "gzip") == ("gzip" in way), name
            assert item.fletcher32 == ("fletcher32" in way), name
            if "units" in item.attrs:
                assert item.attrs["units"] == "K" and item.attrs["n"] == -3 and item.attrs["x"] == 0.5, name
            assert item.attrs["__version__"] == "0.10.0", name
            ranks = ast.literal_eval(item.attrs["dim_data"])
            assert all(tuple(dim["size"] for dim in rank) == SHAPE for rank in ranks), (name, ranks)
            count += 1

        file.visititems(one)
    print(count, "datasets")


def chunked(file):
    """Chunked datasets of every kind that h5py makes, all with the same elements unless their names say otherwise."""
    f8 = expected("f8")
    file.create_dataset("chunked", data=f8, chunks=(2, 5))
    file.create_dataset("ragged", data=f8, chunks=(3, 4))
    file.create_dataset("wide", data=f8, chunks=(20, 16), maxshape=(None, None), compression="gzip")
    file.create_dataset("grown", data=f8[:3, :4], chunks=(2, 3), maxshape=(None, 10)).resize(SHAPE)
    file["grown"][...] = f8
    file.create_dataset("one way", data=f8, chunks=(2, 3), maxshape=(None, 10), shuffle=True)
    for compression, shuffle, fletcher32 in itertools.product((None, "gzip", "lzf"), (False, True), (False, True)):
        name = f"filters {compression} {shuffle} {fletcher32}"
        file.create_dataset(name, data=f8, chunks=(3, 4), compression=compression, shuffle=shuffle, fletcher32=fletcher32)
    # noise gets no shorter: the filter is left out for such a chunk
    noise = np.random.default_rng(5).integers(0, 256, (7, 10), "u1")
    file.create_dataset("noise", data=noise, chunks=(7, 10), compression="lzf", shuffle=True)
    file.create_dataset("noise as it is", data=noise)
    for order in "<>":
        for code in "i1 i2 u4 i8 f2 f4 f8 c8 c16".split():
            array = expected(code).astype(order + code)
            dataset = file.create_dataset(f"gzip {order}{code}", SHAPE, array.dtype, chunks=(3, 4), compression="gzip", shuffle=True)
            dataset[...] = array
    file.create_dataset("gzip b1", data=expected("b1"), chunks=(2, 2), compression="gzip", fletcher32=True)
    partly = file.create_dataset("partly", SHAPE, ">f8", chunks=(2, 3), fillvalue=-1.5, compression="gzip")
    partly[3:5, 4:9] = f8[3:5, 4:9]
    file.create_dataset("chunks nowhere", SHAPE, "f8", chunks=(2, 3), fillvalue=2.5)
    file.create_dataset("many", data=np.arange(5000, dtype="i4"), chunks=(1,), fletcher32=True)


def broken(file):
    """Chunks whose bytes are not what the dataset says."""
    def one(name, stored, **filters):
        dataset = file.create_dataset(name, (4, 4), "i2", chunks=(2, 4), **filters)
        dataset[...] = 7
        dataset.id.write_direct_chunk((2, 0), stored)

    good = np.full((2, 4), 7, "<i2").tobytes()
    one("no stream", b"no stream at all", compression="gzip")
    one("cut stream", zlib.compress(good)[:-5], compression="gzip")
    one("longer stream", zlib.compress(good + b"more"), compression="gzip")
    one("huge stream", zlib.compress(bytes(50_000_000)), compression="gzip")
    one("shorter stream", zlib.compress(good[:-1]), compression="gzip")
    one("wrong checksum", good + b"\1\2\3\4", fletcher32=True)
    one("no checksum", b"\1\2\3", fletcher32=True)
    one("no lzf", b"\xff" * 9, compression="lzf")
    one("no shuffle", good[:-2], shuffle=True)


def lock(file):
    with h5py.File(file, "r+", locking=True):
        print("locked", flush=True)
        sys.stdin.read()


def make(folder):
    # the newest format that HDF5 1.10 reads
    with h5py.File(folder / "latest.h5", "w", libver=("v110", "v110")) as file:
        chunked(file)
    with h5py.File(folder / "broken.h5", "w") as file:
        broken(file)
    with h5py.File(folder / "userblock.h5", "w", userblock_size=512) as file:
        file["a"] = expected("f8")
        file.create_dataset("chunked", data=expected("f8"), chunks=(2, 3), compression="gzip", fletcher32=True)
    np.zeros(70).tofile(folder / "raw")
    with h5py.File(folder / "theirs.h5", "w") as file:
        file["b1"] = expected("b1")
        for order in "<>":
            for code in NUMBERS:
                array = expected(code).astype(order + code)
                dataset = file.create_dataset(order + code, SHAPE, array.dtype)
                dataset[...] = array
        f8 = expected("f8")
        file["soft link"] = h5py.SoftLink("/<f8")
        file["dangling"] = h5py.SoftLink("/nowhere")
        chunked(file)
        file.create_dataset("scaleoffset", data=expected("i4"), chunks=(3, 4), scaleoffset=0, shuffle=True)
        file.create_dataset("zstd", SHAPE, "f8", chunks=SHAPE, compression=32015, allow_unknown_filter=True)
        file.create_dataset("external", SHAPE, "f8", external=[(str(folder / "raw"), 0, 560)])
        file.create_dataset("never written", SHAPE, "f8")
        file.create_dataset("never filled", SHAPE, ">f8", fillvalue=2.5)
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
        for base in "i1", ">u2", "<i8":
            colours = h5py.enum_dtype({"RED": 0, "BLUE": 100}, base)
            file.create_dataset(f"enum {base}", SHAPE, colours)[...] = expected(base)
        file.create_dataset("compound", SHAPE, [("x", "f4"), ("y", "f4")])
        # as PyTables writes them
        bits = low_level("bitfield", h5py.h5t.STD_B8LE)
        bits.write(h5py.h5s.ALL, h5py.h5s.ALL, expected("b1").view("u1"), mtype=h5py.h5t.STD_B8LE)
        halves = upper_halves(expected("f4"))
        for name, kind in (("bfloat16", h5py.h5t.IEEE_F32LE), ("bfloat16 big", h5py.h5t.IEEE_F32BE)):
            in_file = bfloat16(kind)
            low_level(name, in_file).write(h5py.h5s.ALL, h5py.h5s.ALL, halves, mtype=bfloat16())
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


{"check": check, "make": make, "lock": lock}[sys.argv[1]](Path(sys.argv[2]))
