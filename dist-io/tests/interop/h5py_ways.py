"""h5py_ways.py FOLDER: the files NAME.STORED.WAY.h5 of each NAME hold the same dataset "a", bit for bit."""

import collections
import pathlib
import sys

import h5py

arrays = collections.defaultdict(list)
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.h5")):
    name, stored, way, _ = path.name.split(".")
    with h5py.File(path) as file:
        dataset = file["a"]
        # bfloat16 has no type in NumPy: its bytes are those of the file's own type
        raw = bytearray(dataset.size * dataset.id.get_type().get_size())
        space = h5py.h5s.create_simple(dataset.shape)
        buffer = __import__("numpy").frombuffer(raw, "V%d" % dataset.id.get_type().get_size()).reshape(dataset.shape)
        dataset.id.read(space, space, buffer, dataset.id.get_type())
        facts = (dataset.shape, dataset.id.get_type().encode(), dict(dataset.attrs), bytes(raw))
        if name != "bf16":
            assert dataset[()].tobytes() == facts[3], path
        assert (dataset.chunks is None) == (stored == "contiguous"), path
        assert dataset.compression == ("gzip" if stored == "gzip" else None), path
    arrays[name].append((path, facts))
for name, files in arrays.items():
    assert len(files) == 6, (name, files)
    for path, facts in files:
        assert facts == files[0][1], path
    assert any(files[0][1][3]), name
print(f"{len(arrays)} arrays, each of 6 files equal")
