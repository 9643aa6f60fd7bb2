"""mpirun -n P python distarray_reductions.py: sums and variances of ARRAY_N × ARRAY_N f64 (8192) by DistArray's reducers.

DistArray 0.6.0 (pip, with NumPy before 1.24) was written for older Pythons: names that left `collections` are put back, and
communicators, which its variance sends along with the means, arrive as that of all ranks.
"""

import collections
import collections.abc
import copyreg
import os

import numpy as np
from mpi4py import MPI

from common import everywhere, median_seconds, missing, report

for name in collections.abc.__all__:
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))

world = MPI.COMM_WORLD
size, rank = world.Get_size(), world.Get_rank()
n = int(os.environ.get("ARRAY_N", "8192"))


def all_ranks():
    return world


for kind in (MPI.Intracomm, MPI.Cartcomm):
    copyreg.pickle(kind, lambda comm: (all_ranks, ()))


def main():
    try:
        from distarray.localapi import localarray, maps
    except ImportError as error:
        missing("DistArray (pip install distarray 'numpy<1.24' mpi4py, and name its Python in DISTARRAY_PYTHON)", error, world)
        return

    def rows_of(rank):
        return {"dist_type": "b", "size": n, "proc_grid_size": size, "proc_grid_rank": rank,
                "start": rank * n // size, "stop": (rank + 1) * n // size}

    mine = np.random.default_rng(rank).random((n // size, n))
    whole = {"dist_type": "n", "size": n, "proc_grid_size": 1, "proc_grid_rank": 0}
    array = localarray.LocalArray(maps.Distribution(world, (rows_of(rank), whole)), buf=mine)
    first = world.Split(0 if rank == 0 else MPI.UNDEFINED, rank)
    for axis, to, results in (
        (None, first, [()]),
        (0, first, [(whole,)]),
        (1, world, [(rows_of(other),) for other in range(size)]),
    ):
        axes = (0, 1) if axis is None else (axis,)
        case = "all" if axis is None else f"axis{axis}"
        for what in ("sum", "var"):
            reducer = getattr(localarray, f"{what}_reducer")

            def reduce():
                return localarray.local_reduction(to, reducer, array, results, np.dtype(float), axes)

            found, alike = reduce(), True
            if axis == 1:
                alike = np.allclose(found.ndarray, getattr(mine, what)(axis=1))
            elif what == "sum":
                wanted = world.reduce(mine.sum(axis=axis))
                alike = rank != 0 or np.allclose(found.ndarray, wanted)
            report("array", f"{what}-{case}", "DistArray", median_seconds(reduce, world), 8 * n * n, everywhere(world, alike), world)


main()
