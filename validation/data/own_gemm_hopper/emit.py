#!/usr/bin/env python3
"""emit.py TCSIM FOLDER: writes FOLDER/CASE.ptx and FOLDER/CASE__MxNxK.toml of every row, then (with ptxas) FOLDER/CASE.cubin."""
import os
import shutil
import subprocess
import sys

import cases


def main(tcsim, folder):
    os.makedirs(folder, exist_ok=True)
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    for case, (options, sizes) in cases.all_cases().items():
        flags = [x for key, value in options.items() for x in (["--" + key] if value is None else ["--" + key, str(value)])]
        for size in sizes:
            name = os.path.join(folder, cases.launch_name(case, size))
            m, n, k = map(str, size)
            subprocess.run([tcsim, "gemm", "--arch", "h200", "-m", m, "-n", n, "-k", k, *flags, "--emit-ptx", name, "--no-run"], check=True)
            os.replace(name, os.path.join(folder, case + ".ptx"))  # the same for every size
        subprocess.run([ptxas, "-arch=sm_90a", "-o", os.path.join(folder, case + ".cubin"), os.path.join(folder, case + ".ptx")], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
