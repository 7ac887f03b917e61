#!/usr/bin/env python3
"""Writes the pattern microbenchmarks as CUDA sources, compiles them to cubins and lists them.

usage: gen_micro.py OUT_DIR     (needs nvcc with sm_90a)

Every kernel: parameters (u64* out, char* g, int iters, int arg, int stride). Three repetitions
run; warp w of repetition r stores its start and end clock at out[2 * (32 * r + w)]. arg is 0 at
run time and keeps values opaque to the compiler.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import micro_mem_ops
import micro_ops

HEAD = """extern "C" __global__ void __launch_bounds__(%d) %s(unsigned long long* out, char* g, int iters, int arg, int stride) {
  extern __shared__ __align__(1024) char sm[];
  const unsigned lane = threadIdx.x %% 32, warp = threadIdx.x / 32;
  const unsigned sm_addr = (unsigned)__cvta_generic_to_shared(sm);
"""


def body_of(op, chains, unroll):
    fix = lambda t, c, k=0: t.replace("{c}", str(c)).replace("{k}", str(k)).replace("{{", "{").replace("}}", "}")
    lines = []
    for ctype, name, value in op.consts:
        lines.append(f"  {ctype} {name} = {value};")
    for c in range(chains):
        for ctype, name, value in op.state:
            lines.append(f"  {ctype} {name}{c} = {fix(value, c)};")
    if op.setup:
        lines.append("  " + op.setup)
    lines += ["  #pragma unroll 1", "  for (int rep = 0; rep < 3; ++rep) {", "    __syncthreads();", "    long long t0 = clock64();",
              "    #pragma unroll 1", "    for (int i = 0; i < iters; ++i) {"]
    lines += ["      " + fix(op.step, k % chains, k) for k in range(unroll)]
    lines += ["      " + op.tail] if op.tail else []
    lines += ["    }", "    long long t1 = clock64();",
              "    if (lane == 0) { out[2 * (32 * rep + warp)] = t0; out[2 * (32 * rep + warp) + 1] = t1; }", "  }"]
    sink = ["  unsigned long long z = 0;"]
    for c in range(chains):
        for ctype, name, _ in op.state:
            v = f"{name}{c}"
            conv = {"float": f"__float_as_uint({v})", "double": f"(unsigned long long)__double_as_longlong({v})"}.get(ctype, v)
            sink.append(f"  z = z * 3 + {conv};")
    sink.append("  if (z == 0x12345678ull) out[500] = z;")
    return "\n".join(lines + sink) + "\n}\n"


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    ops = (micro_ops.alu_ops() + micro_ops.mma_ops() + micro_ops.mix_ops() + micro_mem_ops.shared_ops() + micro_mem_ops.global_ops() + micro_mem_ops.sync_ops())
    manifest, files = [], {}
    for op in ops:
        for chains in op.chains:
            names = []
            for u in op.unroll:
                u = max(chains, u // chains * chains)
                kernel = f"{op.name}_c{chains}_u{u}"
                files.setdefault(f"{op.group}_{len(manifest) // 25}", []).append(HEAD % (op.threads, kernel) + body_of(op, chains, u))
                names.append((kernel, u))
            manifest.append({"name": op.name, "group": op.group, "chains": chains, "file": f"{op.group}_{len(manifest) // 25}.cubin",
                             "kernels": names, "sweep": op.sweep, "max_threads": op.threads})
    def compile_one(f):
        src = os.path.join(out, f + ".cu")
        text, cubin = "\n".join(files[f]), os.path.join(out, f + ".cubin")
        if os.path.exists(cubin) and os.path.exists(src) and open(src).read() == text:
            return f, 0, ""
        if os.path.exists(cubin):
            os.unlink(cubin)
        with open(src, "w") as h:
            h.write(text)
        r = subprocess.run(["nvcc", "-w", "-Xptxas", "-w", "-gencode", "arch=compute_90a,code=sm_90a", "-cubin", src, "-o", cubin],
                           capture_output=True, text=True)
        return f, r.returncode, r.stderr
    with ThreadPoolExecutor(2) as ex:
        for f, rc, err in ex.map(compile_one, files):
            if rc:
                print(f, rc, err[:300])
    with open(os.path.join(out, "manifest.json"), "w") as h:
        json.dump(manifest, h, indent=0)
    print(len(manifest), "benchmarks in", len(files), "files")


if __name__ == "__main__":
    main()
