"""Types, attributes and checksums: what ranks wrote, checked, and what h5py writes, to be read."""
import json
import os
import sys
import zlib

import h5py
import numpy as np

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
elif command == "elsewhere":
    with h5py.File(path, "w") as file:
        for name, part in (("above", "../part.h5"), ("absolute", os.path.abspath("/part.h5"))):
            layout = h5py.VirtualLayout((4,), "f8")
            layout[:] = h5py.VirtualSource(part, "a", (4,))
            file.create_virtual_dataset(name, layout)
print("ok")
