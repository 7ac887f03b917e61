#!/usr/bin/env python3
"""ncu exports of conflict_cases.py -> the JSON kept in validation/data.

usage: conflict_json.py CONFLICTS_SOURCE.csv SHARE_SOURCE.csv SHARE_COUNTERS.csv OUT_DIR
"""
import csv
import json
import os
import re
import sys

from conflict_cases import CASES, SHARE

PROVENANCE = {"gpu": "NVIDIA H200", "driver": "580.159.04", "date": "2026-11-30",
              "command": "ncu --cache-control none --clock-control none --section SourceCounters; ncu --import ... --page source --csv"}

NOTE = ("wavefronts: hardware counters l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld/_st; wavefronts_source_page: what ncu computes per "
        "instruction. They differ in 7 cases where lanes share words and conflict too.")


def accesses(path):
    """(kernel, SASS row) of the first shared-memory access of every profiled launch, in order."""
    rows, header, kernel, seen = [], None, None, True
    for line in open(path):
        if line.startswith('"Kernel Name"'):
            kernel, seen = next(csv.reader([line]))[1], False
        elif line.startswith('"Address"'):
            header = next(csv.reader([line]))
        elif not seen and re.search(r"\b(LDS|STS|LDSM|STSM)\b", line):
            rows.append((kernel, dict(zip(header, next(csv.reader([line]))))))
            seen = True
    pairs = rows[0::2]  # the page lists every launch twice (SASS view, then source view)
    assert [k for k, _ in rows[0::2]] == [k for k, _ in rows[1::2]]
    return pairs


def numbers(row):
    return {"sass": row["Source"].strip(), "executed": int(row["Instructions Executed"]), "wavefronts": int(row["L1 Wavefronts Shared"]),
            "wavefronts_ideal": int(row["L1 Wavefronts Shared Ideal"]), "n_way": int(row["L1 Conflicts Shared N-Way"])}


def main():
    out = []
    for kernel, row in accesses(sys.argv[1]):
        name = kernel.replace("micro_conflict_", "")
        hand, ideal, why = CASES[name]
        out.append({"kernel": kernel, "hand_wavefronts": hand, "hand_ideal": ideal, "arithmetic": why, **numbers(row)})
    wrong = [r["kernel"] for r in out if r["wavefronts"] != r["hand_wavefronts"] or r["wavefronts_ideal"] != r["hand_ideal"]]
    json.dump({"provenance": PROVENANCE, "cases": out}, open(os.path.join(sys.argv[4], "conflicts.json"), "w"), indent=1)
    counters = list(csv.DictReader(l for l in open(sys.argv[3]) if l.startswith('"')))[1:]
    share = []
    for (kernel, row), (k, shift, mask, size), hw in zip(accesses(sys.argv[2]), SHARE, counters, strict=True):
        case = {"kernel": kernel, "shift": shift, "mask": mask, "bytes": size, **numbers(row)}
        case["wavefronts_source_page"] = case.pop("wavefronts")
        case["wavefronts"] = sum(int(hw[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"]) for op in ("ld", "st"))
        share.append(case)
    json.dump({"provenance": PROVENANCE, "note": NOTE, "address": "((tid >> shift) & mask) * bytes", "cases": share}, open(os.path.join(sys.argv[4], "sharing.json"), "w"), indent=1)
    print(len(out), "cases, differing from the hand count:", wrong, ";", len(share), "sharing cases")


if __name__ == "__main__":
    main()
