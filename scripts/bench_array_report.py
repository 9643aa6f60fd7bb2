#!/usr/bin/env python3
"""bench_array_report.py FOLDER: what bench.sh measured of group array, as tables; all medians into FOLDER/results.json.

FOLDER has a folder a round (1, 2, …) and one for what is measured once. A ratio is that of two times of one round and one number of
ranks; shown is the median over the rounds, and from the least to the greatest in brackets. Lower is better.
"""

import json
import os
import sys
from pathlib import Path
from statistics import median

PLACES = ("threads", "mpi")
RANKS = (1, 2, 4)
LIMIT = "NumPy's sum or BLAS' dot"


def ours(folder):
    """(case, place, ranks, function): the median in ns."""
    for path in folder.glob("criterion/**/new/benchmark.json"):
        names = json.loads(path.read_text())
        estimates = json.loads((path.parent / "estimates.json").read_text())
        case = names["group_id"].split("/")[1]
        place, ranks = names["value_str"].split("-")
        yield (case, place, int(ranks), names["function_id"].split(":")[0]), estimates["median"]["point_estimate"]


def theirs(folder):
    """(case, "peer", ranks, peer): the median in ns; limits of one read of the array under the case "read"."""
    path = folder / "peers.jsonl"
    for line in path.read_text().splitlines() if path.exists() else []:
        entry = json.loads(line)
        if "missing" in entry:
            missing.add(f"{entry['missing']} ({entry['why']})")
            continue
        if entry.get("correct") is False:
            wrong.add((entry["case"], entry["peer"], entry["ranks"]))
        yield (entry["case"], "peer", entry["ranks"], entry["peer"]), entry["median_ns"]


def collect(folder):
    """All of a round; of what was measured twice the faster."""
    found = {}
    for key, ns in [*ours(folder), *theirs(folder)]:
        found[key] = min(ns, found.get(key, ns))
    for ranks in RANKS:
        reads = [ns for key, ns in found.items() if key[0] == "read" and key[2] == ranks]
        if reads:
            found["read", "peer", ranks, LIMIT] = min(reads)
    return found


def time(key):
    times = [found[key] for found in rounds if key in found]
    return f"{median(times) / 1e6:.4g}" if times else ""


def ratio(key, limit, scale=1.0):
    """`key` over `limit` in the rounds that have both."""
    ratios = [found[key] / found[limit] * scale for found in rounds if key in found and limit in found]
    if not ratios:
        return ""
    spread = f" ({min(ratios):.2f}–{max(ratios):.2f})" if len(ratios) > 1 else ""
    mark = " WRONG" if (key[0], key[3], key[2]) in wrong else ""
    return f"{median(ratios):.2f}{spread}{mark}"


def table(title, head, rows):
    rows = [row for row in rows if any(row[2:])]
    if not rows:
        return
    print(f"## {title}\n")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * w for w in widths], *rows]:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |")
    print()


def peer(case, ranks, name):
    return case, "peer", ranks, name


def main():
    reductions = ["sum-all", "sum-axis0", "sum-axis1", "max-all", "max-axis0", "argmax-all", "var-all", "var-axis0", "var-axis1"]
    rows = []
    for case in reductions:
        for ranks in RANKS:
            limit = peer("read", ranks, LIMIT)
            row = [case, str(ranks)]
            for place in PLACES:
                mine = case, place, ranks, "ours"
                row += [time(mine), ratio(mine, limit), ratio(mine, (case, place, ranks, "limit"))]
            others = ["mpi4py + NumPy", "NumPy, the local part", "mpi4py + NumPy, one sweep", "mpi4py + NumPy, two passes"]
            other = next((o for o in others if time(peer(case, ranks, o))), "")
            row += [ratio(peer(case, ranks, other), limit), ratio(peer(case, ranks, "Heat"), limit), ratio(peer(case, ranks, "DistArray"), limit)]
            rows.append(row)
    head = ["case", "ranks", "threads, ms", "× limit", "× plain loop", "MPI, ms", "× limit", "× plain loop", "NumPy × limit", "Heat × limit", "DistArray × limit"]
    table("Reductions (limit: the faster of NumPy's sum and BLAS' dot over the same local bytes, same round)", head, rows)

    rows = []
    for ranks in RANKS:
        row = ["NumPy's sum, BLAS' dot, ours plain", str(ranks)]
        row += [time(peer("read", ranks, f"limit: {name} of the local part")) for name in ("NumPy's sum", "BLAS' dot")]
        row += [time(("sum-all", place, ranks, "limit")) for place in PLACES]
        rows.append(row)
    table("The limits themselves, in ms", ["", "ranks", "NumPy's sum", "BLAS' dot", "plain loop, threads", "plain loop, MPI"], rows)

    rows = []
    for ranks in RANKS:
        row = ["reproducible sum", str(ranks)]
        for place in PLACES:
            mine = "reproducible-sum", place, ranks, "ours"
            row += [time(mine), ratio(mine, ("reproducible-sum", place, ranks, "limit")), ratio(mine, peer("read", ranks, LIMIT))]
        rows.append(row)
    head = ["case", "ranks", "threads, ms", "× sum", "× limit", "MPI, ms", "× sum", "× limit"]
    table("Reproducible sum (beside our own sum)", head, rows)

    rows = []
    for case in ["add", "sqrt", "scale", "add-fresh", "sqrt-fresh", "scale-fresh"]:
        for ranks in RANKS:
            row = [case, str(ranks)]
            for place in PLACES:
                mine = case, place, ranks, "ours"
                row += [time(mine), ratio(mine, (case, place, ranks, "limit")), ratio(mine, peer(case, ranks, "NumPy"))]
            rows.append([*row, time(peer(case, ranks, "NumPy"))])
    head = ["case", "ranks", "threads, ms", "× plain loop", "× NumPy", "MPI, ms", "× plain loop", "× NumPy", "NumPy, ms"]
    table("Element-wise (add and sqrt into an array, scale in place; fresh: a new array)", head, rows)

    cores = os.cpu_count() or 1
    rows = []
    for ranks in RANKS:
        row = ["product", str(ranks)]
        for place in PLACES:
            mine, whole = ("dot", place, ranks, "ours"), ("dot", place, 1, "limit")
            # Rate per core over that of the kernel on one rank; ranks beyond the cores share them.
            row += [time(mine), ratio(whole, mine, 1 / min(ranks, cores)), ratio(("dot", place, ranks, "limit"), mine)]
        row += [time(peer("dot", ranks, "BLAS, rows of the product on each rank")), time(peer("dot", ranks, "Heat"))]
        rows.append(row)
    head = ["case", "ranks", "threads, ms", "rate a core ÷ one-rank kernel", "÷ kernels side by side", "MPI, ms", "rate a core ÷ one-rank kernel", "÷ kernels side by side",
            "BLAS, ms", "Heat, ms"]
    table(f"Product of 2048² matrices on {cores} cores (higher is better)", head, rows)

    rows = []
    for ranks in RANKS:
        row = ["sort", str(ranks)]
        for place in PLACES:
            mine = "sort", place, ranks, "ours"
            row += [time(mine), ratio(mine, ("sort", place, ranks, "limit"))]
        for name in ("numpy.sort of the whole, on one rank", "limit: numpy.sort of each rank's part", "Heat"):
            row.append(time(peer("sort", ranks, name)))
        rows.append(row)
    head = ["case", "ranks", "threads, ms", "× local sort of a part", "MPI, ms", "× local sort of a part", "numpy.sort, whole, ms", "numpy.sort, parts, ms", "Heat, ms"]
    table("Sort of 10⁸ numbers", head, rows)
    for line in sorted(missing):
        print(f"missing: {line}")


folder = Path(sys.argv[1])
missing, wrong = set(), set()
names = sorted(path.name for path in folder.iterdir() if path.is_dir())
rounds = [collect(folder / name) for name in names]
medians = [{"round": name, "case": c, "where": w, "ranks": r, "what": f, "median_ns": ns}
           for name, found in zip(names, rounds) for (c, w, r, f), ns in sorted(found.items())]
(folder / "results.json").write_text(json.dumps(medians, indent=1) + "\n")
main()
