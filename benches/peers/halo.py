"""mpirun -n P python halo.py [N] [mpi4py|petsc]: the halo of N × N f64 (2048) a rank, periodic, widths 1 and 4.

Corners included: rows first, then columns with the halo rows. Peers: mpi4py Sendrecv and persistent requests
on subarray types; PETSc's DMDA (which copies the interior too). The limit: the same strips copied inside each
rank's own array. Times are of one exchange, averaged over 20.
"""

import sys

import numpy as np
from mpi4py import MPI

from common import everywhere, median_seconds, missing, report

n = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
which = sys.argv[2] if len(sys.argv) > 2 else "mpi4py"
world = MPI.COMM_WORLD
size = world.Get_size()
grid = [2, size // 2] if size > 2 and size % 2 == 0 else [1, size]
cart = world.Create_cart(grid, [True, True])
row, column = cart.Get_coords(cart.Get_rank())
LOOP = 20


def say(width, peer, work, correct=None):
    nbytes = 8 * size * (2 * width * n + 2 * width * (n + 2 * width))
    seconds = median_seconds(lambda: [work() for _ in range(LOOP)], cart) / LOOP
    report("halo", f"width_{width}", peer, seconds, nbytes, correct, cart)


def with_mpi4py(w):
    stored = [n + 2 * w, n + 2 * w]
    rows = (np.arange(-w, n + w) + row * n) % (n * grid[0])
    columns = (np.arange(-w, n + w) + column * n) % (n * grid[1])
    wanted = rows[:, None] * float(n * grid[1]) + columns
    array, other = np.zeros(stored), np.zeros(stored)

    def poison():
        array[...] = -1
        array[w:-w, w:-w] = wanted[w:-w, w:-w]

    def strip(shape, start):
        return [array, 1, MPI.DOUBLE.Create_subarray(stored, shape, start).Commit()]

    def strips():
        other[:w], other[-w:] = array[w:2 * w], array[n:n + w]
        other[:, :w], other[:, -w:] = array[:, w:2 * w], array[:, n:n + w]

    (above, below), (left, right) = cart.Shift(0, 1), cart.Shift(1, 1)
    wide = n + 2 * w
    # (what goes, to whom, what comes, from whom), first along the rows, then along the columns
    first = [(strip([w, n], [w, w]), above, strip([w, n], [n + w, w]), below),
             (strip([w, n], [n, w]), below, strip([w, n], [0, w]), above)]
    second = [(strip([wide, w], [0, w]), left, strip([wide, w], [0, n + w]), right),
              (strip([wide, w], [0, n]), right, strip([wide, w], [0, 0]), left)]

    def sendrecv():
        for tag, (out, to, into, source) in enumerate(first + second):
            cart.Sendrecv(out, to, tag, into, source, tag)

    phases = []
    for tag, phase in ((8, first), (10, second)):
        requests = []
        for k, (out, to, into, source) in enumerate(phase):
            requests += [cart.Recv_init(into, source, tag + k), cart.Send_init(out, to, tag + k)]
        phases.append(requests)

    def persistent():
        for requests in phases:
            MPI.Prequest.Startall(requests)
            MPI.Request.Waitall(requests)

    say(w, "limit: the same strips copied inside each rank (NumPy)", strips)
    for peer, work in (("mpi4py Sendrecv, subarray types", sendrecv), ("mpi4py persistent requests, subarray types", persistent)):
        poison()
        cart.Barrier()
        work()
        say(w, peer, work, everywhere(cart, np.array_equal(array, wanted)))


def with_petsc(w):
    try:
        import petsc4py

        petsc4py.init([])
        from petsc4py import PETSc
    except ImportError as error:
        missing("PETSc (python3-petsc4py)", error, cart)
        return
    mesh = PETSc.DMDA().create([n * grid[1], n * grid[0]], dof=1, stencil_width=w, stencil_type="box",
                               boundary_type=("periodic", "periodic"), proc_sizes=(grid[1], grid[0]),
                               comm=PETSc.COMM_WORLD)
    owned, padded = mesh.createGlobalVec(), mesh.createLocalVec()
    owned.set(1.0)
    say(w, "PETSc DMDA globalToLocal", lambda: mesh.globalToLocal(owned, padded))


for width in (1, 4):
    (with_mpi4py if which == "mpi4py" else with_petsc)(width)
