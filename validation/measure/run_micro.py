#!/usr/bin/env python3
"""Runs the microbenchmarks on a GPU and writes JSON lines.

usage: run_micro.py CUBIN_DIR OUT_DIR [patterns|memory|launch ...]
"""
import json
import os
import statistics
import subprocess
import sys
import time

from cuda_driver import Device, f32, i32, i64, u32, u64

SMEM = 64 * 1024


def times(dev, out, warps):
    """Median over the last two repetitions of last end - first start, per SM."""
    raw = dev.read(out, "Q", 2 * 32 * 3)
    spans = []
    for rep in (1, 2):
        t = raw[2 * 32 * rep: 2 * 32 * rep + 2 * warps]
        spans.append(max(t[1::2]) - min(t[0::2]))
    return min(spans)


def patterns(dev, folder, emit):
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    out, g = dev.alloc(1 << 16), dev.alloc(1 << 22)
    for b in manifest:
        cubin = os.path.join(folder, b["file"])
        short, long_ = [(dev.kernel(cubin, k), u) for k, u in b["kernels"]]
        warps = [1] if b["chains"] == 1 else [1, 4, 8, 16]
        if b["group"] == "sync":
            warps = [1, 2, 4, 8, 16, 32]
        strides = [4]
        wide = {"lds64": 8, "lds128": 16, "sts64": 8, "sts128": 16}.get(b["name"], 16 if b["name"].startswith(("ldsm", "stsm")) else 4)
        if b["group"] == "shared":
            strides = [wide * d for d in (1, 2, 4, 8, 16, 32) if wide * d <= 128 or (d <= 8 and wide == 16)]
            if b["name"].startswith(("atoms", "reds")):
                strides = [0, 4, 8, 128]
        if b["group"] == "global":
            k = {"ldg32_l1_plus_imad_wide": 4, "stg32": 4, "stg64": 8, "stg128": 16, "ldg64_l1": 8, "ldg128_l1": 16, "ldg64_l2_cg": 8}.get(b["name"], 4)
            strides = [k * d for d in (1, 2, 4, 8, 16, 32) if k * d <= 128]
            if b["name"].startswith("cp_async"):
                strides = [0]
            if b["name"].startswith(("atomg", "redg")):
                strides = [0, 4, 32, 128]
        if b["name"] == "ldsm_x4_mma_lop3_chain":
            strides = [16]
        smem = 196608 if b["name"].startswith("cp_async") else SMEM  # 12 KB a warp, so that no two copies in flight share a target
        for stride in strides:
            for w in warps:
                iters = 16 if b["group"] in ("alu", "mma", "shared") else 8
                t = []
                for f, u in (short, long_):
                    dev.launch(f, 1, 32 * w, smem, u64(out), u64(g), i32(iters), i32(0), i32(stride))
                    t.append(times(dev, out, w))
                steps = (long_[1] - short[1]) * iters
                emit({"bench": b["name"], "group": b["group"], "chains": b["chains"], "warps": w, "stride": stride,
                      "cycles_per_step": round((t[1] - t[0]) / steps, 4), "cycles_per_step_per_smsp_warp": round((t[1] - t[0]) / steps / max(1, w / 4), 4),
                      "raw": t, "steps": [short[1] * iters, long_[1] * iters]})


def quant(v):
    s = sorted(v)
    n = len(s)
    return {"min": s[0], "p10": s[n // 10], "median": s[n // 2], "p90": s[n * 9 // 10], "max": s[-1]}


def memory(dev, folder, emit):
    cubin = os.path.join(folder, "memory.cubin")
    k = lambda n: dev.kernel(cubin, n)
    out, lat = dev.alloc(1 << 20), dev.alloc(1 << 22)
    big = dev.alloc(8 << 30, None)
    # pointer chases
    for size, stride, level in ([(s << 10, 128, 1) for s in (8, 32, 64, 128, 160, 192, 200, 208, 216, 224, 232, 240, 256, 512)] +
                                [(s << 20, 256, 2) for s in (1, 4, 8, 16, 24, 32, 40, 48, 64, 128, 512)] + [(s << 20, 4096 + 128, 2) for s in (1024, 4096, 7680)]):
        count = 1
        while count * 2 * stride <= size:
            count *= 2
        if level == 1:  # any size: ring over exactly size bytes, in steps of one line, stride order
            count = size // stride
            dev.write(big, b"".join((big + ((i + 1) % count) * stride).to_bytes(8, "little") + bytes(stride - 8) for i in range(count)))
        else:
            dev.launch(k("ring_init"), 528, 256, 0, u64(big), u64(count), u64(stride), u64((count // 2 + 1) | 5 if count > 64 else 5), u64(12345))
        warm = count if size <= (48 << 20) else 0
        steps = min(8192, max(512, count))
        dev.zero(out, 64)
        # DRAM chases start after a flush of the L2 through a stream over other memory
        if not warm:
            dev.launch(k("stream"), 132, 1024, 0, u64(big + (7800 << 20)), u64(2 << 20), u64(2 << 20), i32(1), i32(0), u64(out))
        dev.launch(k("chase"), 1, 1, 40960, u64(big), i32(warm), i32(steps), i32(level), u64(out), u64(lat))
        per = dev.read(lat, "I", steps)
        total = dev.read(out, "Q", 1)[0]
        emit({"bench": "chase_l1" if level == 1 else "chase_cg", "bytes": size, "stride": stride, "slots": count, "warmed": bool(warm), "steps": steps,
              "cycles_per_load": round(total / steps, 2), "single_load_with_clock_reads": quant(per)})
    # near/far map
    n = 4096
    dev.launch(k("l2_map"), 1, 32, 0, u64(big), i32(n), u64(lat), u64(out))
    v = dev.read(lat, "I", n)
    hist = {}
    for x in v:
        hist[x // 4 * 4] = hist.get(x // 4 * 4, 0) + 1
    emit({"bench": "l2_map", "sm": dev.read(out, "Q", 1)[0], "lines": n, "quant": quant(v), "histogram_bin4": dict(sorted(hist.items())), "first_256": v[:256]})
    dev.launch(k("l2_map"), 132, 32, 0, u64(big), i32(64), u64(lat), u64(out))
    v = dev.read(lat, "I", 132 * 64)
    emit({"bench": "l2_map_by_sm", "sms": dev.read(out, "Q", 132), "lines": 64, "latency": [v[i * 64:(i + 1) * 64] for i in range(132)]})

    def stream_rate(kernel, ctas, threads, smem, cta_stride, size, passes, mode, elem, label, **more):
        f = k(kernel)
        best = None
        for _ in range(3):
            dev.launch(f, ctas, threads, smem, u64(big), u64(cta_stride), u64(size), i32(passes), i32(mode), u64(out))
            o = dev.read(out, "Q", 6 * ctas)
            cyc = [o[6 * i + 1] - o[6 * i] for i in range(ctas)]
            ns = max(o[3::6]) - min(o[2::6]) if kernel == "stream" else 0
            if best is None or max(cyc) < max(best[0]):
                best = (cyc, ns)
        total = size * passes
        cyc, ns = best
        per = max(cyc)
        emit({"bench": label, "kernel": kernel, "ctas": ctas, "threads": threads, "bytes_per_cta": total, "passes": passes, "max_cycles": per, "median_cycles": sorted(cyc)[len(cyc) // 2],
              "bytes_per_clk_per_cta": round(total / per, 3), "bytes_per_clk_all": round(total * ctas / per, 1), "span_ns": ns,
              "gb_per_s": round(total * ctas / ns, 1) if ns else None, **more})

    for t in (32, 128, 256, 512, 1024):
        stream_rate("stream", 1, t, 0, 0, 128 << 10, 40, 1, 16, "l1_read_128bit")
        stream_rate("stream", 1, t, 0, 0, 1 << 20, 8, 0, 16, "l2_read_one_sm")
        stream_rate("stream", 132, t, 0, 128 << 10, 128 << 10, 16, 0, 16, "l2_read_all_sms_16MB")
    for n in (2, 4, 8, 16, 32, 64):
        stream_rate("stream", n, 1024, 0, 1 << 20, 1 << 20, 8, 0, 16, "l2_read_some_sms")
    stream_rate("stream", 132, 1024, 0, 0, 1 << 20, 8, 0, 16, "l2_read_all_sms_same_1MB")
    stream_rate("stream", 132, 1024, 0, 256 << 10, 256 << 10, 16, 0, 16, "l2_read_all_sms_33MB")
    stream_rate("stream", 264, 1024, 0, 24 << 20, 24 << 20, 1, 0, 16, "dram_read_6GB")
    stream_rate("stream", 264, 512, 0, 24 << 20, 24 << 20, 1, 0, 16, "dram_read_6GB")
    stream_rate("stream", 264, 1024, 0, 24 << 20, 24 << 20, 1, 2, 16, "dram_write_6GB")
    stream_rate("stream", 132, 1024, 0, 128 << 10, 128 << 10, 16, 2, 16, "l2_write_all_sms_16MB")
    stream_rate("stream", 1, 1024, 0, 0, 1 << 20, 8, 2, 16, "l2_write_one_sm")
    for kind, name in enumerate(("cp_async_cg16_wait", "cp_async_ca16_wait", "ldg_sts_16", "cp_async_cg16_zero_fill_wait", "empty_commit_wait")):
        for label, base, step in (("l2_hit", big, 512), ("dram", big + (1 << 30) + kind * (512 << 20), 1 << 20), ("dram_512B", big + (4 << 30) + kind * (64 << 20), 512)):
            if label == "l2_hit":
                dev.launch(k("stream"), 1, 1024, 0, u64(big), u64(0), u64(1 << 20), i32(1), i32(0), u64(out))
            dev.launch(k("copy_latency"), 1, 32, 1024, u64(base), u64(step), i32(256), i32(kind), u64(lat))
            emit({"bench": name, "from": label, "cycles": quant(dev.read(lat, "I", 256)[8:])})
    for kern, strides in (("issue_lds32", (4, 8, 16, 32, 64, 128)), ("issue_lds128", (16, 32, 64, 128)), ("issue_ldsm4", (16, 32, 64, 128)), ("issue_sts32", (4, 16, 64, 128)),
                          ("issue_ldg128", (16, 128)), ("issue_ldg32", (4, 128)), ("issue_stg32", (4, 128)), ("issue_ldgsts16", (16, 128))):
        for st in strides:
            for w in (1, 4, 16):
                dev.launch(k(kern), 1, 32 * w, SMEM, u64(big), i32(st), u64(lat))
                o = dev.read(lat, "I", 64 * w)
                emit({"bench": kern, "stride": st, "warps": w, "issue_clock_warp0": o[:41], "issue_clock_last_warp": o[64 * (w - 1):64 * (w - 1) + 41]})
    dev.free(big)


def launch(dev, folder, emit):
    cubin = os.path.join(folder, "launch.cubin")
    k = lambda n: dev.kernel(cubin, n)
    out = dev.alloc(1 << 20)
    for kk in (1, 2, 4, 8, 16, 32, 64):
        for w in (1, 4, 8, 16):
            dev.launch(k(f"loop{kk}"), 1, 32 * w, 0, i32(400), f32(1.0), u64(out))
            emit({"bench": "loop_ffma", "body": kk, "warps": w, "cycles_per_iteration": round(times(dev, out, w) / 400, 3)})
    for smem, threads in ((0, 128), (100 * 1024, 128), (0, 1024)):
        for ctas in (132, 264, 528, 1056, 4224):
            for rep in range(2):
                dev.launch(k("place"), ctas, threads, smem, i64(3000), u64(out))
            o = dev.read(out, "Q", 5 * ctas)
            rows = [o[5 * i:5 * i + 5] for i in range(ctas)]
            n0 = min(r[3] for r in rows)
            by_sm = {}
            for i, r in enumerate(rows):
                by_sm.setdefault(r[0], []).append((r[1], r[2], i))
            gaps = []
            for v in by_sm.values():
                v.sort()
                ends = sorted(e for _, e, _ in v)
                per = sum(1 for s, e, i in v if s < ends[0])
                for j in range(per, len(v)):
                    gaps.append(v[j][0] - ends[j - per])
            first_wave = [sorted(v)[:32] for v in by_sm.values()]
            inter = []
            for v in first_wave:
                st = sorted(s for s, e, i in v if s < v[0][1])
                inter += [b - a for a, b in zip(st, st[1:])]
            emit({"bench": "place", "dynamic_smem": smem, "threads": threads, "ctas": ctas, "smid_of_cta": [r[0] for r in rows][:1056],
                  "start_ns": [r[3] - n0 for r in rows][:1056], "gap_end_to_next_start": quant(gaps) if gaps else None,
                  "start_to_start_same_sm": quant(inter) if inter else None})


def main():
    folder, out = sys.argv[1], sys.argv[2]
    parts = sys.argv[3:] or ["launch", "memory", "patterns"]
    dev = Device()
    info = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    for part in parts:
        t0 = time.time()
        with open(os.path.join(out, part + ".jsonl"), "w") as h:
            def emit(row):
                h.write(json.dumps(row) + "\n")
            emit({"provenance": {"gpu": info, "date": "2026-11-30", "command": " ".join(sys.argv)}})
            try:
                {"patterns": patterns, "memory": memory, "launch": launch}[part](dev, folder, emit)
            except Exception as e:  # keep what was measured and say so
                emit({"error": repr(e)})
                print(part, "FAILED", repr(e))
        after = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
        print(part, round(time.time() - t0, 1), "s; clocks after:", after)


if __name__ == "__main__":
    main()
