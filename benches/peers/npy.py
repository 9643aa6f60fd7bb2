"""npy.py DIR MB...: NumPy saving and loading `.npy` files of so many MiB of f64 in DIR. One process.

Limits of the same bytes: written to a new file, with the same syncs as an atomic save (file and folder);
mapped and copied into a buffer that was used before, and into a fresh one.
"""

import mmap
import os
import sys

import numpy as np

from common import median_seconds, report

folder = sys.argv[1]
path, raw = os.path.join(folder, "peer.npy"), os.path.join(folder, "peer.bin")


def sync(file):
    file.flush()
    os.fsync(file.fileno())
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def measure(mib):
    array = np.arange(mib * 2**20 // 8, dtype=np.float64)
    used = np.zeros_like(array)

    def fresh_file():
        for name in (path, raw):
            if os.path.exists(name):
                os.remove(name)
        os.sync()

    def write_raw():
        with open(raw, "wb", buffering=0) as file:
            view = memoryview(array).cast("B")
            while view:
                view = view[file.write(view):]
            sync(file)

    def save():
        with open(path, "wb") as file:
            np.save(file, array)
            sync(file)

    def mapped():
        with open(raw, "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.float64)

    def say(case, peer, work, before=None, correct=None):
        report("dnpy", f"{case}/{mib}MiB", peer, median_seconds(work, before=before, repetitions=7), array.nbytes, correct)

    say("save", "limit: write and the same syncs (Python)", write_raw, fresh_file)
    say("save", "numpy.save and the same syncs", save, fresh_file)
    write_raw()
    save()
    say("read_into", "limit: mmap + copy into a used buffer (NumPy)", lambda: np.copyto(used, mapped()))
    say("load", "limit: mmap + copy into a fresh buffer (NumPy)", lambda: mapped().copy())
    say("load", "numpy.load", lambda: np.load(path), correct=np.array_equal(np.load(path), array))
    say("open", "numpy.load, mapped", lambda: np.load(path, mmap_mode="r"))
    fresh_file()


for megabytes in sys.argv[2:]:
    measure(int(megabytes))
