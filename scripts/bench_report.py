#!/usr/bin/env python3
"""bench_report.py FOLDER: collects the medians of criterion and of the peers into FOLDER/results.json and prints
every time as a ratio to the limit of its own run, ours and the peers' side by side.

A criterion group's limit is its function whose name has a part that begins with copy, clone, memcpy, raw or limit (the one
with the same parameters, where there are several); a peer's is the line that its script calls "limit: …". Lower is better, 1.0 is the limit.
"""

import json
import re
import sys
from pathlib import Path

LIMIT = re.compile(r"(^|/)(limit|copy|clone|memcpy|raw)\b")


def ours(folder):
    """One entry a criterion benchmark: where it ran (criterion-<where>), its names, its median."""
    for home in sorted(folder.glob("criterion-*")):
        for path in sorted(home.glob("**/new/benchmark.json")):
            names = json.loads(path.read_text())
            estimates = json.loads((path.parent / "estimates.json").read_text())
            throughput = names.get("throughput") or {}
            yield {
                "where": home.name.removeprefix("criterion-"),
                "group": names["group_id"],
                "function": names["function_id"] or "",
                "parameter": names["value_str"] or "",
                "median_ns": estimates["median"]["point_estimate"],
                "throughput": throughput,
            }


def peers(folder):
    path = folder / "peers.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "missing" not in line], [line for line in lines if "missing" in line]


def segments(entry):
    return {s for s in f"{entry['function']}/{entry['parameter']}".split("/") if s}


def is_limit(entry):
    return bool(LIMIT.search(entry["function"]))


def limit_of(entry, entries):
    """The limit that ran beside `entry`: same place and group, and the most like it in its parameters."""
    beside = [e for e in entries if e["where"] == entry["where"] and e["group"] == entry["group"] and is_limit(e)]
    alike = [len(segments(e) & segments(entry)) for e in beside]
    return min((e["median_ns"] for e, n in zip(beside, alike) if n == max(alike)), default=None)


def time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def table(rows, head):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * w for w in widths], *rows]:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |")
    print()


def main():
    folder = Path(sys.argv[1])
    measured = list(ours(folder))
    others, missing = peers(folder)
    for entry in measured:
        limit = limit_of(entry, measured)
        entry["limit_ns"] = limit
        entry["ratio"] = entry["median_ns"] / limit if limit else None
    for entry in others:
        beside = [o for o in others if o["group"] == entry["group"] and o["ranks"] == entry["ranks"]
                  and o.get("where") == entry.get("where") and o["peer"].startswith("limit")]
        limit = [o["median_ns"] for o in beside if o["case"] == entry["case"]] or [
            o["median_ns"] for o in beside if entry["group"] == "maps"]
        entry["limit_ns"] = min(limit, default=None)
        entry["ratio"] = entry["median_ns"] / entry["limit_ns"] if limit else None
    (folder / "results.json").write_text(json.dumps({"ours": measured, "peers": others, "missing": missing}, indent=1) + "\n")

    def ratio(entry):
        return f"{entry['ratio']:.2f}" if entry["ratio"] else "-"

    print("## Ours\n")
    rows = [[e["where"], e["group"], "/".join(filter(None, (e["function"], e["parameter"]))), time(e["median_ns"]),
             "limit" if is_limit(e) else ratio(e)] for e in measured]
    table(rows, ["where", "group", "case", "median", "× limit"])
    print("## Peers\n")
    rows = [[e.get("where", f"{e['ranks']} rank(s)"), e["group"], e["case"], e["peer"], time(e["median_ns"]), ratio(e),
             {True: "yes", False: "NO"}.get(e.get("correct"), "")] for e in others]
    table(rows, ["where", "group", "case", "peer", "median", "× limit", "correct"])
    for line in missing:
        print(f"missing: {line['missing']} ({line['why']})")


main()
