#!/usr/bin/env python3
"""compare_bits.py TCSIM FOLDER BITS [CASE ...]: simulates the 512^3 rows (functional) on the inputs that the GPU had and compares C.

FOLDER: what emit.py wrote. BITS: bits.tar.gz of measure.py dump, unpacked. Prints each case; exit code 1 when one differs.
"""
import csv
import hashlib
import os
import re
import subprocess
import sys
import tempfile

import cases

SIZE = (512, 512, 512)


def differing(got, want, width):
    return sum(got[i:i + width] != want[i:i + width] for i in range(0, len(want), width))


def compare(tcsim, folder, bits, row, scratch):
    launch = open(os.path.join(folder, cases.launch_name(row["case"], SIZE) + ".toml")).read()
    for name in "AB":
        dtype = re.search(rf'\[buffer\.{name}\]\ndtype = "(\w+)"', launch).group(1)
        path = os.path.abspath(os.path.join(bits, f"{name}_{dtype}.bin"))
        launch = re.sub(rf'(\[buffer\.{name}\]\n.*\n.*\n)init = .*\n(seed = .*\n)?', rf'\1init = "file:{path}"\n', launch)
    toml, dump = os.path.join(scratch, "launch.toml"), os.path.join(scratch, "C.bin")
    with open(toml, "w") as f:
        f.write(launch)
    subprocess.run([tcsim, "run", os.path.join(folder, row["case"] + ".ptx"), "--launch", toml, "--arch", "h200", "--mode", "functional", "--quiet", "--dump", f"C={dump}"],
                   check=True, stdout=subprocess.DEVNULL)
    got, want = open(dump, "rb").read(), open(os.path.join(bits, row["file"]), "rb").read()
    assert hashlib.sha256(want).hexdigest() == row["sha256"]
    width = 2 if re.search(r'\[buffer\.C\]\ndtype = "b?f16"', launch) else 4
    return differing(got, want, width) if got != want else 0


def main(tcsim, folder, bits, *only):
    worst = 0
    with tempfile.TemporaryDirectory() as scratch:
        for row in csv.DictReader(open(os.path.join(bits, "bits.csv"))):
            if only and row["case"] not in only:
                continue
            count = compare(tcsim, folder, bits, row, scratch)
            worst = max(worst, count)
            print(f"{row['case']}: {count} differing elements", flush=True)
    sys.exit(worst != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
