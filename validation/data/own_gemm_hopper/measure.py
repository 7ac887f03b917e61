#!/usr/bin/env python3
"""Runs the rows of cases.py on an H200: checks results, keeps the bits of C, and makes h200.csv of what ncu counted.

    measure.py check FOLDER CHECKS.csv        every row once, against a float64 product. A kernel that hangs ends the process with code 9
                                              after its row is written; the next call with the same CHECKS.csv goes on after it
    measure.py dump FOLDER OUT.tar.gz         bits.csv (case, sha256 of C, file), A and B by type, each different C once, at 512^3
    measure.py metrics NCU_METRICS            the metrics to ask for, of those that `ncu --query-metrics` knows
    measure.py run FOLDER TIMES [ROWS]        every row (or the first ROWS) TIMES times (under ncu)
    measure.py table CHECKS.csv RAW.csv REPEAT.csv TIMES OUT.csv

FOLDER holds CASE.cubin and CASE__MxNxK.toml (emit.py). Columns are those of ../own_gemm, with grid_x and grid_y for grid.
"""
import csv
import hashlib
import importlib.util
import io
import os
import re
import sys
import tarfile

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
# Largest relative L2 error by the type of C: rounding of the stored value; for f32 that of 8-bit products in the tensor core.
LIMITS = {"f16": 5e-4, "bf16": 4e-3, "f32": 2e-3, "s32": 0.0}


def own_gemm():
    spec = importlib.util.spec_from_file_location("own_gemm_measure", os.path.join(HERE, "..", "own_gemm", "measure.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Runner:
    def __init__(self, folder):
        import tma_launch
        self.tma, self.folder, self.cache, self.driver = tma_launch, folder, {}, tma_launch.Driver()

    def prepare(self, case, size):
        launch = self.tma.read_launch(os.path.join(self.folder, cases.launch_name(case, size) + ".toml"))
        return launch, self.tma.make_buffers(launch, self.cache)

    def launch(self, case, launch, buffers, limit_s):
        self.driver.launch(os.path.join(self.folder, case + ".cubin"), launch, buffers, limit_s)


def check(folder, checks):
    done = {tuple(row[:2]) for row in csv.reader(open(checks))} if os.path.exists(checks) else set()
    runner = Runner(folder)
    with open(checks, "a") as out:
        for case, size in cases.points():
            text = "x".join(map(str, size))
            if (case, text) in done:
                continue
            launch, buffers = runner.prepare(case, size)
            print(f"{case},{text},", end="", file=out, flush=True)
            try:
                runner.launch(case, launch, buffers, 5.0)
            except (runner.tma.Hang, RuntimeError) as fault:
                print(f",{fault or 'HANG'}", file=out, flush=True)
                os._exit(9)
            error = runner.tma.relative_error(launch, buffers)
            print(f"{error:.3g},{'ok' if error <= LIMITS[launch['buffer']['C']['dtype']] else 'WRONG'}", file=out, flush=True)


def dump(folder, path):
    import torch
    runner, rows, kept = Runner(folder), [], set()
    with tarfile.open(path, "w:gz") as tar:
        def keep(name, data):
            if name not in kept:
                kept.add(name)
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))

        def raw(tensor):
            return tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()

        for case, size in cases.points():
            if size != (512, 512, 512):
                continue
            launch, buffers = runner.prepare(case, size)
            runner.launch(case, launch, buffers, 5.0)
            for name in "AB":
                spec = launch["buffer"][name]
                keep(f"{name}_{spec['dtype']}.bin", raw(buffers[name]))
            data = raw(buffers["C"])
            digest = hashlib.sha256(data).hexdigest()
            keep(f"C_{digest[:12]}.bin", data)
            rows.append(f"{case},{digest},C_{digest[:12]}.bin\n")
        keep("bits.csv", ("case,sha256,file\n" + "".join(rows)).encode())


def run(folder, times, rows=None):
    runner = Runner(folder)
    for case, size in cases.points()[:int(rows) if rows else None]:
        launch, buffers = runner.prepare(case, size)
        for _ in range(int(times)):
            runner.launch(case, launch, buffers, 60.0)  # ncu replays inside the launch


def table(checks, raw, repeat, times, out):
    common = own_gemm()
    rows, repeats, times = common.read_raw(raw), common.read_raw(repeat), int(times)
    errors = {tuple(row[:2]): row[2] for row in csv.reader(open(checks))}
    points = cases.points()
    assert len(rows) == len(points) and len(repeats) == times * len(points), (len(rows), len(repeats), len(points))
    columns = {c: m for c, m in common.COLUMNS.items() if m in rows[0]}
    with open(out, "w") as h:
        print(",".join(["case", "M", "N", "K", "kernel", *columns, "cycles_min", "cycles_median", "cycles_max", "grid_x", "grid_y", "block", "relative_l2"]), file=h)
        for i, ((case, size), row) in enumerate(zip(points, rows)):
            grid, block = ([int(x) for x in re.findall(r"\d+", row[name])] for name in ("Grid Size", "Block Size"))
            again = repeats[i * times:(i + 1) * times]
            assert all(r["Grid Size"] == row["Grid Size"] for r in again), case
            cycles = sorted(int(r[common.COLUMNS["cycles"]].replace(",", "")) for r in (row, *again))
            print(",".join([case, *map(str, size), row["Kernel Name"], *(common.number(row[m]) for m in columns.values()), str(cycles[0]), str(cycles[len(cycles) // 2]),
                            str(cycles[-1]), str(grid[0]), str(grid[1]), str(block[0]), errors[(case, "x".join(map(str, size)))]]), file=h)


if __name__ == "__main__":
    {"check": check, "dump": dump, "metrics": lambda known: own_gemm().metrics(known), "run": run, "table": table}[sys.argv[1]](*sys.argv[2:])
