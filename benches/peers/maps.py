"""maps.py numpy|petsc: owner and local index of 10^6 random global indices, and back. One process.

NumPy by the closed formulas of block, cyclic and block-cyclic(64) over 8 ranks and by table look-up for
unstructured maps; PETSc by its application orderings and local-to-global mapping (its index type is what
Debian built it with, 32 bits). The limit is a copy of the indices.
"""

import sys

import numpy as np

from common import median_seconds, missing, report

COUNT, RANKS, BLOCK = 10**6, 8, 64
PER_RANK = COUNT
SIZE = RANKS * PER_RANK
rng = np.random.default_rng(20261129)
global_index = rng.integers(0, SIZE, COUNT)
local_index = rng.integers(0, PER_RANK, COUNT)
owner, local = np.empty_like(global_index), np.empty_like(global_index)
# unstructured: one rank holds a random permutation
held = rng.permutation(COUNT)
position = np.empty_like(held)
position[held] = np.arange(COUNT)
asked = rng.integers(0, COUNT, COUNT)


def say(case, peer, work, correct=None):
    report("maps", case, peer, median_seconds(work), 16 * COUNT, correct)


def block_cyclic():
    block, within = np.divmod(global_index, BLOCK)
    turn, rank = np.divmod(block, RANKS)
    return rank, turn * BLOCK + within


def with_numpy():
    say("copy", "limit: copy of the indices (NumPy)", lambda: np.copyto(local, global_index))
    say("owner_local/block", "NumPy divmod", lambda: np.divmod(global_index, PER_RANK, out=(owner, local)))
    say("owner_local/cyclic", "NumPy divmod", lambda: np.divmod(global_index, RANKS, out=(local, owner)))
    say("owner_local/block_cyclic_64", "NumPy two divmods", block_cyclic)
    say("owner_local/unstructured", "NumPy inverse table", lambda: np.take(position, asked, out=local))
    say("global/block", "NumPy add", lambda: np.add(local_index, 3 * PER_RANK, out=local))
    say("global/cyclic", "NumPy multiply and add", lambda: np.add(local_index * RANKS, 3, out=local))
    say("global/block_cyclic_64", "NumPy", lambda: (local_index // BLOCK * RANKS + 3) * BLOCK + local_index % BLOCK)
    say("global/unstructured", "NumPy take", lambda: np.take(held, asked, out=local))


def with_petsc():
    try:
        import petsc4py

        petsc4py.init([])
        from petsc4py import PETSc
    except ImportError as error:
        missing("PETSc (python3-petsc4py)", error)
        return
    values, indices = held.astype(PETSc.IntType), asked.astype(PETSc.IntType)
    mapping = PETSc.LGMap().create(values, comm=PETSc.COMM_SELF)
    say("global/unstructured", "PETSc LGMap apply", lambda: mapping.apply(indices),
        np.array_equal(mapping.apply(indices), held[asked]))
    say("owner_local/unstructured", "PETSc LGMap applyInverse", lambda: mapping.applyInverse(indices),
        np.array_equal(mapping.applyInverse(indices), position[asked]))
    ordering = PETSc.AO().createBasic(values, comm=PETSc.COMM_SELF)
    say("owner_local/unstructured", "PETSc AO basic", lambda: ordering.app2petsc(indices.copy()),
        np.array_equal(ordering.app2petsc(indices.copy()), position[asked]))


{"numpy": with_numpy, "petsc": with_petsc}[sys.argv[1]]()
