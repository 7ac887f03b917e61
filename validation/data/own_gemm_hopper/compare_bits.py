#!/usr/bin/env python3
"""compare_bits.py TCSIM [--async eager,late,random] [CASE ...]: simulates the 512^3 rows (functional) on the inputs that the GPU had and
compares the sha256 of C with the GPU's. Prints each case; exit code 1 when one differs."""
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import inputs

HERE = os.path.dirname(os.path.abspath(__file__))


def launch_text(facts, row, files):
    values = {**facts, **{name: row[name] for name in ("M", "N", "K", "grid_x", "grid_y")}}
    with open(os.path.join(HERE, "launch.toml.in")) as f:
        text = re.sub(r"@(\w+)@", lambda m: str(values[m[1]]).lower() if isinstance(values[m[1]], bool) else str(values[m[1]]), f.read())
    for name, path in files.items():
        text = re.sub(rf'(\[buffer\.{name}\]\n.*\n.*\n)init = .*\nseed = .*\n', lambda m: f'{m[1]}init = "file:{path}"\n', text)
    return text


def simulate(tcsim, case, facts, row, order, folder):
    files = {name: os.path.join(folder, f"{name}_{facts['dtype']}.bin") for name in "AB"}
    for name, path in files.items():
        if not os.path.exists(path):
            with open(path, "wb") as f:
                f.write(inputs.operand(name, facts["dtype"]))
    toml, dump = os.path.join(folder, "launch.toml"), os.path.join(folder, "C.bin")
    with open(toml, "w") as f:
        f.write(launch_text(facts, row, files))
    subprocess.run([tcsim, "run", os.path.join(HERE, "ptx", case + ".ptx"), "--launch", toml, "--arch", "h200", "--mode", "functional", "--async", order, "--quiet",
                    "--dump", f"C={dump}"], check=True, stdout=subprocess.DEVNULL)
    with open(dump, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main(tcsim, args):
    orders = ["eager"]
    if args[:1] == ["--async"]:
        orders, args = args[1].split(","), args[2:]
    kernels = json.load(open(os.path.join(HERE, "kernels.json")))
    rows = {row["case"]: row for row in csv.DictReader(open(os.path.join(HERE, "h200.csv"))) if row["M"] == row["N"] == row["K"] == "512"}
    wanted = {row["case"]: row["sha256"] for row in csv.DictReader(open(os.path.join(HERE, "bits", "bits.csv")))}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in args or wanted:
            for order in orders:
                same = simulate(tcsim, case, kernels[case], rows[case], order, folder) == wanted[case]
                failed += not same
                print(f"{case} {order}: {'the bits of the H200' if same else 'DIFFERS'}", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
