"""mpirun -n P python arrays.py [PARTS]: element-wise operations, sums, variances, a product and a sort with NumPy on each rank.

PARTS, in one word with commas between: "local" (ARRAY_N × ARRAY_N f64, 8192, in blocks of rows, combined by Allreduce), "dot" (DOT_N²,
2048), "sort" (SORT_N numbers, 10⁸), and "heat": the same by Heat where it is there. The limit of sums and variances is the faster of NumPy's sum and of
BLAS' dot over the same local bytes; that of a sort is each rank's numpy.sort of its own part.
"""

import os
import sys

import numpy as np
from mpi4py import MPI

from common import everywhere, median_seconds, missing, report

world = MPI.COMM_WORLD
size, rank = world.Get_size(), world.Get_rank()
parts = (sys.argv[1] if len(sys.argv) > 1 else "local,dot,sort,heat").split(",")
n = int(os.environ.get("ARRAY_N", "8192"))
side = int(os.environ.get("DOT_N", "2048"))
total = int(os.environ.get("SORT_N", "100000000"))
nbytes = 8 * n * n
heat = None
if "heat" in parts:
    try:
        import heat
        import torch

        torch.set_num_threads(1)
    except ImportError as error:
        missing("Heat (pip install heat, and name its Python in HEAT_PYTHON)", error, world)


def say(case, peer, work, nbytes=nbytes, correct=None):
    report("array", case, peer, median_seconds(work, world), nbytes, correct, world)


def summed(mine, axis):
    part = np.asarray(mine.sum(axis=axis))
    if axis == 1:
        return part
    whole = np.empty_like(part)
    world.Allreduce(part, whole, MPI.SUM)
    return whole


def two_passes(mine, axis):
    if axis == 1:
        return mine.var(axis=1)
    count = n if axis == 0 else n * n
    away = mine - summed(mine, axis) / count
    away *= away
    part = np.asarray(away.sum(axis=axis))
    whole = np.empty_like(part)
    world.Allreduce(part, whole, MPI.SUM)
    return whole / count


def one_sweep(mine, axis):
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


def local():
    mine = np.random.default_rng(rank).random((n // size, n))
    flat = mine.ravel()
    rows = heat.array(mine, is_split=0, copy=False) if heat else None
    # Once for all cases, before and between them: the report takes the fastest.
    for _ in range(2):
        say("read", "limit: NumPy's sum of the local part", flat.sum)
        say("read", "limit: BLAS' dot of the local part", lambda: flat.dot(flat))
    for axis in (None, 0, 1):
        name = "all" if axis is None else f"axis{axis}"
        say(f"sum-{name}", "mpi4py + NumPy", lambda: summed(mine, axis))
        say(f"var-{name}", "mpi4py + NumPy, two passes", lambda: two_passes(mine, axis))
        if axis != 1:
            alike = np.allclose(one_sweep(mine, axis), two_passes(mine, axis), rtol=1e-9)
            say(f"var-{name}", "mpi4py + NumPy, one sweep", lambda: one_sweep(mine, axis), correct=everywhere(world, alike))
        if rows is not None:
            for what, ours, theirs in (("sum", summed, heat.sum), ("var", two_passes, heat.var)):
                alike = np.allclose(theirs(rows, axis=axis).larray.numpy(), ours(mine, axis), rtol=1e-9)
                say(f"{what}-{name}", "Heat", lambda: theirs(rows, axis=axis), correct=everywhere(world, alike))
    say("max-axis0", "mpi4py + NumPy", lambda: world.Allreduce(mine.max(axis=0), np.empty(n), MPI.MAX))
    say("max-all", "NumPy, the local part", flat.max)
    say("argmax-all", "NumPy, the local part", flat.argmax)

    other, out = mine.copy(), np.zeros_like(mine)
    say("add", "NumPy", lambda: np.add(mine, other, out=out), 3 * nbytes)
    say("sqrt", "NumPy", lambda: np.sqrt(mine, out=out), 2 * nbytes)
    say("scale", "NumPy", lambda: np.multiply(out, 1.0, out=out), 2 * nbytes)
    say("add-fresh", "NumPy", lambda: mine + other, 3 * nbytes)
    say("sqrt-fresh", "NumPy", lambda: np.sqrt(mine), 2 * nbytes)
    say("scale-fresh", "NumPy", lambda: mine * 2.0, 2 * nbytes)


def dot():
    a = np.random.default_rng(rank).random((side // size, side))
    b = np.random.default_rng(9).random((side, side))
    say("dot", "BLAS, rows of the product on each rank", lambda: a.dot(b), 2 * side**3)
    if heat:
        x, y = heat.array(a, is_split=0), heat.array(b[rank * side // size:(rank + 1) * side // size], is_split=0)
        say("dot", "Heat", lambda: heat.matmul(x, y), 2 * side**3)


def sort():
    numbers = np.random.default_rng(rank).random(total // size)
    say("sort", "limit: numpy.sort of each rank's part", lambda: np.sort(numbers), 8 * total)
    whole = np.random.default_rng(0).random(total) if rank == 0 and size > 1 else numbers
    # one rank sorts, the others wait
    say("sort", "numpy.sort of the whole, on one rank", lambda: np.sort(whole) if rank == 0 else None, 8 * total)
    del whole
    if heat:
        x = heat.array(numbers, is_split=0)
        say("sort", "Heat", lambda: heat.sort(x), 8 * total)


for part in parts:
    {"local": local, "dot": dot, "sort": sort, "heat": lambda: None}[part]()
