"""The TMA groups of run_hopper.py: latency, rings, stores, multicast."""
from cuda_hopper import FLOAT32, tensor_map

KIB = 1024
WIDE = 4096  # f16 columns of the DRAM-sized tensor
ROW = 2048  # bytes of a row of the L2-sized tensor
SMEM = 225 * KIB


def summary(v):
    v = sorted(v)
    return {"min": v[0], "median": v[len(v) // 2], "max": v[-1]}


def latency_case(b, how, kernel, size, args, cold, **what):
    if cold:
        b.flush()
    b.dev.go(kernel, block=32, smem=SMEM, a=args, g=b.big)
    v = b.dev.read(b.dev.out, "I", 64)
    done, issued = v[0::2], v[1::2]
    b.emit(bench="tma_latency", how=how, bytes=size, source="dram" if cold else "l2", first=done[0], second=done[1], **summary(done[4:]), issue=summary(issued[4:]), **what)


def descriptor_cases(b):
    one = tensor_map(b.big, WIDE, 65536, WIDE * 2, 64, 8)
    b.dev.set_map(one, 4096)
    for kernel in ("tma_desc", "tma_desc_prefetch"):
        for k in (1, 2, 4, 6, 8, 9, 10, 11, 12, 16, 32, 64, 128, 256, 384, 512, 768, 1024, 2048, 4000):
            for cold in (True, False):
                if cold:
                    b.flush()
                b.dev.go(kernel, block=32, smem=SMEM, a=[1024, k], g=b.big)
                v = b.dev.read(b.dev.out, "I", 4 * 4096)
                passes = [v[4096 * p:4096 * p + k] for p in range(4)]
                b.emit(bench="tma_descriptor", prefetched=kernel.endswith("prefetch"), maps=k, l2_flushed=cold, passes=[summary(p) for p in passes], mean=[round(sum(p) / k, 1) for p in passes],
                       first_pass=passes[0][:8], last_pass=passes[3][:16])


def tma_latency(b):
    b.big = b.dev.alloc(512 << 20)

    def boxes():
        for h in (1, 8, 16, 32, 64, 128, 256):
            m = tensor_map(b.big, WIDE, 65536, WIDE * 2, 64, h)
            b.dev.set_map(m)
            size = 128 * h
            latency_case(b, "tensor", "tma_lat_tensor", size, [size], False, box=[64, h], swizzle=128)
            latency_case(b, "tensor, map in .param", "tma_lat_param", size, [size], False, box=[64, h], swizzle=128)
            latency_case(b, "tensor", "tma_lat_tensor", size, [size, 0, h, 0, 0], True, box=[64, h], swizzle=128)
            if h in (8, 128):
                latency_case(b, "tensor, polled by test_wait", "tma_lat_tensor_test", size, [size], False, box=[64, h], swizzle=128)
                for promotion in (2, 3):
                    b.dev.set_map(tensor_map(b.big, WIDE, 65536, WIDE * 2, 64, h, promotion=promotion))
                    latency_case(b, "tensor", "tma_lat_tensor", size, [size, 0, h, 0, 0], True, box=[64, h], swizzle=128, promotion=promotion)

    def shapes():
        for w, h, sw in ((8, 256, 0), (16, 128, 0), (16, 128, 32), (32, 64, 0), (32, 64, 64), (64, 32, 0), (64, 32, 128), (128, 16, 0), (256, 8, 0)):
            b.dev.set_map(tensor_map(b.big, WIDE, 65536, WIDE * 2, w, h, sw))
            latency_case(b, "tensor", "tma_lat_tensor", 4096, [4096], False, box=[w, h], swizzle=sw)

    def bulk():
        for size in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768):
            latency_case(b, "bulk", "tma_lat_bulk", size, [size], False)
            latency_case(b, "bulk", "tma_lat_bulk", size, [size, 0, size * 4], True)

    def issues():
        for how in ("tensor", "bulk"):
            for count, size in ((48, 128), (48, 1024), (48, 4096), (12, 1024), (12, 16384)):
                b.dev.set_map(tensor_map(b.big, WIDE, 65536, WIDE * 2, 64, size // 128))
                for _ in range(2):
                    b.dev.go(f"tma_issue_{how}_{count}", block=32, smem=SMEM, a=[size, size, 64], g=b.big)
                v = b.dev.read(b.dev.out, "I", 4 * (count + 1))
                b.emit(bench="tma_issue", how=how, bytes=size, count=count, clocks=v[3 * (count + 1):])
    for f in (boxes, shapes, bulk, lambda: descriptor_cases(b), issues):
        b.guarded(f)


def ring_row(b, kernel, size, stages, args, grid, warps, total, **what):
    """total: bytes a warp moves in the long run; the short one moves a third."""
    iters = [max(stages + 1, total // 3 // size), max(3 * stages + 3, total // size)]
    r = []
    for it in iters:
        b.dev.go(kernel, grid=grid, block=32 * warps, smem=SMEM, it=it, a=[size, stages] + args, g=b.base)
        r.append(b.dev.cycles(grid, warps))
    best = lambda v: min(v[1:])
    delta = (iters[1] - iters[0]) * size * warps
    cyc = best(r[1]) - best(r[0])
    b.emit(bench="tma_ring", bytes=size, stages=stages, in_flight=size * stages * warps, warps=warps, ctas=grid, bytes_per_cycle_per_sm=round(delta / cyc, 3) if cyc > 0 else None,
           cycles_per_copy=round(cyc / (iters[1] - iters[0]) / warps, 2), **what)


def tma_ring(b):
    b.base = b.dev.alloc(2 << 30, None)
    b.dev.zero(b.base, 64 << 20)

    def l2(h, stages, grid, warps=1, w=64, sw=128, **what):
        b.dev.set_map(tensor_map(b.base, ROW // 2, 33 * KIB, ROW, w, h, sw))
        size = 2 * w * h
        total = 1 << 20 if size >= 1024 else 600 * size
        ring_row(b, "tma_ring_tensor", size, stages, [132 if h < 256 else 66, ROW // 2, 0, h, w, max(w, ROW // 2 // warps)], grid, warps, total, how="tensor", box=[w, h], swizzle=sw, source="l2", **what)

    def sweep():
        for grid in (1, 132):
            for h in (8, 16, 32, 64, 128, 256):
                for flight in (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192):
                    stages = flight * KIB // (128 * h)
                    if 1 <= stages <= 126:
                        b.guarded(l2, h, stages, grid)

    def many_warps():
        for grid in (1, 132):
            for h in (8, 16, 32, 64, 128):
                for flight in (8, 16, 32, 64, 128, 192):
                    for warps in (2, 4):
                        stages = flight * KIB // (128 * h) // warps
                        if 1 <= stages <= 30:
                            b.guarded(l2, h, stages, grid, warps)

    def shapes():
        for grid in (1, 132):
            for w, h, sw in ((8, 256, 0), (16, 128, 0), (16, 128, 32), (32, 64, 0), (32, 64, 64), (64, 32, 0), (64, 32, 128), (128, 16, 0), (256, 8, 0)):
                b.guarded(l2, h, 12, grid, 4, w, sw, case="shape")
            for w, h, sw in ((8, 1, 0), (8, 4, 0), (8, 16, 0), (64, 1, 128), (64, 2, 128), (64, 4, 128), (64, 8, 128), (64, 16, 128)):
                for warps in (1, 2, 4, 8, 16):
                    b.guarded(l2, h, 6, grid, warps, w, sw, case="small")

    def footprint():
        for mod in (4, 16, 33, 66):
            b.dev.set_map(tensor_map(b.base, ROW // 2, 33 * KIB, ROW, 64, 64))
            ring_row(b, "tma_ring_tensor", 8192, 16, [mod, ROW // 2, 0, 64, 64], 132, 1, 1 << 20, how="tensor", box=[64, 64], swizzle=128, source="l2", footprint=mod * 64 * ROW)

    def dram():
        for grid in (1, 132):
            for h in (8, 32, 64, 128):
                for flight in (8, 16, 32, 64, 96, 128, 192):
                    stages = flight * KIB // (128 * h)
                    if not 1 <= stages <= 126:
                        continue
                    b.dev.set_map(tensor_map(b.base, WIDE, 262144, WIDE * 2, 64, h))
                    b.flush()
                    ring_row(b, "tma_ring_tensor", 128 * h, stages, [grid, WIDE, grid * h, h, 64], grid, 1, 3 << 19, how="tensor", box=[64, h], swizzle=128, source="dram")

    def bulk():
        unit = 256 * KIB // 16
        for grid in (1, 132):
            for size in (16, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768):
                for flight in (16, 64, 192):
                    stages = min(120, flight * KIB // size)
                    if stages:
                        ring_row(b, "tma_ring_bulk", size, stages, [132, unit, 0, unit, size // 16], grid, 1, max(600 * size, 1 << 19) if size < 4096 else 1 << 20, how="bulk", source="l2")
    for f in (sweep, many_warps, shapes, footprint, bulk, dram):
        b.guarded(f)


def tma_store(b):
    b.base = b.dev.alloc(256 << 20)
    b.big = b.base

    def lat(how, size, m=None, **what):
        if m:
            b.dev.set_map(m)
        b.dev.go(f"tma_stlat_{how}", block=32, smem=SMEM, a=[size], g=b.base)
        v = b.dev.read(b.dev.out, "I", 64)
        rows = [v[4 * i:4 * i + 4] for i in range(4, 16)]
        names = ("issue", "commit", "before_wait_all" if how.startswith("all_") else "wait_read", "wait_all")
        b.emit(bench="tma_store_latency", how=how, bytes=size, **{n: summary([r[i] for r in rows]) for i, n in enumerate(names)}, **what)

    def map16(h):
        return tensor_map(b.base, ROW // 2, 33 * KIB, ROW, 64, h)

    def map32(h):
        return tensor_map(b.base, ROW // 4, 33 * KIB, ROW, 32, h, dtype=FLOAT32)

    def latencies():
        for h in (1, 8, 16, 32, 64, 128, 256):
            lat("tensor", 128 * h, map16(h), box=[64, h])
            lat("reduce", 128 * h, map16(h), box=[64, h], type="f16")
            lat("reduce", 128 * h, map32(h), box=[32, h], type="f32")
            lat("all_tensor", 128 * h, map16(h), box=[64, h])
        for size in (16, 128, 1024, 4096, 16384, 32768):
            for how in ("bulk", "bulk_add_f32", "bulk_add_f16", "all_bulk", "all_bulk_add_f32"):
                lat(how, size)

    def ring(how, size, depth, grid, args, **what):
        iters = [max(16, (1 << 18) // size), max(48, (3 << 18) // size)]
        r = []
        for it in iters:
            b.dev.go(f"tma_string_{how}_{depth}", grid=grid, block=32, smem=SMEM, it=it, a=[size, 0] + args, g=b.base)
            r.append(b.dev.cycles(grid, 1))
        cyc = min(r[1][1:]) - min(r[0][1:])
        b.emit(bench="tma_store_ring", how=how, bytes=size, depth=depth, ctas=grid, bytes_per_cycle_per_sm=round((iters[1] - iters[0]) * size / cyc, 3), cycles_per_copy=round(cyc / (iters[1] - iters[0]), 2), **what)

    def rings():
        unit = 128 * KIB // 16
        for grid in (1, 132):
            for depth in (1, 2, 4, 8):
                for h in (8, 32, 64, 128, 256):
                    if 128 * h * depth > 200 * KIB:
                        continue
                    for how, m, x, kind in (("tensor", map16, 64, "f16"), ("reduce", map16, 64, "f16"), ("reduce", map32, 32, "f32")):
                        b.dev.set_map(m(h))
                        b.guarded(ring, how, 128 * h, depth, grid, [132 if h < 256 else 66, ROW // 2 if x == 64 else ROW // 4, 0, h, x], type=kind)
                for size in (128, 1024, 4096, 16384):
                    for how in ("bulk", "bulk_add_f32", "bulk_add_f16"):
                        b.guarded(ring, how, size, depth, grid, [132, unit, 0, unit, size // 16])
    for f in (latencies, rings):
        b.guarded(f)


def multicast(b):
    b.base = b.dev.alloc(256 << 20)

    def lat(size, h):
        b.dev.set_map(tensor_map(b.base, ROW // 2, 33 * KIB, ROW, 64, h))
        for cluster, kernel in ((2, "tma_mclat"), (4, "tma_mclat"), (8, "tma_mclat"), (2, "tma_mclat_parked")):
            b.dev.go(kernel, grid=cluster, cluster=cluster, block=32, smem=SMEM, a=[size, (1 << cluster) - 1, max(1, cluster - 1)], g=b.base)
            v = b.dev.read(b.dev.out, "I", 64)
            b.emit(bench="multicast_latency", bytes=size, cluster=cluster, other_lanes="exited" if kernel == "tma_mclat" else "at a barrier", own=summary(v[8::2]), all_acknowledged=summary(v[9::2]))

    def ring(cluster, stage_rows, stages, grid):
        h = stage_rows // cluster
        b.dev.set_map(tensor_map(b.base, ROW // 2, 33 * KIB, ROW, 64, h))
        r, iters = [], [40, 120]
        for it in iters:
            best = []
            for _ in range(3):
                b.dev.go("tma_mcring", grid=grid, cluster=cluster, block=64, smem=SMEM, it=it, a=[128 * h, stages, 132, ROW // 2, 0, stage_rows, 64, h], g=b.base)
                best.append(b.dev.cycles(grid, 1)[0])
            r.append(min(best[1:]))
        per = (r[1] - r[0]) / (iters[1] - iters[0])
        b.emit(bench="multicast_ring", cluster=cluster, stage_bytes=128 * stage_rows, part_bytes=128 * h, stages=stages, ctas=grid, cycles_per_stage=round(per, 2),
               received_bytes_per_cycle_per_sm=round(128 * stage_rows / per, 2))

    def latencies():
        for h in (8, 64, 256):
            lat(128 * h, h)

    def rings():
        for cluster in (1, 2, 4, 8):
            for rows, stages in ((128, 2), (128, 4), (128, 8), (128, 12), (256, 2), (256, 6), (64, 8), (64, 16)):
                for grid in (cluster, 120):
                    b.guarded(ring, cluster, rows, stages, grid)
    for f in (latencies, rings):
        b.guarded(f)
