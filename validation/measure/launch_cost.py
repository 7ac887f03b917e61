#!/usr/bin/env python3
"""Launches the kernels whose ncu counters give the launch overhead; run it under ncu.

The order is printed so that rows of the ncu CSV can be labelled.
"""
import json
import os
import sys

from cuda_driver import Device, i32, i64, u64

dev = Device()
cubin = os.path.join(sys.argv[1], "launch.cubin")
k = lambda n: dev.kernel(cubin, n)
buf = dev.alloc(64 << 20)
out = dev.alloc(1 << 24)
labels = []


def go(label, f, grid, block, smem, *args):
    dev.launch(f, grid, block, smem, *args)
    labels.append(label)


for ctas in (1, 132, 264, 528, 1056, 2112, 4224, 8448):
    go({"kernel": "empty", "ctas": ctas, "threads": 128, "smem": 0}, k("empty"), ctas, 128, 0)
for threads in (32, 256, 512, 1024):
    go({"kernel": "empty", "ctas": 1056, "threads": threads, "smem": 0}, k("empty"), 1056, threads, 0)
for smem in (48, 96, 200):
    for ctas in (132, 1056):
        go({"kernel": "empty", "ctas": ctas, "threads": 128, "smem": smem * 1024}, k("empty"), ctas, 128, smem * 1024)
for cyc in (500, 2000, 10000, 30000):
    for ctas in (1, 132):
        go({"kernel": "spin", "cycles": cyc, "ctas": ctas, "threads": 128, "smem": 0}, k("spin"), ctas, 128, 0, i64(cyc))
for smem in (0, 100, 200):
    go({"kernel": "spin", "cycles": 2000, "ctas": 1056, "threads": 128, "smem": smem * 1024}, k("spin"), 1056, 128, smem * 1024, i64(2000))
for loads in (1, 2, 8):
    dev.zero(out, 4096)
    go({"kernel": "touch", "loads": loads, "ctas": 132, "threads": 128, "smem": 0}, k("touch"), 132, 128, 0, u64(buf), u64(buf), u64(512), i32(loads), u64(out))
    v = dev.read(out, "Q", 132 * 16)
    labels[-1]["load_cycles_first_ctas"] = [[v[16 * b + i] for i in range(loads)] for b in range(0, 132, 12)]
json.dump(labels, open(sys.argv[2], "w"))
