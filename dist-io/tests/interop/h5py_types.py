"""Types, attributes and checksums: what ranks wrote, checked, and what h5py writes, to be read."""
import json
import os
import sys
import zlib

import h5py
import numpy as np

from elements import INTEGERS, NUMBERS, SHAPE, bfloat16, expected, upper_halves

command, path = sys.argv[1:]


def particles(extra=()):
    dtype = np.dtype([("id", "<u2"), ("x", ">f8"), ("kind", "S5"), ("z", "<c8"), ("alive", "?"), *extra])
    records = np.zeros(12, dtype)
    for i in range(12):
        records[i]["id"] = i * 300
        records[i]["x"] = i * 0.25
        records[i]["kind"] = b"k%d" % i
        records[i]["z"] = complex(i, -1)
        records[i]["alive"] = i % 3 == 0
    return records.reshape(3, 4)


if command == "orders":
    with h5py.File(path, "r") as file:
        for code in file["big"]:
            little, big = file["little"][code], file["big"][code]
            if code != "bfloat16":
                assert little.dtype == np.dtype(code).newbyteorder("<"), (code, little.dtype)
                assert big.dtype == np.dtype(code).newbyteorder(">"), (code, big.dtype)
            for other in (big, file["big chunks"][code]):
                assert np.array_equal(little[...], other[...]), code
elif command == "enumerations":
    with h5py.File(path, "r") as file:
        for key, order in (("native", "<"), ("big", ">")):
            names = h5py.check_enum_dtype(file[key].dtype)
            assert names == {"RED": 0, "GREEN": -3, "BLUE": 300}, names
            assert file[key].dtype == np.dtype(order + "i2"), file[key].dtype
            assert file[key][...].tolist() == [0, -3, 300, 0, 7]
elif command == "codes":
    with h5py.File(path, "r") as file:
        for code in INTEGERS:
            for way, order in (("native", "<"), ("big", ">"), ("big chunks", ">")):
                found = file[way][code]
                assert h5py.check_enum_dtype(found.dtype) == {"NONE": 0, "SEVEN": 7, "MOST": 119}, (way, code)
                assert found.dtype == np.dtype(order + code), (way, code, found.dtype)
                assert np.array_equal(found[...], expected(code)), (way, code)
elif command == "attributes":
    with h5py.File(path, "r+") as file:
        attributes = file["a"].attrs
        expected = {
            "text": "Kelvin °", "integer": -2**63, "unsigned": 2**64 - 1, "real": 0.1, "single": np.float32(0.1), "yes": True,
            "no": False, "texts": ["x", "", "zü"], "integers": [-1, 0, 2**63 - 1], "unsigneds": [0, 2**64 - 1], "singles": [0.5],
            "bools": [True, False], "nothing": [], "matrix": [[0, 1, 2], [3, 4, 5]],
        }
        for name, value in expected.items():
            found = attributes[name]
            assert np.array_equal(found, value), (name, found)
        assert attributes["yes"].dtype == bool and attributes["single"].dtype == np.float32
        attributes["h5py bytes"] = np.bytes_(b"abc")
        attributes["h5py fixed"] = np.array([b"ab", b"c"])
        attributes["h5py u1"] = np.uint8(200)
        attributes["h5py half"] = np.float16(0.5)
        attributes["h5py empty"] = h5py.Empty("f4")
        attributes["h5py record"] = particles()[0, 0]
        attributes["h5py reference"] = file["a"].ref
        attributes.create("h5py texts", [["a", "b"], ["c", "d"]], dtype=h5py.string_dtype())
elif command == "records":
    with h5py.File(path, "r+") as file:
        for key in ("particles1", "particles2", "particles3"):
            found = file[key]
            assert found.shape == (3, 4) and found.dtype.itemsize == 32, found.dtype
            for name in ("id", "x", "kind", "z", "alive"):
                assert np.array_equal(found[name], particles()[name]), (key, name)
        assert file["words"].dtype == "S6"
        assert file["words"][...].tolist() == ["a".encode(), "süß".encode(), b"", b"sixsix"]
        records = particles([("three", "<i2", (3,))])
        file.create_dataset("h5py", data=records)
        file.create_dataset("h5py gzip", data=records, chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3, 4))
        made = h5py.h5d.create(file.id, b"h5py compact", h5py.h5t.py_create(records.dtype, logical=True), space, how)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, records)
        file["h5py text"] = ["any", "length"]
elif command == "others":
    with h5py.File(path, "w") as file:
        numbers = np.array([complex(i, -0.5) for i in range(3)])
        for names, key in ((("real", "imag"), "real imag"), (("re", "im"), "re im"), (("i", "r"), "swapped")):
            file[key] = numbers.view(np.dtype([(names[0], "<f8"), (names[1], "<f8")]))
        file["big"] = numbers.view([("real", "<f8"), ("imag", "<f8")]).astype([("real", ">f8"), ("imag", ">f8")])
        file["long double"] = np.arange(3, dtype=np.longdouble)
        # codes of sixteen bytes: nothing here has room for one
        wide = h5py.h5t.STD_I64LE.copy()
        wide.set_size(16)
        wide.set_precision(128)
        codes = h5py.h5t.enum_create(wide)
        codes.enum_insert(b"A", 1)
        h5py.h5d.create(file.id, b"wide codes", codes, h5py.h5s.create_simple((3,)))
        native = h5py.h5t.COMPLEX_IEEE_F64LE
        made = h5py.h5d.create(file.id, b"native", native, h5py.h5s.create_simple((3,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers, native)
elif command == "sums":
    with h5py.File(path, "r") as file, open(path, "rb") as raw:
        dataset = file["a"]
        assert json.loads(dataset.attrs["crc32_of"]) == {"chunks_together": 1}
        for number, total in enumerate(dataset.attrs["crc32"]):
            info = dataset.id.get_chunk_info(number)
            raw.seek(info.byte_offset)
            assert zlib.crc32(raw.read(info.size)) == total
elif command == "virtual":
    # halves of the rows in two files, of every type
    def create(file, name, kind, shape, plist=None):
        return h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(shape), plist)

    kinds = {"b1": h5py.h5t.py_create(np.dtype("?"), logical=True)}
    arrays = {"b1": expected("b1")}
    for code in NUMBERS:
        for order in "<>":
            kinds[order + code] = h5py.h5t.py_create(np.dtype(order + code), logical=True)
            arrays[order + code] = expected(code).astype(order + code)
    for order, kind in (("<", h5py.h5t.IEEE_F32LE), (">", h5py.h5t.IEEE_F32BE)):
        kinds[order + "bfloat16"] = bfloat16(kind)
        arrays[order + "bfloat16"] = upper_halves(expected("f4")).astype(order + "u2")
    for code in INTEGERS:
        for order in "<>":
            colours = h5py.enum_dtype({"RED": 0, "BLUE": 100}, order + code)
            kinds[f"enum {order}{code}"] = h5py.h5t.py_create(colours, logical=True)
            arrays[f"enum {order}{code}"] = expected(code).astype(order + code)
    halves = (("top.h5", slice(0, 3)), ("bottom.h5", slice(3, 7)))
    for file_name, rows in halves:
        with h5py.File(os.path.join(path, file_name), "w") as file:
            for name, kind in kinds.items():
                half = np.ascontiguousarray(arrays[name][rows])
                create(file, name, kind, half.shape).write(h5py.h5s.ALL, h5py.h5s.ALL, half, kind)
    with h5py.File(os.path.join(path, "virtual.h5"), "w") as file:
        for name, kind in kinds.items():
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            for file_name, rows in halves:
                count = rows.stop - rows.start
                target = h5py.h5s.create_simple(SHAPE)
                target.select_hyperslab((rows.start, 0), (1, 1), block=(count, 10))
                source = h5py.h5s.create_simple((count, 10))
                plist.set_virtual(target, file_name.encode(), name.encode(), source)
            create(file, name, kind, SHAPE, plist)
elif command == "parts":
    with h5py.File(path, "r") as file:
        for code in ["b1", *NUMBERS]:
            found = file["types"][code]
            assert found.is_virtual and np.array_equal(found[...], expected(code)), code
        found = file["types/bfloat16"]
        raw = np.zeros(SHAPE, "<u2")
        found.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=bfloat16())
        assert found.is_virtual and found.id.get_type().equal(bfloat16())
        assert np.array_equal(raw, upper_halves(expected("f4")))
elif command == "texts":
    texts = [b"a", b"b ", b" c", b"d\n", "ü".encode(), b"", b"sixsix"]
    with h5py.File(path, "w") as file:
        file["numpy"] = np.array(texts, "S6")
        file.create_dataset("gzip", data=np.array(texts, "S6"), chunks=(2,), compression="gzip", shuffle=True)
        utf8 = h5py.string_dtype("utf-8", 6)
        file.create_dataset("utf-8", data=np.array(texts, utf8))
        for name, filled in (("zero at the end", h5py.h5t.STR_NULLTERM), ("spaces", h5py.h5t.STR_SPACEPAD)):
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(7)
            kind.set_strpad(filled)
            fill = b" " if filled == h5py.h5t.STR_SPACEPAD else b"\0"
            stored = np.frombuffer(b"".join(text.ljust(7, fill) for text in texts), "S7")
            made = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((7,)))
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, stored, kind)
            # the same as a field
            record = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
            record.insert(b"text", 1, kind)
            record.insert(b"n", 0, h5py.h5t.STD_I8LE)
            rows = np.frombuffer(b"".join(bytes([n]) + text.ljust(7, fill) for n, text in enumerate(texts)), "V8")
            made = h5py.h5d.create(file.id, (name + " in records").encode(), record, h5py.h5s.create_simple((7,)))
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, rows, record)
elif command == "spaces":
    with h5py.File(path, "r") as file:
        kind = file["spaces"].id.get_type()
        assert kind.get_strpad() == h5py.h5t.STR_SPACEPAD and kind.get_size() == 6
        raw = np.zeros(4, "S6")
        file["spaces"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, kind)
        assert raw.tobytes() == b"a     s\xc3\xbc\xc3\x9f       sixsix", raw.tobytes()
elif command == "odd":
    with h5py.File(path, "w") as file:
        # parameters of a filter that nobody has, more than most programs have room for
        many = tuple(range(40))
        file.create_dataset("parameters", SHAPE, "i4", chunks=SHAPE, compression=32015, compression_opts=many, allow_unknown_filter=True)
        # names that are no UTF-8
        colours = h5py.h5t.enum_create(h5py.h5t.STD_I16BE)
        for number, colour in enumerate(("ROT", "GRÜN", "BLAU")):
            colours.enum_insert(colour.encode("latin-1"), number)
        made = h5py.h5d.create(file.id, b"colours", colours, h5py.h5s.create_simple((3,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(3, dtype=">i2"), colours)
        record = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
        record.insert("größe".encode("latin-1"), 0, h5py.h5t.IEEE_F64LE)
        made = h5py.h5d.create(file.id, b"sizes", record, h5py.h5s.create_simple((2,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([0.5, 1.5]), record)
        # true before false is a bool all the same, other names are none
        for name, names in (("true first", (b"TRUE", b"FALSE")), ("yes and no", (b"NO", b"YES"))):
            flags = h5py.h5t.enum_create(h5py.h5t.STD_U8LE)
            flags.enum_insert(names[0], int(names[0] == b"TRUE"))
            flags.enum_insert(names[1], int(names[1] in (b"TRUE", b"YES")))
            made = h5py.h5d.create(file.id, name.encode(), flags, h5py.h5s.create_simple((3,)))
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([0, 1, 1], "u1"), flags)
        halves = np.array([(0.5, -1), (2, 0.25)], [("r", "f2"), ("i", "f2")])
        file["complex of halves"] = halves
        plain = file.create_dataset("plain", data=np.arange(3))
        odd = h5py.h5a.create(plain.id, "Länge".encode("latin-1"), h5py.h5t.NATIVE_INT64, h5py.h5s.create(h5py.h5s.SCALAR))
        odd.write(np.array(5))
        plain.attrs["unit"] = "K"
elif command == "elsewhere":
    with h5py.File(path, "w") as file:
        for name, part in (("above", "../part.h5"), ("absolute", os.path.abspath("/part.h5"))):
            layout = h5py.VirtualLayout((4,), "f8")
            layout[:] = h5py.VirtualSource(part, "a", (4,))
            file.create_virtual_dataset(name, layout)
print("ok")
