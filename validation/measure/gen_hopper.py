#!/usr/bin/env python3
"""Writes the Hopper microbenchmarks as PTX, assembles them to cubins and lists them.

usage: gen_hopper.py OUT_DIR [PTXAS]     (ptxas 12.7 or newer)
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import hopper_sync
import hopper_tma
import hopper_wgmma
from hopper_ptx import HEADER

PER_FILE = 16


def main():
    out, ptxas = sys.argv[1], (sys.argv[2:] + ["/usr/local/cuda/bin/ptxas"])[0]
    os.makedirs(out, exist_ok=True)
    manifest, files, where = [], {}, {}
    for group, module in (("wgmma", hopper_wgmma), ("sync", hopper_sync), ("tma", hopper_tma)):
        count = 0
        for text, entry in module.cases():
            if text:
                name = text.split(".visible .entry ")[1].split("(")[0]
                file = f"{group}_{count // PER_FILE}"
                files.setdefault(file, []).append(text)
                where[name] = file + ".cubin"
                count += 1
            if entry:
                manifest.append(entry)

    def assemble(file):
        path, text = os.path.join(out, file + ".ptx"), HEADER + "\n".join(files[file])
        cubin = path[:-4] + ".cubin"
        if os.path.exists(cubin) and open(path).read() == text:
            return file, 0, ""
        if os.path.exists(cubin):
            os.unlink(cubin)
        with open(path, "w") as h:
            h.write(text)
        r = subprocess.run([ptxas, "-arch=sm_90a", "-v", path, "-o", cubin], capture_output=True, text=True)
        return file, r.returncode, "\n".join(x for x in r.stderr.splitlines() if "error" in x or "warning" in x or "serializ" in x or ("spill" in x and "0 bytes spill stores" not in x))
    with ThreadPoolExecutor(2) as ex:
        for file, rc, err in ex.map(assemble, files):
            if rc or err:
                print(file, rc, err[:1500])
    with open(os.path.join(out, "manifest.json"), "w") as h:
        json.dump({"cases": manifest, "files": where}, h, indent=0)
    print(len(manifest), "benchmarks,", len(where), "kernels in", len(files), "files")


if __name__ == "__main__":
    main()
