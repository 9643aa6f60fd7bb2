"""hdf5.py FOLDER PARTS: h5py writing and reading the datasets of the bench `io`, whose cases have the same names.

PARTS are of: contiguous chunked cyclic rows vds gzip batched small. IO_MIB (1024) is the size of the array, f64 with 16384 columns.
With an h5py of parallel HDF5, by all ranks of `mpirun`, collectively and independently. With a serial one by one process, and under
`mpirun` each rank reads by itself. Files are new each time; writing ends with the syncs of an atomic save.

The limit is `pwrite` and `pread` of the same bytes by the same ranks, into memory that was used before.
"""

import os
import sys
from contextlib import nullcontext

import h5py
import numpy as np

from common import all_seconds, everywhere, missing, report

PARALLEL = h5py.get_config().mpi
comm = None
if PARALLEL or "OMPI_COMM_WORLD_SIZE" in os.environ:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
rank, ranks = (comm.Get_rank(), comm.Get_size()) if comm else (0, 1)

folder, parts = sys.argv[1], sys.argv[2:]
COLUMNS, CHUNK, BLOCK = 16384, (256, 2048), 64
ROWS = max(int(os.environ.get("IO_MIB", "1024")) * 2**20 // 8 // COLUMNS, CHUNK[0])
BYTES = ROWS * COLUMNS * 8
REPETITIONS = int(os.environ.get("PEER_REPETITIONS", "5"))
NAME = "h5py, parallel HDF5" if PARALLEL else "h5py"
WRITES = PARALLEL or ranks == 1


def path(name):
    return os.path.join(folder, f"dist-io-peer-{name}")


def barrier():
    if comm:
        comm.Barrier()


def remove(*names):
    if rank == 0:
        for name in names:
            if os.path.exists(path(name)):
                os.remove(path(name))
    barrier()


def sync(name):
    """What makes a new file durable: its bytes, and its name."""
    for target in (path(name), folder):
        descriptor = os.open(target, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def opened(name, mode):
    return h5py.File(path(name), mode, driver="mpio", comm=comm) if PARALLEL else h5py.File(path(name), mode)


def say(case, peer, work, nbytes=BYTES, before=None, correct=None, repetitions=REPETITIONS):
    times = all_seconds(work, comm, before, repetitions)
    if correct is not None:
        correct = everywhere(comm, correct()) if comm else bool(correct())
    report("io", case, peer, times, nbytes, correct, comm)


def blocks(rows=ROWS):
    """This rank's block of rows, as the protocol cuts them."""
    height = -(-rows // ranks)
    return min(rank * height, rows), min((rank + 1) * height, rows)


def numbered(first, end, width=COLUMNS):
    return np.arange(first * width, end * width, dtype="f8").reshape(end - first, width)


def raw_write(name, pieces, data):
    if rank == 0:
        with open(path(name), "wb") as file:
            file.truncate(BYTES)
    barrier()
    descriptor = os.open(path(name), os.O_RDWR)
    view, at = memoryview(data).cast("B"), 0
    for offset, length in pieces:
        done = 0
        while done < length:
            done += os.pwrite(descriptor, view[at + done : at + length], offset + done)
        at += length
    os.fsync(descriptor)
    os.close(descriptor)
    barrier()
    if rank == 0:
        sync(name)


def raw_read(name, pieces, data):
    descriptor = os.open(path(name), os.O_RDONLY)
    view, at = memoryview(data).cast("B"), 0
    for offset, length in pieces:
        done = 0
        while done < length:
            done += os.preadv(descriptor, [view[at + done : at + length]], offset + done)
        at += length
    os.close(descriptor)


def limits(case, pieces, data, used):
    say(f"{case}-write", "limit: pwrite (Python)", lambda: raw_write("raw", pieces, data), before=lambda: remove("raw"))
    say(f"{case}-read", "limit: pread (Python)", lambda: raw_read("raw", pieces, used), correct=lambda: np.array_equal(used, data))
    remove("raw")


def ways():
    """How a transfer may go: its name, and what to transfer within."""
    if not PARALLEL:
        return [(NAME, lambda dataset: nullcontext())]
    return [(f"{NAME}, collective", lambda dataset: dataset.collective), (f"{NAME}, independent", lambda dataset: nullcontext())]


def rows_in_blocks(case, chunks):
    first, end = blocks()
    data, used = numbered(first, end), np.zeros((end - first, COLUMNS))
    if WRITES:
        limits(case, [(first * COLUMNS * 8, (end - first) * COLUMNS * 8)], data, used)
    for name, within in ways():

        def write():
            with opened("a.h5", "w") as file:
                dataset = file.create_dataset("data", (ROWS, COLUMNS), "f8", chunks=chunks)
                with within(dataset):
                    dataset[first:end] = data
            if rank == 0:
                sync("a.h5")

        def read():
            with opened("a.h5", "r") as file:
                dataset = file["data"]
                with within(dataset):
                    dataset.read_direct(used, np.s_[first:end])

        if WRITES:
            say(f"{case}-write", name, write, before=lambda: remove("a.h5"))
        else:
            whole_by_rank_0(chunks=chunks)
        used[:] = 0
        say(f"{case}-read", name, read, correct=lambda: np.array_equal(used, data))
        if case == "contiguous" and not PARALLEL:
            say(f"{case}-load", name, lambda: h5py.File(path("a.h5"))["data"][first:end])
        remove("a.h5")


def whole_by_rank_0(**how):
    if rank == 0:
        with h5py.File(path("a.h5"), "w") as file:
            file.create_dataset("data", data=numbered(0, ROWS), **how)
    barrier()


def cyclic():
    mine = [(first, min(first + BLOCK, ROWS)) for first in range(BLOCK * rank, ROWS, BLOCK * ranks)]
    data = np.concatenate([numbered(first, end) for first, end in mine])
    used = np.zeros_like(data)
    if not WRITES or ranks == 1 or ROWS % (BLOCK * ranks):
        return
    limits("cyclic64", [(first * COLUMNS * 8, (end - first) * COLUMNS * 8) for first, end in mine], data, used)

    def selected(dataset):
        space = dataset.id.get_space()
        space.select_hyperslab((BLOCK * rank, 0), (len(mine), 1), (BLOCK * ranks, COLUMNS), (BLOCK, COLUMNS))
        transfer = h5py.h5p.create(h5py.h5p.DATASET_XFER)
        transfer.set_dxpl_mpio(h5py.h5fd.MPIO_INDEPENDENT)
        return h5py.h5s.create_simple(data.shape), space, transfer

    def made():
        file = opened("a.h5", "w")
        return file, file.create_dataset("data", (ROWS, COLUMNS), "f8", chunks=CHUNK)

    def write_each():
        file, dataset = made()
        with file:
            at = 0
            for first, end in mine:
                dataset[first:end] = data[at : at + end - first]
                at += end - first
        if rank == 0:
            sync("a.h5")

    def write_at_once():
        file, dataset = made()
        with file:
            memory, space, transfer = selected(dataset)
            dataset.id.write(memory, space, data, dxpl=transfer)
        if rank == 0:
            sync("a.h5")

    def read_each():
        with opened("a.h5", "r") as file:
            at = 0
            for first, end in mine:
                file["data"].read_direct(used, np.s_[first:end], np.s_[at : at + end - first])
                at += end - first

    def read_at_once():
        with opened("a.h5", "r") as file:
            memory, space, transfer = selected(file["data"])
            file["data"].id.read(memory, space, used, dxpl=transfer)

    for name, write, read, times in (("a call a block", write_each, read_each, REPETITIONS), ("one hyperslab", write_at_once, read_at_once, 1)):
        say("cyclic64-write", f"{NAME}, {name}", write, before=lambda: remove("a.h5"), repetitions=times)
        used[:] = 0
        say("cyclic64-read", f"{NAME}, {name}", read, correct=lambda: np.array_equal(used, data), repetitions=times)
    remove("a.h5")


def rows():
    width = 1024
    many = BYTES // 8 // width
    if rank == 0:
        with h5py.File(path("a.h5"), "w") as file:
            file.create_dataset("data", data=numbered(0, many, width))
    barrier()
    wanted = np.arange(rank, min(10_000, many), ranks) * 1_000_003 % many  # the same as the bench's
    order, back = np.unique(wanted, return_inverse=True)  # h5py takes ascending indices, once each
    kept = []

    def one_selection():
        with h5py.File(path("a.h5")) as file:
            kept[:] = [file["data"][order][back]]

    def one_by_one():
        used = np.empty((len(wanted), width))
        with h5py.File(path("a.h5")) as file:
            dataset = file["data"]
            for at, row in enumerate(wanted):
                used[at] = dataset[row]
        kept[:] = [used]

    def right():
        return np.array_equal(kept[0][:, 0], wanted * float(width))

    nbytes = min(10_000, many) * width * 8
    say("rows-read", f"{NAME}, one selection", one_selection, nbytes, correct=right, repetitions=1)
    say("rows-read", f"{NAME}, a call a row", one_by_one, nbytes, correct=right, repetitions=2)
    remove("a.h5")


def vds():
    names = [f"part{part}.h5" for part in range(4)]
    if rank == 0:
        layout = h5py.VirtualLayout((ROWS, COLUMNS), "f8")
        height = ROWS // 4
        for part, name in enumerate(names):
            with h5py.File(path(name), "w") as file:
                file.create_dataset("data", data=numbered(part * height, (part + 1) * height))
            layout[part * height : (part + 1) * height] = h5py.VirtualSource(path(name), "data", (height, COLUMNS))
        with h5py.File(path("a.h5"), "w", libver="latest") as file:
            file.create_virtual_dataset("data", layout)
    barrier()
    first, end = blocks()
    kept = []

    def load():
        kept.clear()
        with h5py.File(path("a.h5")) as file:
            kept.append(file["data"][first:end])

    say("vds-load", NAME, load, correct=lambda: np.array_equal(kept[0], numbered(first, end)))
    remove("a.h5", *names)


def gzip():
    many = -(-ROWS // 4 // (CHUNK[0] * ranks)) * CHUNK[0] * ranks
    data = (np.arange(many)[:, None] // 8 + np.arange(COLUMNS) // 64).astype("f8")
    first, end = blocks(many)
    used = np.zeros((end - first, COLUMNS))

    def write():
        with h5py.File(path("a.h5"), "w") as file:
            file.create_dataset("data", data=data, chunks=CHUNK, compression="gzip", compression_opts=4)
        sync("a.h5")

    def read():
        with h5py.File(path("a.h5")) as file:
            file["data"].read_direct(used, np.s_[first:end])

    if ranks == 1:
        say("gzip-write", NAME, write, data.nbytes, before=lambda: remove("a.h5"), repetitions=2)
    elif rank == 0:
        write()
    barrier()
    say("gzip-read", NAME, read, data.nbytes, correct=lambda: np.array_equal(used, data[first:end]), repetitions=3)
    remove("a.h5")


def batched():
    """One rank, chunk by chunk into one chunk's memory."""
    height, width = min(4096, ROWS), 4096
    used = np.zeros((height, width))
    whole_by_rank_0()

    def read():
        with h5py.File(path("a.h5")) as file:
            dataset = file["data"]
            for row in range(0, ROWS, height):
                for column in range(0, COLUMNS, width):
                    dataset.read_direct(used, np.s_[row : row + height, column : column + width])

    say("batched-read", NAME, read)
    remove("a.h5")


def small():
    calls, data = 32, np.arange(1024.0)

    def times(call):
        for _ in range(calls):
            call()

    def save():
        with h5py.File(path("a.h5"), "w") as file:
            file.create_dataset("data", data=data)
        sync("a.h5")

    def load():
        with h5py.File(path("a.h5")) as file:
            return file["data"][:]

    def per_call(case, call):
        say(case, NAME, lambda: times(call), data.nbytes * calls)

    per_call("small-save", save)
    per_call("small-load", load)
    remove("a.h5")
    with h5py.File(path("a.h5"), "w") as file:
        dataset = file.create_dataset("data", (0, 1024), "f8", maxshape=(None, 1024), chunks=(1, 1024))
        descriptor = os.open(path("a.h5"), os.O_RDWR)

        def append():
            dataset.resize(len(dataset) + 1, axis=0)
            dataset[-1] = data
            file.flush()
            os.fsync(descriptor)

        per_call("small-append", append)
        os.close(descriptor)
    remove("a.h5")


for part in parts:
    if part == "contiguous":
        rows_in_blocks("contiguous", None)
    elif part == "chunked":
        rows_in_blocks("chunked", CHUNK)
    elif part == "cyclic":
        cyclic()
    elif PARALLEL:
        missing(f"h5py with parallel HDF5, {part}", "by the serial h5py only", comm)
    elif part in ("rows", "vds", "gzip"):
        globals()[part]()
    elif part in ("batched", "small") and ranks == 1:
        globals()[part]()
