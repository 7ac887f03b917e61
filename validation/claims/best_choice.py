#!/usr/bin/env python3
"""Would the simulator have chosen well? For each size of the Triton kernels measured on an H200: the case (tile, stages, warps) that the
simulation ranks first, and how much longer than the fastest case it was measured to take. Fails above 10 % over all kernels of a size;
the rows of single tables are shown beside.

  best_choice.py TCSIM [--jobs N] [--size 512,1024] [--data FOLDER ...]     simulates the tables of validation/data, or of these folders
  best_choice.py --json A.json [B.json ...]             reads what `tcsim validate --json` wrote
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
SETS = [str(DATA / name) for name in ("triton_gemm", "triton_tma", "triton_wgmma")]
BOUND = 0.10


def simulate(program, options):
    rows = []
    for data in options.data:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "rows.json"
            command = [program, "validate", "--data", data, "--json", str(out), "--summary", "--quiet"]
            if options.jobs:
                command += ["--jobs", str(options.jobs)]
            if options.size:
                command += ["--size", options.size]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            rows += json.loads(out.read_text())["rows"]
    return rows


def choices(rows):
    """(data set or "all", size) -> what was chosen, and what was the best."""
    groups = collections.defaultdict(list)
    for row in rows:
        size = (row["M"], row["N"], row["K"])
        groups[row["data"], size].append(row)
        groups["all", size].append(row)
    for (data, size), members in sorted(groups.items()):
        chosen = min(members, key=lambda row: row["cycles"])
        best = min(members, key=lambda row: row["measured_cycles"])
        yield data, size, len(members), chosen, best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--json", nargs="+", default=[])
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--size")
    parser.add_argument("--data", nargs="+", default=SETS)
    options = parser.parse_args()
    if bool(options.program) == bool(options.json):
        parser.error("give the program or --json")
    rows = simulate(options.program, options) if options.program else [row for path in options.json for row in json.loads(pathlib.Path(path).read_text())["rows"]]
    failed = [row for row in rows if not row.get("cycles")]
    for row in failed:
        print(f"{row['data']} {row['case']}: not simulated: {row.get('failure', '')}", file=sys.stderr)
    worst = 0.0
    print(f"{'data':<13} {'size':<16} {'cases':>5}  {'simulated best':<26} {'measured':>9}  {'measured best':<26} {'measured':>9}  loss")
    for data, size, count, chosen, best in choices([row for row in rows if row.get("cycles")]):
        loss = chosen["measured_cycles"] / best["measured_cycles"] - 1
        if data == "all":
            worst = max(worst, loss)
        print(f"{data:<13} {'x'.join(map(str, size)):<16} {count:>5}  {chosen['case']:<26} {chosen['measured_cycles']:>9.0f}  {best['case']:<26} {best['measured_cycles']:>9.0f}  {100 * loss:+.1f} %")
    print(f"largest loss over all kernels of a size {100 * worst:.1f} %, allowed {100 * BOUND:.0f} %")
    return 0 if rows and not failed and worst <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
