#!/usr/bin/env python3
"""Generates what needs many kernels of one shape: queue depth, instruction fetch, register banks.

usage: gen_extra.py OUT_DIR [queue] [fetch] [banks]
"""
import json
import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

QUEUE = {
    "lds32": 'asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(v[I]) : "r"(a));',
    "lds128": 'asm volatile("{.reg .b32 x,y,z; ld.volatile.shared.v4.u32 {%0,x,y,z},[%1];}" : "=r"(v[I]) : "r"(a));',
    "ldsm4": 'asm volatile("{.reg .b32 x,y,z; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,x,y,z},[%1];}" : "=r"(v[I]) : "r"(a + (I % 4) * zero));',
    "sts32": 'asm volatile("st.volatile.shared.u32 [%0],%1;" :: "r"(a), "r"(stride)); v[I] = 0;',
    "ldg32": 'asm volatile("ld.volatile.global.u32 %0,[%1+%2];" : "=r"(v[I]) : "l"(p), "n"(I * 4096));',
    "stg32": 'asm volatile("st.volatile.global.u32 [%0+%2],%1;" :: "l"(p), "r"(stride), "n"(I * 4096)); v[I] = 0;',
    "ldgsts16": 'asm volatile("cp.async.cg.shared.global [%0],[%1+%2],16;" :: "r"(a), "l"(p), "n"(I * 4096)); v[I] = 0;',
}
COUNTS = list(range(0, 25)) + [28, 32, 36, 40]
FETCH = [256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768]
# Source registers of the FFMA (a, b, c) and reuse bits (bit 0 = a, 1 = b, 2 = c)
BANKS = [(a, b, c, r) for r in (0, 1, 2, 4, 3, 7) for a, b, c in
         ((4, 4, 4), (4, 5, 6), (4, 6, 8), (4, 5, 7), (5, 7, 9), (4, 6, 9), (4, 8, 12), (4, 5, 5), (4, 4, 6), (4, 6, 6), (4, 9, 14), (4, 8, 13), (5, 6, 10))]


def queue_source():
    out = []
    for kind, text in QUEUE.items():
        for n in COUNTS:
            body = "\n".join("    " + text.replace("I", str(i)) for i in range(n))
            out.append(f'''extern "C" __global__ void __launch_bounds__(512) queue_{kind}_{n}(char* g, int stride, int zero, unsigned* out) {{
  extern __shared__ __align__(1024) char sm[];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned a = (unsigned)__cvta_generic_to_shared(sm) + lane * stride, v[{n + 1}], s = 0;
  char* p = g + (unsigned long long)warp * 262144 + lane * stride;
  v[{n}] = 0;
  #pragma unroll 1
  for (int rep = 0; rep < 3; ++rep) {{
    __syncthreads();
    unsigned t0, t1;
    asm volatile("mov.u32 %0,%clock;" : "=r"(t0) :: "memory");
{body}
    asm volatile("mov.u32 %0,%clock;" : "=r"(t1) :: "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i <= {n}; ++i) s += v[i];
    __syncthreads();
    if (lane == 0) out[rep * 16 + warp] = t1 - t0;
  }}
  if (s == 0x12345677) out[100] = s;
}}''')
    return "\n".join(out)


def fetch_source():
    """PTX, since the C++ front end is slow on long straight-line code."""
    out = [".version 8.0\n.target sm_90a\n.address_size 64"]
    for n in FETCH:
        body = "\n".join(f"fma.rn.f32 %f{i % 8}, %f{i % 8}, %f8, %f8;" for i in range(n))
        init = "\n".join(f"mov.f32 %f{i}, %f8;" for i in range(8))
        total = "\n".join(f"add.f32 %f0, %f0, %f{i};" for i in range(1, 8))
        out.append(f""".visible .entry fetch_{n}(.param .f32 x, .param .u64 out)
{{ .reg .f32 %f<10>; .reg .b32 %r<10>; .reg .b64 %d<4>; .reg .pred %p<4>;
ld.param.f32 %f8, [x]; ld.param.u64 %d0, [out];
{init}
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; setp.ne.u32 %p0, %r1, 0; shr.u32 %r2, %r0, 5; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d1, %d0;
mov.u32 %r3, 0;
LOOP:
bar.sync 0;
mov.u32 %r4, %clock;
{body}
mov.u32 %r5, %clock;
sub.u32 %r6, %r5, %r4;
@!%p0 st.global.u32 [%d1], %r6;
add.u64 %d1, %d1, 64;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 4;
@%p1 bra LOOP;
{total}
setp.eq.f32 %p2, %f0, 0f46000000;
@%p2 st.global.f32 [%d0+400], %f0;
ret; }}""")
    return "\n".join(out)


BANK_SOURCE = '''extern "C" __global__ void banks(float x, int iters, unsigned* out) {
  float a[16];
  for (int i = 0; i < 16; ++i) a[i] = x * (i + 1);
  unsigned t0, t1;
  #pragma unroll 1
  for (int rep = 0; rep < 3; ++rep) {
    __syncthreads();
    asm volatile("mov.u32 %0,%clock;" : "=r"(t0) :: "memory");
    #pragma unroll 1
    for (int i = 0; i < iters; ++i) {
BODY
    }
    asm volatile("mov.u32 %0,%clock;" : "=r"(t1) :: "memory");
    if (threadIdx.x % 32 == 0) out[rep * 16 + threadIdx.x / 32] = t1 - t0;
  }
  float s = 0;
  for (int i = 0; i < 16; ++i) s += a[i];
  if (s == 12345.f) out[100] = 1;
}'''


def patch_banks(path, out, triple):
    """Rewrites the sources and reuse bits of every FFMA of the loop (128-bit encoding of sm_90)."""
    d = bytearray(open(path, "rb").read())
    a, b, c, reuse = triple
    n = 0
    for at in range(0, len(d) - 15, 16):
        lo, hi = struct.unpack_from("<QQ", d, at)
        if lo & 0xFFF == 0x223 and (lo >> 12) & 0xF == 7:  # FFMA R,R,R,R unpredicated
            lo = (lo & ~0xFFFF000000) & ~(0xFF << 32) | a << 24 | b << 32
            hi = (hi & ~0xFF) | c
            hi = (hi & ~(0xF << 58)) | reuse << 58
            struct.pack_into("<QQ", d, at, lo, hi)
            n += 1
    open(out, "wb").write(d)
    return n


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    banks = BANK_SOURCE.replace("BODY", "\n".join(f'      asm volatile("fma.rn.f32 %0,%1,%2,%0;" : "+f"(a[{i % 8}]) : "f"(a[{8 + i % 3}]), "f"(a[{11 + i % 5}]));' for i in range(128)))
    jobs = {"queue": queue_source(), "fetch": fetch_source(), "banks": banks}
    def build(name):
        src = os.path.join(out, name + (".ptx" if name == "fetch" else ".cu"))
        open(src, "w").write(jobs[name])
        if name == "fetch":
            return subprocess.run(["ptxas", "-arch=sm_90a", src, "-o", os.path.join(out, name + ".cubin")], capture_output=True, text=True).stderr[:500]
        return subprocess.run(["nvcc", "-w", "-gencode", "arch=compute_90a,code=sm_90a", "-cubin", src, "-o", os.path.join(out, name + ".cubin")], capture_output=True, text=True).stderr[:500]
    if len(sys.argv) > 2:
        jobs = {k: v for k, v in jobs.items() if k in sys.argv[2:]}
    with ThreadPoolExecutor(2) as ex:
        for err in ex.map(build, jobs):
            if err:
                print(err)
    counts = [patch_banks(os.path.join(out, "banks.cubin"), os.path.join(out, f"banks_{i}.cubin"), t) for i, t in enumerate(BANKS)]
    json.dump({"queue": list(QUEUE), "counts": COUNTS, "fetch": FETCH, "banks": BANKS, "patched": counts}, open(os.path.join(out, "extra.json"), "w"))
    print("patched FFMA per bank kernel:", set(counts))


if __name__ == "__main__":
    main()
