"""Shared by the peers' scripts: the median over repetitions, one JSON object a line for each measurement."""

import json
import os
import time

import numpy as np

REPETITIONS = int(os.environ.get("PEER_REPETITIONS", "11"))
BUDGET_SECONDS = float(os.environ.get("PEER_BUDGET", "5"))


def median_seconds(work, comm=None, before=None, repetitions=REPETITIONS):
    """Median time of `work()`, as `all_seconds` measures it."""
    return float(np.median(all_seconds(work, comm, before, repetitions)))


def all_seconds(work, comm=None, before=None, repetitions=REPETITIONS):
    """Times of `work()`: with ranks, from the first one's start to the last one's end.

    One call warms up. All ranks of a node read the same monotonic clock. A slow case stops early, at the
    same repetition on every rank.
    """
    times = []
    for repetition in range(repetitions + 1):
        if before is not None:
            before()
        if comm is not None:
            comm.Barrier()
        start = time.perf_counter()
        work()
        end = time.perf_counter()
        if comm is not None:
            from mpi4py import MPI

            start, end = comm.allreduce(start, op=MPI.MIN), comm.allreduce(end, op=MPI.MAX)
        if repetition > 0:
            times.append(end - start)
        if len(times) >= 3 and sum(times) > BUDGET_SECONDS:
            break
    return times


def report(group, case, peer, seconds, nbytes, correct=None, comm=None):
    """Prints a measurement, of one time or of several; `peer` "limit: …" is what the hardware allows."""
    if comm is not None and comm.Get_rank() != 0:
        return
    times = np.atleast_1d(seconds)
    line = {
        "group": group,
        "case": case,
        "peer": peer,
        "median_ns": round(float(np.median(times)) * 1e9, 1),
        "bytes": int(nbytes),
        "ranks": 1 if comm is None else comm.Get_size(),
    }
    if len(times) > 1:
        line["range_ns"] = [round(float(time) * 1e9, 1) for time in (times.min(), times.max())]
    if correct is not None:
        line["correct"] = bool(correct)
    print(json.dumps(line), flush=True)


def missing(peer, why, comm=None):
    """Names a peer that is not here."""
    if comm is None or comm.Get_rank() == 0:
        print(json.dumps({"missing": peer, "why": str(why)}), flush=True)


def everywhere(comm, ok):
    """Whether `ok` holds on every rank."""
    from mpi4py import MPI

    return comm.allreduce(bool(ok), op=MPI.LAND)
