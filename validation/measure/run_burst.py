"""run_burst.py CUBINS OUT: loads in bursts, latencies of DRAM one by one, stores of an epilogue (workloads/micro/burst.cu).

Writes OUT/burst.jsonl. `cold`: every launch comes after 256 MB of other data were read, so that nothing is in L2.
"""
import collections
import json
import os
import statistics
import subprocess
import sys

from cuda_driver import Device, i32, u64

SWEEP = 256 << 20
REPEAT = 9


def quantiles(values):
    v = sorted(values)
    at = lambda q: v[min(len(v) - 1, int(q * len(v)))]
    return {"min": v[0], "p10": at(0.1), "p25": at(0.25), "median": at(0.5), "p75": at(0.75), "p90": at(0.9), "p99": at(0.99), "max": v[-1], "mean": round(statistics.mean(v), 1)}


class Bench:
    def __init__(self, cubins, out):
        self.gpu, self.file = Device(), f"{cubins}/burst.cubin"
        self.sink, self.other, self.data = self.gpu.alloc(1 << 20), self.gpu.alloc(SWEEP), self.gpu.alloc(640 << 20)
        self.out = open(os.path.join(out, "burst.jsonl"), "w")
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
        self.emit(provenance={"gpu": gpu, "date": "2026-11-30", "command": "run_burst.py CUBINS OUT"})

    def emit(self, **row):
        print(json.dumps(row), file=self.out, flush=True)

    def cool(self):
        self.gpu.launch(self.gpu.kernel(self.file, "sweep"), 264, 1024, 0, u64(self.other), u64(SWEEP // 16), u64(self.sink))

    def burst(self, grid, threads, rows, row_bytes, pitch, step_stride, steps, shared_tile, cold):
        shift = (row_bytes // 16).bit_length() - 1
        cta_stride = 0 if shared_tile else max(rows * pitch, 1 << 20 if grid == 1 else 0)
        f = self.gpu.kernel(self.file, "burst")
        first, rest, by_launch = [], [], []
        for _ in range(REPEAT):
            if cold:
                self.cool()
            self.gpu.launch(f, grid, threads, rows * row_bytes, u64(self.data), u64(pitch), u64(cta_stride), i32(rows), i32(shift), u64(step_stride), i32(steps), u64(self.sink))
            times = self.gpu.read(self.sink, "I", 64 * grid)
            first += [times[64 * c] for c in range(grid)]
            rest += [times[64 * c + s] for c in range(grid) for s in range(1, steps)]
        self.emit(bench="burst", cold=cold, grid=grid, threads=threads, rows=rows, row_bytes=row_bytes, pitch=pitch, step_stride=step_stride, steps=steps,
                  shared_tile=shared_tile, first=quantiles(first), rest=quantiles(rest))

    def bursts(self):
        for cold in (True, False):
            for grid, shared_tile in ((1, False), (8, False), (8, True), (32, False), (64, True), (132, False)):
                for threads, rows, row_bytes, pitch in ((128, 1, 128, 1024), (128, 8, 128, 1024), (128, 32, 128, 1024), (128, 128, 128, 1024), (256, 384, 128, 1024), (128, 64, 64, 1024),
                                                        (128, 32, 128, 4096), (128, 128, 128, 4096), (256, 384, 128, 4096), (256, 64, 512, 1024), (128, 32, 128, 128), (128, 128, 128, 128), (256, 384, 128, 128)):
                    stride = row_bytes if row_bytes < pitch else rows * pitch
                    steps = min(8, pitch // row_bytes) if row_bytes < pitch and pitch <= 1024 else 8
                    if not shared_tile and stride == rows * pitch and grid * steps * rows * pitch > 600 << 20:
                        continue
                    self.burst(grid, threads, rows, row_bytes, pitch, stride, steps, shared_tile, cold)

    def bursts_through_registers(self):
        for cold in (True, False):
            for grid, shared_tile in ((1, False), (8, False), (32, False), (132, False)):
                for loads, threads in ((4, 128), (8, 128), (4, 256), (8, 256), (12, 256)):
                    f = self.gpu.kernel(self.file, f"burst_ldg_{loads}")
                    rows, steps, rest = loads * threads // 8, 8, []
                    for _ in range(REPEAT):
                        if cold:
                            self.cool()
                        self.gpu.launch(f, grid, threads, rows * 128, u64(self.data), u64(1024), u64(0 if shared_tile else rows * 1024), u64(128), i32(steps), u64(self.sink))
                        times = self.gpu.read(self.sink, "I", 64 * grid)
                        rest += [times[64 * c + s] for c in range(grid) for s in range(1, steps)]
                    self.emit(bench="burst_ldg", cold=cold, grid=grid, threads=threads, loads=loads, rows=rows, row_bytes=128, pitch=1024, steps=steps, rest=quantiles(rest))

    def maps(self):
        f = self.gpu.kernel(self.file, "cold_map")
        for stride, multiply in ((128, 1), (128, 1021), (1024, 1), (4096, 1), (32768, 1), (33024, 1021)):
            count = 4096
            runs = []
            for _ in range(6):
                self.cool()
                self.gpu.launch(f, 1, 1, 4 * count, u64(self.data), u64(stride), i32(count), i32(multiply), u64(self.sink))
                runs.append(self.gpu.read(self.sink, "I", count))
            histogram = collections.Counter(t // 16 * 16 for r in runs for t in r)
            self.emit(bench="cold_map", stride=stride, multiply=multiply, count=count, all=quantiles([t for r in runs for t in r]), histogram_bin16=dict(sorted(histogram.items())),
                      first_512=[r[:512] for r in runs])

    def in_flight(self):
        for name in ("loads_32", "loads_64", "loads_128", "loads_128_l1"):
            for threads in (32, 128, 256):
                f = self.gpu.kernel(self.file, name)
                for _ in range(3):
                    self.gpu.launch(f, 1, threads, 0, u64(self.data), u64(1 << 16), u64(self.sink))
                times = self.gpu.read(self.sink, "I", 16 * threads // 32)
                self.emit(bench=name, threads=threads, loads=12, arrived=[times[16 * w: 16 * w + 12] for w in range(threads // 32)])

    def second_touch(self):
        """Latencies of lines that another SM has read from DRAM before."""
        f, count = self.gpu.kernel(self.file, "map_from"), 1024
        def run(sm):
            self.gpu.launch(f, 132, 1, 200 << 10, u64(self.data), u64(4096 + 128), i32(count), i32(sm), u64(self.sink))
            return self.gpu.read(self.sink, "I", count)
        cold = {}
        for sm in (0, 2, 64, 66):
            self.cool()
            cold[sm] = run(sm)
        for second in (0, 1, 2, 3, 16, 64, 65, 66, 78, 106):
            self.cool()
            first = run(0)
            then = run(second)
            again = run(second)
            self.emit(bench="second_touch", first_sm=0, second_sm=second, cold_by_second=quantiles(cold[second]) if second in cold else None, first=first[:256], second=then[:256], again=again[:256],
                      first_all=quantiles(first), second_all=quantiles(then), again_all=quantiles(again))

    def epilogues(self):
        f = self.gpu.kernel(self.file, "epilogue")
        for grid, smem in ((132 * 4, 200 << 10), (132 * 8, 100 << 10), (8 * 1, 200 << 10)):
            for threads, rows, row_bytes, pitch in ((128, 0, 128, 4096), (128, 16, 128, 4096), (128, 64, 128, 4096), (128, 128, 128, 4096), (256, 128, 256, 4096), (256, 128, 512, 4096), (256, 128, 256, 1024)):
                shift = (row_bytes // 16).bit_length() - 1
                gaps, issue, spans = [], [], []
                for _ in range(REPEAT):
                    self.cool()
                    self.gpu.launch(f, grid, threads, smem, u64(self.data), u64(pitch), u64(rows * pitch), i32(rows), i32(shift), i32(2000), u64(self.sink))
                    v = self.gpu.read(self.sink, "Q", 4 * grid)
                    by_sm = collections.defaultdict(list)
                    for c in range(grid):
                        t0, t2, t3, sm = v[4 * c: 4 * c + 4]
                        by_sm[sm].append((t0, t2, t3))
                        issue.append(t3 - t2)
                    for ctas in by_sm.values():
                        ctas.sort()
                        ends = sorted(t3 for _, _, t3 in ctas)
                        resident = 2 if smem <= 100 << 10 else 1
                        gaps += [ctas[i + resident][0] - ends[i] for i in range(len(ctas) - resident)]
                row = {"gap": quantiles(gaps)} if gaps else {}
                self.emit(bench="epilogue", grid=grid, smem=smem, threads=threads, rows=rows, row_bytes=row_bytes, pitch=pitch, issue=quantiles(issue), **row)


def main():
    bench = Bench(*sys.argv[1:3])
    bench.maps()
    bench.bursts()
    bench.bursts_through_registers()
    bench.in_flight()
    bench.second_touch()
    bench.epilogues()


if __name__ == "__main__":
    main()
