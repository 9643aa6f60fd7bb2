#!/usr/bin/env python3
"""bench_io_report.py FOLDER…: what bench.sh measured of group io, a table for each folder of files; all medians into FOLDER/results.json.

Ours and the limit took turns: a ratio is that of two times that stand beside each other. Shown is the median of the ratios, and from the
least to the greatest in brackets. A peer's limit is that of its own run. Lower is better.
"""

import json
import sys
from pathlib import Path
from statistics import median

PLACES = ("threads", "mpi")
RANKS = (1, 2, 4)
CASES = {
    "contiguous-write": "rows, contiguous: write",
    "contiguous-read": "read, used memory",
    "contiguous-load": "load, fresh memory",
    "chunked-write": "rows, chunks: write",
    "chunked-read": "read",
    "cyclic64-write": "rows dealt by 64, chunks: write",
    "cyclic64-read": "read",
    "cyclic64-plan": "its plans ÷ such a write",
    "rows-read": "10,000 scattered rows",
    "vds-load": "virtual dataset of 4 parts: load",
    "batched-read": "chunk by chunk",
    "gzip-write": "gzip: write (limit: coding)",
    "gzip-read": "gzip: read (limit: decoding)",
    "small-save": "8 KiB, 32 times: save",
    "small-load": "load",
    "small-append": "append",
}


def ours(folder):
    """(case, place, ranks): the times of ours and of the limit, in ns, in the order in which they were taken."""
    found = {}
    for path in folder.glob("criterion/**/new/benchmark.json"):
        names = json.loads(path.read_text())
        sample = json.loads((path.parent / "sample.json").read_text())
        case = names["group_id"].split("/")[1]
        place, ranks = names["value_str"].split("-")
        times = [time / calls for time, calls in zip(sample["times"], sample["iters"])]
        found.setdefault((case, place, int(ranks)), {})[names["function_id"]] = times
    return {key: both for key, both in found.items() if {"ours", "limit"} <= set(both)}


def theirs(folder):
    path = folder / "peers.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "missing" not in line], [line for line in lines if "missing" in line]


def milliseconds(ns):
    return f"{ns / 1e6:.4g}"


def spread(ratios):
    return f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"


def measured(found, key):
    if key not in found:
        return ["", ""]
    both = found[key]
    return [milliseconds(median(both["ours"])), spread([o / limit for o, limit in zip(both["ours"], both["limit"])])]


def beside(peers, found, case, ranks):
    """A cell for each peer: its time, how it stands to its limit, and what ours on threads is of it."""
    alike = [peer for peer in peers if (peer["case"], peer["ranks"]) == (case, ranks)]
    limit = [peer["median_ns"] for peer in alike if peer["peer"].startswith("limit")]
    cells = []
    for peer in alike:
        if peer["peer"].startswith("limit"):
            continue
        text = f"{peer['peer']} {milliseconds(peer['median_ns'])}"
        if "range_ns" in peer:
            text += f" ({milliseconds(peer['range_ns'][0])}–{milliseconds(peer['range_ns'][1])})"
        if limit:
            text += f", × {peer['median_ns'] / limit[0]:.2f} of its limit"
        mine = [median(found[case, place, ranks]["ours"]) for place in PLACES if (case, place, ranks) in found]
        if mine:
            text += f", {peer['median_ns'] / min(mine):.2f} of ours"
        cells.append(text + ("" if peer.get("correct", True) else ", WRONG"))
    return "; ".join(cells)


def table(rows, head):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * w for w in widths], *rows]:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |")
    print()


def main(folder):
    found = ours(folder)
    peers, missing = theirs(folder)
    print(f"## io, files on {folder.name}\n")
    rows = []
    for case, text in CASES.items():
        for ranks in RANKS:
            limit = found.get((case, "threads", ranks)) or found.get((case, "mpi", ranks))
            cells = [cell for place in PLACES for cell in measured(found, (case, place, ranks))]
            peer = beside(peers, found, case, ranks)
            if limit or peer:
                rows.append([text, str(ranks), milliseconds(median(limit["limit"])) if limit else "", *cells, peer])
    table(rows, ["case", "ranks", "limit, ms", "threads, ms", "× limit", "MPI, ms", "× limit", "peers, ms"])
    for peer in peers:
        if peer.get("peak_bytes"):
            above = (peer["peak_bytes"] - peer["budget_bytes"]) / 2**20
            print(f"{peer['peer']}: {peer['peak_bytes'] / 2**20:.1f} MiB at most, {above:.1f} MiB above its budget")
    for line in dict.fromkeys(f"missing: {line['missing']} ({line['why']})" for line in missing):
        print(line)
    medians = [{"case": c, "where": w, "ranks": r, "what": what, "median_ns": median(times), "times_ns": times}
               for (c, w, r), both in sorted(found.items()) for what, times in sorted(both.items())]
    (folder / "results.json").write_text(json.dumps({"ours": medians, "peers": peers, "missing": missing}, indent=1) + "\n")


for name in sys.argv[1:]:
    main(Path(name))
