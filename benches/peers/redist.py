"""mpirun -n P python redist.py [N]: an N × N array of f64 (4096) from rows to columns, and from blocks to
block-cyclic(64). Set-up (datatypes, plans) is not timed. Every result is compared with the right one.

Peers: mpi4py with Alltoallw over derived datatypes, mpi4py packing by NumPy slices + Alltoall, mpi4py-fft's
transfer. The limit: every rank copies its share once, inside its own memory.
"""

import sys

import numpy as np
from mpi4py import MPI

from common import everywhere, median_seconds, missing, report

comm = MPI.COMM_WORLD
size, rank = comm.Get_size(), comm.Get_rank()
n = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
nbytes = 8 * n * n
BLOCK = 64
ONES, ZEROS = [1] * size, [0] * size


def values(rows, columns):
    """The element at (i, j) is its position in C order."""
    return np.ascontiguousarray(rows[:, None] * float(n) + columns[None, :])


def say(case, peer, work, result=None, wanted=None):
    correct = None
    if result is not None:
        result[...] = -1
        work()
        correct = everywhere(comm, np.array_equal(result, wanted))
    report("redist", case, peer, median_seconds(work, comm), nbytes, correct, comm)


def limit(case):
    source = np.ones(n * n // size)
    target = np.zeros_like(source)
    say(case, "limit: memcpy of each rank's share (NumPy)", lambda: np.copyto(target, source))


def rows_to_columns():
    case = "rows_to_columns"
    all_of, width = np.arange(n), n // size
    mine = np.arange(rank * width, (rank + 1) * width)
    source, wanted = values(mine, all_of), values(all_of, mine)
    target = np.empty_like(wanted)
    limit(case)

    sends = [MPI.DOUBLE.Create_subarray([width, n], [width, width], [0, p * width]).Commit() for p in range(size)]
    recvs = [MPI.DOUBLE.Create_subarray([n, width], [width, width], [p * width, 0]).Commit() for p in range(size)]
    say(case, "mpi4py Alltoallw, subarray types",
        lambda: comm.Alltoallw([source, (ONES, ZEROS), sends], [target, (ONES, ZEROS), recvs]), target, wanted)

    outbox, inbox = np.empty((size, width, width)), np.empty((size, width, width))

    def packed():
        for peer in range(size):
            outbox[peer] = source[:, peer * width:(peer + 1) * width]
        comm.Alltoall(outbox, inbox)
        target.reshape(size, width, width)[...] = inbox

    say(case, "mpi4py pack + Alltoall", packed, target, wanted)
    try:
        from mpi4py_fft.pencil import Pencil, Subcomm
    except ImportError as error:
        missing("mpi4py-fft", error, comm)
        return
    rows = Pencil(Subcomm(comm, [0, 1]), (n, n), axis=1)
    transfer = rows.transfer(rows.pencil(0), np.float64)
    say(case, "mpi4py-fft transfer", lambda: transfer.forward(source, target), target, wanted)


def block_to_block_cyclic():
    case = "block_to_block_cyclic_64"
    grid = (2, size // 2) if size > 2 and size % 2 == 0 else (1, size)
    height, width = n // grid[0], n // grid[1]
    # what a grid coordinate holds: of the blocks, a range; of the cyclic blocks, a list
    ranges = [[np.arange(c * ext, (c + 1) * ext) for c in range(g)] for g, ext in zip(grid, (height, width))]
    dealt = [[np.arange(n)[np.arange(n) // BLOCK % g == c] for c in range(g)] for g in grid]
    coords = [divmod(p, grid[1]) for p in range(size)]
    i, j = coords[rank]
    source, wanted = values(ranges[0][i], ranges[1][j]), values(dealt[0][i], dealt[1][j])
    target = np.empty_like(wanted)
    limit(case)

    def squares(columns, row_starts, column_starts):
        """64 × 64 squares at these positions of a local array with so many columns, as one datatype."""
        square = MPI.DOUBLE.Create_vector(BLOCK, BLOCK, columns)
        places = [8 * (int(a) * columns + int(b)) for a in row_starts for b in column_starts]
        return square.Create_hindexed_block(1, places).Commit()

    def common(held, wanted_there):
        """Local positions of the first element of each block of `held` that lies in `wanted_there`."""
        return np.flatnonzero(np.isin(held, wanted_there))[::BLOCK]

    sends = [squares(source.shape[1], common(ranges[0][i], dealt[0][a]), common(ranges[1][j], dealt[1][b]))
             for a, b in coords]
    recvs = [squares(target.shape[1], common(dealt[0][i], ranges[0][a]), common(dealt[1][j], ranges[1][b]))
             for a, b in coords]
    say(case, "mpi4py Alltoallw, indexed types",
        lambda: comm.Alltoallw([source, (ONES, ZEROS), sends], [target, (ONES, ZEROS), recvs]), target, wanted)


rows_to_columns()
block_to_block_cyclic()
