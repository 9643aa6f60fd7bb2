"""Datasets that grow, made, checked and appended to by h5py. Row t is step(t)."""
import sys

import h5py
import numpy as np

command, path = sys.argv[1:]


def step(t):
    return (np.arange(70) * 0.5 - 3.0 + 1000.0 * t).reshape(7, 10)


def check(file):
    for key in file:
        dataset = file[key]
        expected = np.array([step(t) for t in range(len(dataset))]).reshape(dataset.shape)
        assert np.array_equal(dataset[...], expected), (key, len(dataset))


if command.startswith("make"):
    # without a name: the library's default, which is the oldest format that does
    libver = {"make": None, "make v108": ("v108", "v108"), "make latest": "latest"}[command]
    with h5py.File(path, "w", libver=libver) as file:
        def make(key, rows, **how):
            data = np.array([step(t) for t in range(rows)]).reshape(rows, 7, 10)
            how = {"dtype": "<f8", "chunks": (1, 7, 10), **how}
            file.create_dataset(key, data=data, maxshape=(None, 7, 10), **how)

        make("raw", 0)
        make("several", 0, chunks=(3, 4, 3))
        make("gzip", 0, chunks=(2, 4, 10), compression="gzip", shuffle=True, fletcher32=True)
        make("big", 0, dtype=">f8")
        make("nothing", 0, chunks=(5, 7, 3))
elif command == "turn":
    with h5py.File(path, "r") as file:
        check(file)
    with h5py.File(path, "r+") as file:
        for dataset in file.values():
            for t in range(len(dataset), len(dataset) + 4):
                dataset.resize(t + 1, axis=0)
                dataset[t] = step(t)
    with h5py.File(path, "r") as file:
        check(file)
elif command == "check":
    with h5py.File(path, "r") as file:
        check(file)
print("ok")
