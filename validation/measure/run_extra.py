#!/usr/bin/env python3
"""Queue depth, instruction fetch, register banks, L1 by carve-out, cp.async streams.

usage: run_extra.py CARRY_DIR OUT_DIR
"""
import json
import os
import sys

from cuda_driver import Device, check, cu, f32, i32, u32, u64


def set_carveout(f, percent):
    check(cu.cuFuncSetAttribute(f, 9, percent))


def queue(dev, folder, spec, emit):
    cubin = os.path.join(folder, "queue.cubin")
    out, g = dev.alloc(4096), dev.alloc(8 << 20)
    strides = {"lds32": (4, 128), "lds128": (16, 128), "ldsm4": (16, 128), "sts32": (4, 128), "ldg32": (4, 128), "stg32": (4, 128), "ldgsts16": (16, 128)}
    for kind in spec["queue"]:
        for stride in strides[kind]:
            for w in (1, 2, 4, 8, 16):
                spans = []
                for n in spec["counts"]:
                    dev.launch(dev.kernel(cubin, f"queue_{kind}_{n}"), 1, 32 * w, 49152, u64(g), i32(stride), i32(0), u64(out))
                    v = dev.read(out, "I", 48)
                    spans.append(v[32])
                emit({"bench": "queue_" + kind, "stride": stride, "warps": w, "counts": spec["counts"], "clocks_warp0": spans})


def fetch(dev, folder, spec, emit):
    cubin = os.path.join(folder, "fetch.cubin")
    out = dev.alloc(4096)
    for n in spec["fetch"]:
        for w in (1, 4, 8):
            dev.zero(out, 4096)
            dev.launch(dev.kernel(cubin, f"fetch_{n}"), 1, 32 * w, 0, f32(1.0), u64(out))
            v = dev.read(out, "I", 64)
            emit({"bench": "fetch", "ffma": n, "warps": w, "cycles_by_pass": [max(v[16 * r:16 * r + w]) for r in range(4)],
                  "per_ffma_and_warp_on_smsp": [round(max(v[16 * r:16 * r + w]) / n / max(1, w // 4), 3) for r in range(4)]})


def banks(dev, folder, spec, emit):
    out = dev.alloc(4096)
    for i, (a, b, c, r) in enumerate(spec["banks"]):
        for w in (1, 4, 8, 16):
            dev.launch(dev.kernel(os.path.join(folder, f"banks_{i}.cubin"), "banks"), 1, 32 * w, 0, f32(1.0), i32(50), u64(out))
            v = dev.read(out, "I", 48)
            emit({"bench": "ffma_banks", "sources": [a, b, c], "reuse_bits": r, "warps": w, "cycles_per_ffma_smsp": round(max(v[32:32 + w]) / (50 * 128) / max(1, w // 4), 3)})


def l1(dev, folder, emit):
    f = dev.kernel(os.path.join(folder, "memory.cubin"), "chase_plain")
    out, buf = dev.alloc(4096), dev.alloc(1 << 20)
    for percent, smem in ((-1, 0), (0, 0), (25, 0), (50, 0), (100, 0), (-1, 1024), (-1, 8192), (-1, 24576), (-1, 49152), (-1, 98304), (0, 24576), (0, 98304)):
        set_carveout(f, percent)
        for kb in (4, 8, 16, 24, 28, 32, 40, 56, 64, 88, 96, 120, 124, 128, 152, 160, 188, 192, 208, 216, 220, 224, 232, 240, 248, 252, 256, 264):
            n = kb * 8
            dev.write(buf, b"".join((buf + ((i + 1) % n) * 128).to_bytes(8, "little") + bytes(120) for i in range(n)))
            dev.launch(f, 1, 1, smem, u64(buf), i32(2 * n), i32(2 * n), u64(out))
            emit({"bench": "l1_by_carveout", "preferred_percent": percent, "dynamic_smem": smem, "kb": kb, "cycles_per_load": round(dev.read(out, "Q", 1)[0] / (2 * n), 2)})
    set_carveout(f, -1)


def copies(dev, folder, emit):
    cubin = os.path.join(folder, "memory.cubin")
    out, big = dev.alloc(1 << 16), dev.alloc(2 << 30, None)
    dev.launch(dev.kernel(cubin, "ring_init"), 528, 256, 0, u64(big), u64(1 << 28), u64(8), u64(5), u64(12345))
    def go(kernel, ctas, threads, stride, size, passes, zfill, label, mode=None):
        f = dev.kernel(cubin, kernel)
        smem = 0 if mode is not None else threads * 16 * int(kernel[7:])
        best = None
        for _ in range(3):
            dev.zero(out, 1 << 16)
            dev.launch(f, ctas, threads, smem, u64(big), u64(stride), u64(size), i32(passes), i32(zfill if mode is None else mode), u64(out))
            o = dev.read(out, "Q", 6 * ctas)
            cyc = max(o[6 * i + 1] - o[6 * i] for i in range(ctas))
            best = cyc if best is None else min(best, cyc)
        emit({"bench": label, "kernel": kernel, "ctas": ctas, "threads": threads, "cta_stride": stride, "bytes": size, "passes": passes, "zero_fill": zfill, "threads_with_wrong_data": o[5],
              "bytes_per_clk_per_cta": round(size * passes / best, 2), "bytes_per_clk_all": round(size * passes * ctas / best, 1)})
    for kern in ("copy_ca4", "copy_ca8", "copy_ca16", "copy_cg16"):
        for t in (32, 64, 128, 256, 512):
            go(kern, 1, t, 0, 4 << 20, 2, 0, "cp_async_l2_one_sm")
            go(kern, 1, t, 0, 512 << 10, 16, 0, "cp_async_l2_one_sm")
            go(kern, 1, t, 0, 128 << 20, 1, 0, "cp_async_dram_one_sm")
        for t in (128, 256, 512):
            go(kern, 132, t, 256 << 10, 256 << 10, 8, 0, "cp_async_l2_all_sms_33MB")
            go(kern, 132, t, 12 << 20, 12 << 20, 1, 0, "cp_async_dram_all_sms")
            go(kern, 1, t, 0, 4 << 20, 2, 1, "cp_async_zero_fill_one_sm")
    for t in (128, 256, 512, 1024):
        go("stream", 1, t, 0, 4 << 20, 2, 0, "ldg_cg_l2_one_sm", mode=0)
        go("stream", 1, t, 0, 4 << 20, 2, 0, "ldg_l2_one_sm", mode=1)
        go("stream", 1, t, 0, 128 << 20, 1, 0, "ldg_cg_dram_one_sm", mode=0)
        go("stream", 132, t, 256 << 10, 256 << 10, 8, 0, "ldg_cg_l2_all_sms_33MB", mode=0)


def reuse(dev, micro, emit):
    """Tensor throughput against warps per sub-core, as compiled and with the operand reuse bits cleared."""
    manifest = json.load(open(os.path.join(micro, "manifest.json")))
    out, g = dev.alloc(1 << 16), dev.alloc(1 << 20)
    for name in ("mma_m16n8k8_f32_f16", "mma_m16n8k16_f32_f16", "mma_m16n8k16_f16_f16", "mma_sp_m16n8k32_f32_f16"):
        for b in manifest:
            if b["name"] != name or b["chains"] < 2:
                continue
            src = os.path.join(micro, b["file"])
            d = bytearray(open(src, "rb").read())
            cleared = 0
            for at in range(0, len(d) - 15, 16):
                lo, hi = int.from_bytes(d[at:at + 8], "little"), int.from_bytes(d[at + 8:at + 16], "little")
                if lo & 0xFFF == 0x23C and hi >> 58 & 0xF:
                    d[at + 8:at + 16] = (hi & ~(0xF << 58)).to_bytes(8, "little")
                    cleared += 1
            plain = os.path.join("/tmp", "noreuse_" + b["file"])
            open(plain, "wb").write(d)
            for label, cubin in (("as_compiled", src), ("reuse_cleared", plain)):
                for w in (4, 8, 12, 16):
                    t = []
                    for k, u in b["kernels"]:
                        dev.launch(dev.kernel(cubin, k), 1, 32 * w, 65536, u64(out), u64(g), i32(64), i32(0), i32(16))
                        raw = dev.read(out, "Q", 192)
                        t.append(min(max(raw[64 * r + 1:64 * r + 2 * w:2]) - min(raw[64 * r:64 * r + 2 * w:2]) for r in (1, 2)))
                    steps = (b["kernels"][1][1] - b["kernels"][0][1]) * 64
                    emit({"bench": "hmma_reuse", "name": name, "chains": b["chains"], "bits": label, "cleared": cleared, "warps": w,
                          "cycles_per_hmma_smsp": round((t[1] - t[0]) / steps / (w / 4), 3), "raw_per_hmma_smsp": [round(x / (u * 64) / (w / 4), 3) for x, (_, u) in zip(t, b["kernels"])]})


def main():
    carry, out = sys.argv[1], sys.argv[2]
    extra, micro = os.path.join(carry, "extra"), os.path.join(carry, "micro")
    spec = json.load(open(os.path.join(extra, "extra.json")))
    dev = Device()
    with open(os.path.join(out, "extra.jsonl"), "w") as h:
        def emit(row):
            h.write(json.dumps(row) + "\n")
        emit({"provenance": {"gpu": "NVIDIA H200", "date": "2026-11-30", "command": "run_extra.py"}})
        for name, f in (("l1", lambda: l1(dev, micro, emit)), ("copies", lambda: copies(dev, micro, emit)), ("queue", lambda: queue(dev, extra, spec, emit)),
                        ("fetch", lambda: fetch(dev, extra, spec, emit)), ("banks", lambda: banks(dev, extra, spec, emit)), ("reuse", lambda: reuse(dev, micro, emit))):
            try:
                f()
            except Exception as e:
                emit({"error": name + " " + repr(e)})
                print(name, "FAILED", repr(e))


if __name__ == "__main__":
    main()
