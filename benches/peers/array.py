"""mpirun -n P python array.py [N [SORT]]: element-wise operations, sums, variances and a sort with NumPy on each rank.

N × N f64 (8192) in blocks of rows, combined by Allreduce. The limit of sums and variances is the faster of NumPy's sum and
of BLAS' dot over the same local bytes; that of a sort is each rank's numpy.sort of its own part of SORT (10⁸) numbers.
"""

import sys

import numpy as np
from mpi4py import MPI

from common import everywhere, median_seconds, missing, report

world = MPI.COMM_WORLD
size, rank = world.Get_size(), world.Get_rank()
n = int(sys.argv[1]) if len(sys.argv) > 1 else 8192
total = int(float(sys.argv[2])) if len(sys.argv) > 2 else 100_000_000
nbytes = 8 * n * n
mine = np.random.default_rng(rank).random((n // size, n))
flat = mine.ravel()


def say(case, peer, work, nbytes=nbytes, correct=None):
    report("array", case, peer, median_seconds(work, world), nbytes, correct, world)


def summed(axis):
    part = np.asarray(mine.sum(axis=axis))
    if axis == 1:
        return part
    whole = np.empty_like(part)
    world.Allreduce(part, whole, MPI.SUM)
    return whole


def two_passes(axis):
    if axis == 1:
        return mine.var(axis=1)
    count = n if axis == 0 else n * n
    away = mine - summed(axis) / count
    away *= away
    part = np.asarray(away.sum(axis=axis))
    whole = np.empty_like(part)
    world.Allreduce(part, whole, MPI.SUM)
    return whole / count


def one_sweep(axis):
    """Panels of rows, shifted by a guess of the mean that all ranks share."""
    guess = world.bcast(mine[0].mean())
    sums = squares = 0
    for first in range(0, len(mine), 64):
        panel = mine[first:first + 64] - guess
        sums = sums + panel.sum(axis=axis)
        squares = squares + (np.einsum("ij,ij->j", panel, panel) if axis == 0 else np.vdot(panel, panel))
    part = np.array([sums, squares])
    whole = np.empty_like(part)
    world.Allreduce(part, whole, MPI.SUM)
    count = n if axis == 0 else n * n
    return whole[1] / count - (whole[0] / count) ** 2


for axis in (None, 0, 1):
    name = "all" if axis is None else f"axis{axis}"
    for case, limits in ((f"sum-{name}", True), (f"var-{name}", True)):
        say(case, "limit: NumPy's sum of the local part", flat.sum)
        say(case, "limit: BLAS' dot of the local part", lambda: flat.dot(flat))
    say(f"sum-{name}", "mpi4py + NumPy", lambda: summed(axis))
    say(f"var-{name}", "mpi4py + NumPy, two passes", lambda: two_passes(axis))
    if axis != 1:
        alike = everywhere(world, np.allclose(one_sweep(axis), two_passes(axis), rtol=1e-9))
        say(f"var-{name}", "mpi4py + NumPy, one sweep of panels", lambda: one_sweep(axis), correct=alike)
say("max-axis0", "mpi4py + NumPy", lambda: world.Allreduce(mine.max(axis=0), np.empty(n), MPI.MAX))
say("max-all", "NumPy, the local part", flat.max)
say("argmax-all", "NumPy, the local part", flat.argmax)

other, out = mine.copy(), np.empty_like(mine)
say("add", "NumPy, into an array", lambda: np.add(mine, other, out=out), 3 * nbytes)
say("sqrt", "NumPy, into an array", lambda: np.sqrt(mine, out=out), 2 * nbytes)
say("scale", "NumPy, in place", lambda: np.multiply(out, 1.0, out=out), 2 * nbytes)

a = np.random.default_rng(rank).random((2048 // size, 2048))
b = np.random.default_rng(9).random((2048, 2048))
say("dot", "limit: BLAS, rows of the product on each rank", lambda: a.dot(b), 2 * 2048**3)

del mine, flat, other, out
numbers = np.random.default_rng(rank).random(total // size)
say("sort", "limit: numpy.sort of each rank's part", lambda: np.sort(numbers), 8 * total)
if size == 1:
    say("sort", "numpy.sort of the whole", lambda: np.sort(numbers), 8 * total)
else:
    whole = np.random.default_rng(0).random(total) if rank == 0 else None
    # one rank sorts, the others wait
    say("sort", "numpy.sort of the whole, on one rank", lambda: None if whole is None else np.sort(whole), 8 * total)
    del whole
try:
    import heat
    import torch

    torch.set_num_threads(1)
    x = heat.array(numbers, is_split=0)
    say("sort", "Heat", lambda: heat.sort(x), 8 * total)
except ImportError as error:
    missing("Heat (pip install heat)", error, world)
