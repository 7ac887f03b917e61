#!/usr/bin/env python3
"""Runs the cubins of gen_hopper.py on a Hopper GPU; one JSON object per measurement.

usage: run_hopper.py CUBIN_DIR OUT_FILE GROUP...     groups: wgmma sync cluster place tma_latency tma_ring tma_store multicast
Times are SM cycles. A "rate" row is the difference of two loop lengths over the difference of steps, the least of two warm repetitions.
"""
import datetime
import json
import subprocess
import sys

from cuda_driver import cu
from cuda_hopper import Hopper, max_clusters, tensor_map

KIB = 1024


def per_step(short, long_, steps):
    """short, long_: cycles of three repetitions; the first is cold."""
    return round((min(long_[1:]) - min(short[1:])) / steps, 3)


def stats(v):
    v = sorted(v)
    return {"min": v[0], "median": v[len(v) // 2], "max": v[-1]}


class Bench:
    def __init__(self, folder, out_file):
        self.manifest = json.load(open(f"{folder}/manifest.json"))
        self.dev = Hopper(folder, self.manifest["files"])
        self.file = open(out_file, "a")
        self.flush_buffer = None

    def emit(self, **row):
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def flush(self):
        """Pushes everything else out of L2."""
        if self.flush_buffer is None:
            self.flush_buffer = self.dev.alloc(256 << 20, None)
        self.dev.zero(self.flush_buffer, 256 << 20)

    def guarded(self, fn, *args, **kw):
        try:
            fn(*args, **kw)
        except Exception as e:  # a failed case must not lose the others
            self.emit(bench="error", where=f"{fn.__name__} {args} {kw}", what=str(e))
            if cu.cuCtxSynchronize():
                raise SystemExit(f"context lost in {fn.__name__} {args} {kw}: {e}")

    # ---- cases described by the manifest

    def two_lengths(self, name, iters, grid=1, block=128, **kw):
        r = []
        for it in iters:
            self.dev.go(name, it=it, grid=grid, block=block, **kw)
            r.append(self.dev.cycles(grid, max(1, block // 32)))
        return r

    def rate(self, c):
        for t in c["threads"]:
            a, b = self.two_lengths(c["kernel"], c["iters"], block=t, smem=c["smem"], g=self.g)
            self.emit(bench=c["bench"], **c["params"], threads=t, cycles=per_step(a, b, (c["iters"][1] - c["iters"][0]) * c["steps"]), raw=[a, b],
                      **({"warp_spans": self.relative_spans(t // 32)} if t > 128 else {}))

    def relative_spans(self, warps):
        """First warp of each warpgroup: start and end in the last repetition."""
        v = self.dev.spans(1, warps, 2)[0]
        t0 = min(s for s, _ in v)
        return [[s - t0, e - t0] for s, e in v[::4]]

    def pair(self, c):
        for t in c["threads"]:
            r = []
            for k in ("kernel", "kernel_long"):
                self.dev.go(c[k], it=c["iters"][0], block=t, smem=c["smem"], g=self.g)
                r.append(self.dev.cycles(1, max(1, t // 32)))
            self.emit(bench=c["bench"], **c["params"], threads=t, cycles=per_step(*r, c["iters"][0] * c["steps"]), raw=r)

    def samples(self, c):
        self.dev.go(c["kernel"], block=c["threads"][0], smem=c["smem"])
        v = self.dev.read(self.dev.out, "I", c["words"])
        if "row" in c:
            v = [v[i:i + c["row"]] for i in range(0, len(v), c["row"])]
            self.emit(bench=c["bench"], **c["params"], rows=v[2:5])
        else:
            self.emit(bench=c["bench"], **c["params"], **stats(v[4:] if len(v) > 8 else v), first=v[:4])

    def contention(self, c):
        """Four launches: each side alone, and each short beside a long other."""
        d, warps = self.dev, (4 if c["per"] != 1 else 1)

        def run(w, h):
            d.go(c["kernel"], block=256, smem=c["smem"], it=w, a=[16384, h], g=self.g)
            v = d.read(d.out, "Q", 16)
            mma = v[1] - v[0]
            helper = [v[2 * k + 1] - v[2 * k] for k in range(4, 4 + warps)]
            return mma, max(helper)
        per = c["per"]
        w0, w1 = (20, 40)
        h0, h1 = (100, 200) if per != 1 else (30, 60)
        long_h, long_w = (6000, 1200) if per != 1 else (1500, 1200)
        run(4, 4)
        alone_w = (run(w1, 0)[0] - run(w0, 0)[0]) / ((w1 - w0) * 32)
        alone_h = (run(0, h1)[1] - run(0, h0)[1]) / ((h1 - h0) * per)
        both_w = (run(w1, long_h)[0] - run(w0, long_h)[0]) / ((w1 - w0) * 32)
        both_h = (run(long_w, h1)[1] - run(long_w, h0)[1]) / ((h1 - h0) * per)
        self.emit(bench=c["bench"], **c["params"], helper_warps=warps, first_alone=round(alone_w, 2), first_beside=round(both_w, 2),
                  helper_alone_cycles_per_step_and_warp=round(alone_h, 2), helper_beside=round(both_h, 2))

    def pingpong(self, c):
        for other in (1, 2, 4, 8):
            r = []
            for it in c["iters"]:
                self.dev.go(c["kernel"], block=512, smem=c["smem"], it=it, a=[other])
                v = self.dev.read(self.dev.out, "Q", 2)
                r.append(v[1] - v[0])
            self.emit(bench=c["bench"], other_warp=other, cycles_round_trip=round((r[1] - r[0]) / (c["iters"][1] - c["iters"][0]), 2))

    def pingpong_cluster(self, c):
        r = []
        for it in c["iters"]:
            self.dev.go(c["kernel"], grid=2, cluster=2, block=32, smem=c["smem"], it=it)
            v = self.dev.read(self.dev.out, "Q", 2)
            r.append(v[1] - v[0])
        self.emit(bench=c["bench"], **c["params"], cycles_round_trip=round((r[1] - r[0]) / (c["iters"][1] - c["iters"][0]), 2))

    def wake(self, c):
        for step in (37, 400):
            self.dev.go(c["kernel"], block=64, smem=c["smem"], a=[0, step])
            self.emit(bench=c["bench"], delay_step=step, cycles=self.dev.read(self.dev.out, "I", 32))

    def cluster_rate(self, c):
        for size in c["clusters"] + [16]:
            for t in c["threads"]:
                a, b = self.two_lengths(c["kernel"], c["iters"], block=t, grid=size, cluster=size, smem=c["smem"])
                self.emit(bench=c["bench"], cluster=size, threads=t, cycles=per_step(a, b, (c["iters"][1] - c["iters"][0]) * c["steps"]))

    def dsmem(self, c):
        for size in (2, 4, 8):
            for rank, active in ((0, 1), (1, 1), (1, size), (0, size)):
                for t in c["threads"]:
                    r = []
                    for it in c["iters"]:
                        self.dev.go(c["kernel"], grid=size, cluster=size, block=t, smem=c["smem"], it=it, a=[rank, active])
                        r.append(self.dev.cycles(active, t // 32))
                    x = per_step(*r, (c["iters"][1] - c["iters"][0]) * c["steps"])
                    width = 16 if "v4" in c["bench"] else 4
                    self.emit(bench=c["bench"], cluster=size, rank_offset=rank, active_ctas=active, threads=t, cycles=x, bytes_per_cycle_per_active_cta=round(t * width / x, 2) if x else None)

    def st_async_stream(self, c):
        for t in c["threads"]:
            r = []
            for it in (8, 24):
                self.dev.go(c["kernel"], grid=2, cluster=2, block=t, smem=c["smem"], it=it, a=[0, 0, t * 128 * it])
                r.append([e - s for s, e in (self.dev.spans(2, 1, k)[1][0] for k in range(3))])
            self.emit(bench=c["bench"], threads=t, bytes_per_cycle=round(t * 128 * 16 / (min(r[1][1:]) - min(r[0][1:])), 2), raw=r)

    def dsmem_bulk(self, c):
        for size in (16, 128, 1024, 4096, 16384):
            for count in (1, 2, 4, 8):
                self.dev.go(c["kernel"], grid=2, cluster=2, block=32, smem=c["smem"], it=count, a=[size])
                self.emit(bench=c["bench"], bytes=size, copies=count, cycles=min(e - s for s, e in (self.dev.spans(2, 1, k)[1][0] for k in range(1, 3))))

    def place(self, c):
        for size in (1, 2, 4, 8, 16):
            for smem in (0, 100 * KIB, 200 * KIB):
                for block in (128, 384, 1024):
                    self.emit(bench="max_clusters", cluster=size, smem=smem, threads=block, clusters=max_clusters(self.dev.function("cl_place"), block, smem, size))
            for label, ctas in (("one wave", 132 // size * size), ("two waves", 2 * 132 // size * size)):
                self.dev.go("cl_place", grid=ctas, cluster=size, block=128, smem=200 * KIB, it=40000)
                v = self.dev.read(self.dev.out, "Q", 512 * ctas)
                rows = [v[512 * i:512 * i + 4] for i in range(ctas)]
                t0 = min(r[1] for r in rows)
                self.emit(bench="cluster_placement", cluster=size, grid=label, smid=[r[0] & 0xFFFFFFFF for r in rows], rank=[r[3] & 0xFFFFFFFF for r in rows], start_ns=[r[1] - t0 for r in rows])

    def run_manifest(self, prefix):
        for c in self.manifest["cases"]:
            if c["kernel"].startswith(prefix):
                self.guarded(getattr(self, c["kind"]), c)

    # ---- groups

    def wgmma(self):
        self.g = self.dev.alloc(64 << 20)
        self.dev.set_map(tensor_map(self.g, 1024, 16384, 2048, 64, 128))
        self.run_manifest(("wgr_", "wgl_", "wgi_", "wgg_", "wgm_"))
        self.run_manifest("wgc_")

    def sync(self):
        self.g = self.dev.alloc(1 << 20)
        self.run_manifest("sy_")

    def cluster(self):
        self.g = self.dev.alloc(1 << 20)
        for c in self.manifest["cases"]:
            if c["kernel"].startswith("cl_") and c["kind"] != "place":
                self.guarded(getattr(self, c["kind"]), c)

    def placement(self):
        for c in self.manifest["cases"]:
            if c["kind"] == "place":
                self.guarded(self.place, c)


def provenance():
    q = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm", "--format=csv,noheader"], capture_output=True, text=True)
    return {"gpu": q.stdout.strip(), "date": str(datetime.date.today()), "command": "run_hopper.py CUBINS OUT " + " ".join(sys.argv[3:])}


def main():
    import run_hopper_tma
    b = Bench(sys.argv[1], sys.argv[2])
    for group in sys.argv[3:]:
        b.emit(provenance=provenance())
        tma = getattr(run_hopper_tma, group, None)
        tma(b) if tma else getattr(b, "placement" if group == "place" else group)()


if __name__ == "__main__":
    main()
