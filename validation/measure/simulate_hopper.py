#!/usr/bin/env python3
"""Runs the Hopper microbenchmarks in tcsim instead of on a GPU and sets their rows beside the measured ones.

usage: simulate_hopper.py TCSIM [--markdown] [--jsonl FILE] [--set SECTION.KEY=VALUE] [--within CYCLES] [SELECTION ...]      (see SELECTIONS)
With --within the exit code is 1 when a row is farther off than that.

The programs, loops and arithmetic are those of run_hopper.py; only the device is exchanged. A row is matched with
data/h200/hopper.jsonl by everything but its readings.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURED = os.path.join(HERE, "..", "data", "h200", "hopper.jsonl")
TYPE_NAMES = {6: "f16", 7: "f32"}  # CUtensorMapDataType
PROMOTIONS = {0: "none", 2: "128B", 3: "256B"}


class Memory(int):
    """A device address that knows how many bytes lie there."""

    def __new__(cls, index, size):
        self = super().__new__(cls, index << 40)
        self.size = size
        return self


def tensor_map(base, width, height, pitch, box_w, box_h, swizzle=128, dtype=6, promotion=0):
    return [{"base": base, "dtype": TYPE_NAMES[dtype], "dims": [width, height], "pitch": pitch, "box": [box_w, box_h],
             "swizzle": f"{swizzle}B" if swizzle else "none", "promotion": PROMOTIONS[promotion]}]


class SimulatedHopper:
    """The interface of cuda_hopper.Hopper."""
    tcsim, options = "", []

    def __init__(self, folder, files):
        self.folder, self.files, self.count, self.map = folder, files, 0, None
        self.out, self.image, self.launches = self.alloc(4096 * 2048), b"", 0

    def alloc(self, size, fill=0):
        self.count += 1
        return Memory(self.count, size)

    def zero(self, p, size):
        pass

    def set_map(self, raw, count=1):
        self.map, self.maps = raw[0], count

    def launch_file(self, grid, block, smem, it, a, g, cluster):
        buffers = {"out": 4096 * grid, "maps": 128}
        if g:
            buffers["g"] = g.size
        if self.map:
            buffers["maps"] = 128 * self.maps
            buffers["g"] = self.map["base"].size
        lines = [f"grid = [{grid}, 1, 1]", f"block = [{block}, 1, 1]", f"cluster = [{cluster}, 1, 1]", f"dynamic_smem_bytes = {smem}"]
        args = ['{ buffer = "out" }', '{ buffer = "g" }' if g else "{ u64 = 0 }", '{ buffer = "maps" }', f"{{ u32 = {it} }}"]
        args += [f"{{ u32 = {x & 0xFFFFFFFF} }}" for x in list(a) + [0] * (8 - len(a))]
        args.append('{ tensormap = "m" }' if self.map else '{ bytes = "' + "00" * 128 + '" }')
        lines.append("args = [" + ", ".join(args) + "]")
        for name, size in buffers.items():
            lines += [f"[buffer.{name}]", 'dtype = "u8"', f"shape = [{size}]", 'init = "zeros"']
            if name == "maps" and self.map:
                lines.append("patch = [" + ", ".join(f'{{ offset = {128 * i}, tensormap = "m" }}' for i in range(self.maps)) + "]")
        if self.map:
            m = self.map
            lines += ["[tensormap.m]", 'buffer = "g"', f'dtype = "{m["dtype"]}"', f"dims = {m['dims']}", f"strides_bytes = [{m['pitch']}]", f"box = {m['box']}",
                      f'swizzle = "{m["swizzle"]}"', f'l2_promotion = "{m["promotion"]}"']
        return "\n".join(lines) + "\n"

    def go(self, name, grid=1, block=128, smem=0, it=0, a=(), g=0, cluster=1, clear=True):
        toml, image = (os.path.join(self.folder, x) for x in ("launch.toml", "out.bin"))
        with open(toml, "w") as h:
            h.write(self.launch_file(grid, block, smem, it, a, g, cluster))
        run = subprocess.run([self.tcsim, "run", os.path.join(self.folder, name + ".ptx"), "--launch", toml, "--arch", "h200", "--mode", "full", "--quiet", "--dump", f"out={image}", *self.options],
                             capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{name}: exit code {run.returncode}: {run.stderr[:300]}")
        self.image = open(image, "rb").read()
        self.launches += 1

    def read(self, p, fmt, count):
        assert p == self.out
        return list(struct.unpack(f"<{count}{fmt}", self.image[:struct.calcsize("<" + fmt) * count]))

    def spans(self, grid, warps, rep):
        v = self.read(self.out, "Q", 512 * (grid - 1) + 64 * rep + 2 * warps)
        return [[(v[512 * c + 64 * rep + 2 * w], v[512 * c + 64 * rep + 2 * w + 1]) for w in range(warps)] for c in range(grid)]

    def cycles(self, grid=1, warps=1):
        return [max(max(e for _, e in cta) - min(s for s, _ in cta) for cta in self.spans(grid, warps, r)) for r in range(3)]


def exchange_device():
    sys.modules["cuda_driver"] = types.SimpleNamespace(cu=types.SimpleNamespace(cuCtxSynchronize=lambda: 0))
    sys.modules["cuda_hopper"] = types.SimpleNamespace(Hopper=SimulatedHopper, max_clusters=None, tensor_map=tensor_map, FLOAT16=6, FLOAT32=7)
    sys.path.insert(0, HERE)


def make_bench(folder):
    import hopper_sync
    import hopper_tma
    import hopper_wgmma
    import run_hopper
    from hopper_ptx import HEADER

    class SimulatedBench(run_hopper.Bench):
        def __init__(self):
            self.manifest, self.rows, self.dev = {"cases": []}, [], SimulatedHopper(folder, {})
            for module in (hopper_wgmma, hopper_sync, hopper_tma):
                for text, entry in module.cases():
                    if text:
                        name = text.split(".visible .entry ")[1].split("(")[0]
                        with open(os.path.join(folder, name + ".ptx"), "w") as h:
                            h.write(HEADER + text)
                    if entry:
                        self.manifest["cases"].append(entry)
            self.g = self.dev.alloc(64 << 20)

        def emit(self, **row):
            self.rows.append(row)

        def flush(self):
            pass  # every launch starts with cold caches

        def kinds(self, want):
            for c in self.manifest["cases"]:
                if want(c):
                    self.guarded(getattr(self, c["kind"]), c)

    return SimulatedBench()


# Everything in a row that is read rather than set.
READINGS = {"cycles", "raw", "warp_spans", "min", "median", "max", "first", "second", "issue", "rows", "cycles_round_trip", "bytes_per_cycle_per_active_cta", "bytes_per_cycle",
            "bytes_per_cycle_per_sm", "cycles_per_copy", "clocks", "first_alone", "first_beside", "helper_alone_cycles_per_step_and_warp", "helper_beside", "cycles_per_stage",
            "received_bytes_per_cycle_per_sm", "own", "all_acknowledged", "commit", "wait_read", "wait_all", "before_wait_all", "passes", "mean", "first_pass", "last_pass", "provenance"}


def key(row):
    return json.dumps({k: v for k, v in row.items() if k not in READINGS}, sort_keys=True)


def reading(row):
    """The one number that a table shows of a row, and its unit."""
    for name, unit in (("cycles", "cycles"), ("cycles_round_trip", "cycles"), ("cycles_per_copy", "cycles a copy"), ("cycles_per_stage", "cycles a stage"), ("median", "cycles"),
                       ("first_beside", "cycles"), ("bytes_per_cycle", "B/cycle")):
        if isinstance(row.get(name), (int, float)):
            return float(row[name]), unit
    for name in ("wait_all", "own"):
        if name in row:
            return float(row[name]["median"]), "cycles"
    if isinstance(row.get("cycles"), list):
        return float(statistics.median(row["cycles"])), "cycles"
    if "clocks" in row:
        return float(row["clocks"][-1] - row["clocks"][0]), "cycles"
    if "rows" in row:
        return float(row["rows"][-1][-1]), "cycles"
    return None, ""


def wgmma_cases(c):
    p = c["params"] if "params" in c else {}
    if c["bench"] == "wgmma_interval":
        return True
    return c["bench"] in ("wgmma_group_round", "wgmma_main_loop", "wgmma_latency", "wgmma_issue_clocks", "wgmma_contention", "shared_contention") and p.get("type", "f16_f32") == "f16_f32"


def tma_boxes(b):
    import run_hopper_tma as tma
    b.big = b.dev.alloc(32 << 20)
    for h in (1, 8, 16, 32, 64, 128, 256):
        b.dev.set_map(tensor_map(b.big, tma.WIDE, 4096, tma.WIDE * 2, 64, h))
        for kernel, how in (("tma_lat_tensor", "tensor"), ("tma_lat_param", "tensor, map in .param")):
            b.guarded(tma.latency_case, b, how, kernel, 128 * h, [128 * h], False, box=[64, h], swizzle=128)
        b.guarded(tma.latency_case, b, "tensor", "tma_lat_tensor", 128 * h, [128 * h, 0, h, 0, 0], True, box=[64, h], swizzle=128)
    for w, h, sw in ((8, 256, 0), (16, 128, 32), (32, 64, 64), (64, 32, 0), (64, 32, 128), (256, 8, 0)):
        b.dev.set_map(tensor_map(b.big, tma.WIDE, 4096, tma.WIDE * 2, w, h, sw))
        b.guarded(tma.latency_case, b, "tensor", "tma_lat_tensor", 4096, [4096], False, box=[w, h], swizzle=sw)
    for size in (16, 128, 1024, 4096, 16384, 32768):
        b.guarded(tma.latency_case, b, "bulk", "tma_lat_bulk", size, [size], False)
        b.guarded(tma.latency_case, b, "bulk", "tma_lat_bulk", size, [size, 0, size * 4], True)


def tma_rings(b):
    import run_hopper_tma as tma
    b.base = b.dev.alloc(68 << 20)  # 33 Ki rows: what the L2 maps span

    def l2(h, stages, grid, warps=1):
        b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, h))
        size, total = 128 * h, (1 << 18 if grid > 1 else 1 << 20)
        tma.ring_row(b, "tma_ring_tensor", size, stages, [132 if h < 256 else 66, tma.ROW // 2, 0, h, 64, max(64, tma.ROW // 2 // warps)], grid, warps, total, how="tensor",
                     box=[64, h], swizzle=128, source="l2")
    for grid, flights in ((1, (1, 2, 4, 8, 16, 32, 64, 128, 192)), (132, (16, 64, 192))):
        for h in (8, 32, 64, 128, 256) if grid == 1 else (64, 128):
            for flight in flights:
                if 1 <= flight * tma.KIB // (128 * h) <= 126:
                    b.guarded(l2, h, flight * tma.KIB // (128 * h), grid)


def tma_footprint(b):
    """How often lines that several SMs read at once are served."""
    import run_hopper_tma as tma
    b.base = b.dev.alloc(68 << 20)  # 33 Ki rows: what the L2 maps span
    for mod in (4, 16, 33, 66):
        b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, 64))
        b.guarded(tma.ring_row, b, "tma_ring_tensor", 8192, 16, [mod, tma.ROW // 2, 0, 64, 64], 132, 1, 3 << 17, how="tensor", box=[64, 64], swizzle=128, source="l2",
                  footprint=mod * 64 * tma.ROW)


def tma_stores(b):
    import run_hopper_tma as tma
    b.base = b.big = b.dev.alloc(68 << 20)

    def lat(how, size, h):
        b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, h))
        b.dev.go(f"tma_stlat_{how}", block=32, smem=tma.SMEM, a=[size], g=b.base)
        v = b.dev.read(b.dev.out, "I", 64)
        rows = [v[4 * i:4 * i + 4] for i in range(4, 16)]
        b.emit(bench="tma_store_latency", how=how, bytes=size, **{n: tma.summary([r[i] for r in rows]) for i, n in enumerate(("issue", "commit", "wait_read", "wait_all"))}, box=[64, h])

    def ring(h, depth, grid):
        b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, h))
        size, r, iters = 128 * h, [], (16, 48)
        for it in iters:
            b.dev.go(f"tma_string_tensor_{depth}", grid=grid, block=32, smem=tma.SMEM, it=it, a=[size, 0, 132 if h < 256 else 66, tma.ROW // 2, 0, h, 64], g=b.base)
            r.append(b.dev.cycles(grid, 1))
        cyc = min(r[1][1:]) - min(r[0][1:])
        b.emit(bench="tma_store_ring", how="tensor", bytes=size, depth=depth, ctas=grid, cycles_per_copy=round(cyc / 32, 2), type="f16")
    for h in (1, 8, 32, 64, 128, 256):
        b.guarded(lat, "tensor", 128 * h, h)
    for grid in (1, 132):
        for depth in (1, 2, 4):
            for h in (8, 64, 128):
                b.guarded(ring, h, depth, grid)


def multicasts(b):
    import run_hopper_tma as tma
    b.base = b.dev.alloc(68 << 20)
    for h in (8, 64, 256):
        b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, h))
        for cluster in (2, 4):
            b.dev.go("tma_mclat", grid=cluster, cluster=cluster, block=32, smem=tma.SMEM, a=[128 * h, (1 << cluster) - 1, max(1, cluster - 1)], g=b.base)
            v = b.dev.read(b.dev.out, "I", 64)
            b.emit(bench="multicast_latency", bytes=128 * h, cluster=cluster, other_lanes="exited", own=tma.summary(v[8::2]))
    for cluster in (1, 2, 4):
        for rows, stages in ((128, 2), (128, 4), (128, 8), (256, 2)):
            for grid in (cluster, 120):
                h = rows // cluster
                b.dev.set_map(tensor_map(b.base, tma.ROW // 2, 33 * tma.KIB, tma.ROW, 64, h))
                r, iters = [], [20, 60]
                for it in iters:
                    b.dev.go("tma_mcring", grid=grid, cluster=cluster, block=64, smem=tma.SMEM, it=it, a=[128 * h, stages, 132, tma.ROW // 2, 0, rows, 64, h], g=b.base)
                    r.append(b.dev.cycles(grid, 1)[0])
                b.emit(bench="multicast_ring", cluster=cluster, stage_bytes=128 * rows, part_bytes=128 * h, stages=stages, ctas=grid, cycles_per_stage=round((r[1] - r[0]) / 40, 2))


def wgmma_few(c):
    return c["kernel"] in {f"wgr_f16_f32_{n}_{a}" for n in (8, 16, 32, 64, 128, 256) for a in ("ss", "rs")} | {f"wgr_f16_f32_{n}_rs_16" for n in (8, 16, 32, 64, 128, 256)}


SELECTIONS = {
    "wgmma_few": lambda b: b.kinds(wgmma_few),
    "wgmma": lambda b: (b.dev.set_map(tensor_map(b.g, 1024, 16384, 2048, 64, 128)), b.kinds(lambda c: c["kernel"].startswith("wg") and wgmma_cases(c))),
    "sync": lambda b: b.kinds(lambda c: c["kernel"].startswith("sy_")),
    "cluster": lambda b: b.kinds(lambda c: c["kernel"].startswith("cl_") and c["kind"] != "place"),
    "tma_latency": tma_boxes, "tma_ring": tma_rings, "tma_footprint": tma_footprint, "tma_store": tma_stores, "multicast": lambda b: b.guarded(multicasts, b),
}


def describe(row):
    return ", ".join(f"{k} {v}" for k, v in row.items() if k not in READINGS and k != "bench")


def main():
    args = sys.argv[1:]
    SimulatedHopper.tcsim, args = os.path.abspath(args[0]), args[1:]
    jsonl = args.pop(args.index("--jsonl") + 1) if "--jsonl" in args else None
    while "--set" in args:
        at = args.index("--set")
        SimulatedHopper.options = SimulatedHopper.options + args[at:at + 2]
        del args[at:at + 2]
    within = float(args.pop(args.index("--within") + 1)) if "--within" in args else None
    markdown, off, compared = "--markdown" in args, 0, 0
    names = [x for x in args if not x.startswith("--")] or [x for x in SELECTIONS if x != "wgmma_few"]
    measured = {}
    for line in open(MEASURED):
        measured.setdefault(key(json.loads(line)), json.loads(line))
    exchange_device()
    with tempfile.TemporaryDirectory() as folder:
        b = make_bench(folder)
        for name in names:
            start = len(b.rows)
            SELECTIONS[name](b)
            for row in b.rows[start:]:
                hardware = measured.get(key(row))
                got, unit = reading(row)
                want = reading(hardware)[0] if hardware else None
                compared += 1
                off += got is None or want is None or (within is not None and abs(got - want) > within)
                if row["bench"] == "error":
                    print(f"error {row['where'][:120]} {row['what'][:300]}")
                elif got is None or want is None:
                    print(f"no measured row for {key(row)[:200]}")
                elif markdown:
                    print(f"| {row['bench']} | {describe(row)} | {want:g} | {got:g} | {unit} |")
                else:
                    print(f"{row['bench']:32} {describe(row)[:110]:112} {want:10.2f} {got:10.2f} {got - want:+9.2f} {100 * (got / want - 1) if want else 0:+7.1f}%", flush=True)
        if jsonl:
            with open(jsonl, "w") as h:
                h.writelines(json.dumps(row) + "\n" for row in b.rows)
    if within is not None:
        sys.exit(off != 0 or compared == 0)


if __name__ == "__main__":
    main()
