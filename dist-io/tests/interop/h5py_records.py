"""Records in chunks, as ranks wrote them, checked by h5py."""
import sys

import h5py
import numpy as np

command, path = sys.argv[1:]
assert command == "check"
flat = np.arange(99).reshape(9, 11)
chunks = {"raw": (4, 3), "deflate": (2, 11), "all": (9, 2), "chosen": (9, 11), "open": (3, 3)}
filters = {"raw": [], "deflate": [1], "all": [2, 1, 3], "chosen": [2], "open": []}
with h5py.File(path, "r") as file:
    assert set(file) == set(chunks), list(file)
    for name, group in file.items():
        assert set(group) == {"1", "2", "3"}
        for dataset in group.values():
            assert dataset.shape == (9, 11) and dataset.chunks == chunks[name], (name, dataset)
            assert dataset.dtype.itemsize == 20 and dataset.dtype.names == ("id", "x", "kind"), dataset.dtype
            how = dataset.id.get_create_plist()
            found = [how.get_filter(at)[0] for at in range(how.get_nfilters())]
            assert found == filters[name], (name, found)
            assert np.array_equal(dataset["id"], flat * 1000), name
            assert np.array_equal(dataset["x"], flat * 0.25 - 7), name
            assert dataset["kind"].tolist() == [[b"k%d" % at for at in row] for row in flat], name
            if name == "open":
                assert dataset.maxshape == (None, 11)
print("ok")
