"""wgmma: intervals, first-result latencies, fences, several warpgroups, shared-memory contention."""
from functools import partial

from hopper_ptx import kernel, wait_block
from hopper_ptx import timed as timed_loop

timed = partial(timed_loop, pragma="")  # with it, ptxas puts a WARPGROUP.ARRIVE into these loops

# name -> (PTX type suffix, K, accumulator kind, trailing immediates of SS, of RS, sparse)
TYPES = {
    "f16_f32": ("f32.f16.f16", 16, "f32", ", 1, 1, {ta}, {tb}", ", 1, 1, {tb}", False),
    "bf16_f32": ("f32.bf16.bf16", 16, "f32", ", 1, 1, {ta}, {tb}", ", 1, 1, {tb}", False),
    "f16_f16": ("f16.f16.f16", 16, "f16", ", 1, 1, {ta}, {tb}", ", 1, 1, {tb}", False),
    "tf32_f32": ("f32.tf32.tf32", 8, "f32", ", 1, 1", ", 1, 1", False),
    "e4m3_f32": ("f32.e4m3.e4m3", 32, "f32", ", 1, 1", ", 1, 1", False),
    "e4m3_f16": ("f16.e4m3.e4m3", 32, "f16", ", 1, 1", ", 1, 1", False),
    "s8_s32": ("s32.s8.s8", 32, "s32", "", "", False),
    "b1_s32": ("s32.b1.b1.and.popc", 256, "s32", "", "", False),
    "sp_f16_f32": ("f32.f16.f16", 32, "f32", ", 1, 1, {ta}, {tb}", ", 1, 1, {tb}", True),
    "sp_e4m3_f32": ("f32.e4m3.e4m3", 64, "f32", ", 1, 1", ", 1, 1", True),
}
SWIZZLE = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor_high(swizzle, lbo, sbo):
    return (lbo >> 4) << 16 | (sbo >> 4) << 32 | SWIZZLE[swizzle] << 62


class Op:
    def __init__(self, type_, n, rs=False, swizzle=128, lbo=16, sbo=None, ta=0, tb=0, chains=1):
        self.type, self.n, self.rs, self.ta, self.tb, self.chains = type_, n, rs, ta, tb, chains
        self.suffix, self.k, acc, tail_ss, tail_rs, self.sparse = TYPES[type_]
        self.reg_type = ".f32" if acc == "f32" else ".b32"
        self.regs = n // 4 if acc == "f16" else n // 2
        self.tail = (tail_rs if rs else tail_ss).format(ta=ta, tb=tb)
        sbo = {128: 1024, 64: 512, 32: 256, 0: 256}[swizzle] if sbo is None else sbo
        self.high = descriptor_high(swizzle, lbo, sbo)

    def setup(self):
        """A at %smb (2 to 8 KiB), B at %smb + 32768; the warpgroup adds 8 KiB to A's address."""
        zero = "0f00000000" if self.reg_type == ".f32" else "0"
        decl = [f" .reg {self.reg_type} %d{c}_<{self.regs}>;" for c in range(self.chains)]
        init = [f" mov{'.f32' if self.reg_type == '.f32' else '.b32'} %d{c}_{j}, {zero};" for c in range(self.chains) for j in range(self.regs)]
        desc = f""" .reg .b64 %da<4>, %db<4>, %dh; .reg .b32 %af<8>, %wg, %meta;
 shr.u32 %wg, %warp, 2; shl.b32 %r0, %wg, 13; add.u32 %r0, %r0, %smb; shr.u32 %r0, %r0, 4; and.b32 %r0, %r0, 16383;
 cvt.u64.u32 %da0, %r0; add.u32 %r1, %smb, 32768; shr.u32 %r1, %r1, 4; and.b32 %r1, %r1, 16383; cvt.u64.u32 %db0, %r1;
 mov.b64 %dh, {self.high}; or.b64 %da0, %da0, %dh; or.b64 %db0, %db0, %dh; mov.b32 %meta, 0x44444444;
"""
        desc += "".join(f" add.s64 %da{k}, %da0, {2 * k}; add.s64 %db{k}, %db0, {2 * k};\n" for k in range(1, 4))
        desc += "".join(f" add.u32 %af{k}, %a7, {k};\n" for k in range(8))
        return "\n".join(decl + init) + "\n" + desc

    def step(self, u, kstep=False):
        c, k = u % self.chains, (u % 4 if kstep else 0)
        d = ", ".join(f"%d{c}_{j}" for j in range(self.regs))
        a = "{%af0, %af1, %af2, %af3}" if self.rs else f"%da{k}"
        sp = ", %meta, 0" if self.sparse else ""
        return (f" wgmma.mma_async{'.sp' if self.sparse else ''}.sync.aligned.m64n{self.n}k{self.k}.{self.suffix} "
                f"{{{d}}}, {a}, %db{k}{sp}, %yes{self.tail};")

    def sink(self):
        lines = [" mov.b32 %r2, 0;"]
        for c in range(self.chains):
            for j in range(self.regs):
                lines.append(f" mov.b32 %r3, %d{c}_{j}; xor.b32 %r2, %r2, %r3;")
        return "\n".join(lines) + "\n setp.eq.u32 %p, %r2, 0x12345679; @%p st.global.u32 [%out+4000], %r2;\n"

    def describe(self):
        return {"type": self.type, "n": self.n, "k": self.k, "a": "registers" if self.rs else "shared"}


FENCE, COMMIT, WAIT0, WAIT1 = (" wgmma.fence.sync.aligned;", " wgmma.commit_group.sync.aligned;", " wgmma.wait_group.sync.aligned 0;",
                               " wgmma.wait_group.sync.aligned 1;")


def rate_kernel(name, op, unroll, threads=128, kstep=False):
    body = "\n".join(op.step(u, kstep) for u in range(unroll))
    return kernel(name, op.setup() + timed(body, FENCE, COMMIT + WAIT0) + op.sink(), threads)


def batch_kernel(name, op, unroll, threads=128):
    """A loop whose pass waits for its own wgmma: ptxas serialises A in registers across a loop's back edge otherwise."""
    body = "\n".join([FENCE] + [op.step(u) for u in range(unroll)] + [COMMIT, WAIT0])
    return kernel(name, op.setup() + timed(body) + op.sink(), threads)


def group_kernel(name, op, per_group, wait, threads=128):
    body = "\n".join([FENCE] + [op.step(u) for u in range(per_group)] + [COMMIT, wait])
    return kernel(name, op.setup() + timed(body, "", WAIT0) + op.sink(), threads)


def latency_kernel(name, op, count):
    """16 samples of: clock, count wgmma, commit, wait for all, clock."""
    body = f"""
 mov.u32 %i, 0;
AGAIN:
 bar.sync 0;
{FENCE}
 mov.u32 %r10, %clock;
{chr(10).join(op.step(u) for u in range(count))}
{COMMIT}
{WAIT0}
 mov.u32 %r11, %clock;
 sub.u32 %r12, %r11, %r10;
 mul.wide.u32 %rd0, %i, 4; add.s64 %rd0, %rd0, %out; setp.eq.u32 %p, %thr, 0; @%p st.global.u32 [%rd0], %r12;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 16; @%p bra AGAIN;
"""
    return kernel(name, op.setup() + body + op.sink())


def issue_kernel(name, op, count):
    """Clock after each of `count` wgmma, and after the wait; 8 samples of count + 2 words."""
    stamps = "\n".join(f"{op.step(u)}\n mov.u32 %r{21 + u}, %clock;" for u in range(count))
    stores = "\n".join(f" sub.u32 %r12, %r{21 + u}, %r20; @%p st.global.u32 [%rd0+{4 * u}], %r12;" for u in range(count + 1))
    body = f"""
 mov.u32 %i, 0;
AGAIN:
 bar.sync 0;
{FENCE}
 mov.u32 %r20, %clock;
{stamps}
{COMMIT}
{WAIT0}
 mov.u32 %r{21 + count}, %clock;
 mul.wide.u32 %rd0, %i, {4 * (count + 1)}; add.s64 %rd0, %rd0, %out; setp.eq.u32 %p, %thr, 0;
{stores}
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra AGAIN;
"""
    return kernel(name, op.setup() + body + op.sink())


HELPERS = ("lds128", "lds32", "sts128", "ldsm", "tma")


RING_BARRIER, RING_DATA, STAGE = 163840, 98304, 16384  # four stages of one 16 KiB box


def tma_helper():
    """(set-up by every thread, before the loop, a pass, after the loop) of a four-stage ring of thread 128."""
    inits = " ".join(f"mbarrier.init.shared::cta.b64 [%r9+{8 * s}], 1;" for s in range(4))
    setup = f""" add.u32 %r9, %smb, {RING_BARRIER}; mov.u32 %r14, 0; mov.u32 %r15, 0; setp.ne.u32 %p, %thr, 0; @%p bra SKIP;
 {inits}
SKIP: fence.mbarrier_init.release.cluster; bar.sync 0;
"""
    load = " cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%mp, {%r14, %r15}], [%r11];"
    fill = "\n".join(f" mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9+{8 * s}], {STAGE}; add.u32 %r13, %smb, {RING_DATA + STAGE * s}; add.u32 %r11, %r9, {8 * s};\n{load}"
                     for s in range(4))
    step = f""" and.b32 %r10, %i, 3; shl.b32 %r11, %r10, 3; add.u32 %r11, %r11, %r9; shr.u32 %r12, %i, 2; and.b32 %r12, %r12, 1;
{wait_block('%r11', '%r12')}
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], {STAGE};
 shl.b32 %r13, %r10, 14; add.u32 %r13, %r13, %smb; add.u32 %r13, %r13, {RING_DATA};
{load}
 add.u32 %r14, %r14, 64; and.b32 %r14, %r14, 1023;"""
    drain = "\n".join(f" add.u32 %r11, %r9, {8 * s}; and.b32 %r10, %a1, 3; shr.u32 %r12, %a1, 2; and.b32 %r12, %r12, 1;\n{wait_block('%r11', '%r12')}" for s in range(4))
    return setup, fill, step, drain


def access_helper(kind):
    """A pass of 8 conflict-free accesses at %r4; volatile keeps them in the loop."""
    reg = lambda j: ", ".join(f"%r{8 + 4 * j + k}" for k in range(4))
    if kind == "lds128":
        return "\n".join(f" ld.volatile.shared.v4.b32 {{{reg(j)}}}, [%r4+{512 * j}];" for j in range(8))
    if kind == "lds32":
        return "\n".join(f" ld.volatile.shared.b32 %r{8 + j}, [%r4+{512 * j}];" for j in range(8))
    if kind == "sts128":
        return "\n".join(f" st.volatile.shared.v4.b32 [%r4+{512 * j}], {{%a6, %a6, %a6, %a6}};" for j in range(8))
    loads = "\n".join(f" ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{reg(j)}}}, [%r4+{512 * j}];" for j in range(8))
    return loads + "\n" + "\n".join(f" xor.b32 %r6, %r6, %r{8 + 4 * j + k};" for j in range(8) for k in range(4)) + " xor.b32 %r4, %r4, %a6;"


def access_pass(kind):
    """32 accesses of warps 0-3; the results are used, or ptxas drops volatile loads too."""
    one = (" ld.volatile.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r4+{0}]; xor.b32 %r6, %r6, %r20; xor.b32 %r6, %r6, %r21; xor.b32 %r6, %r6, %r22; xor.b32 %r6, %r6, %r23;"
           if kind == "lds128" else " st.volatile.shared.v4.b32 [%r4+{0}], {{%a6, %a6, %a6, %a6}};")
    return " add.u32 %r4, %r4, %a6;\n" + "\n".join(one.format(512 * (j % 8)) for j in range(32))


def contention_kernel(name, op, helper):
    """Warps 0-3: it x (32 wgmma and a wait, or 32 accesses where op is "lds128" or "sts128").
    Warps 4-7: a1 passes of the helper (8 accesses a pass, or one 16 KiB box load). Also returns the helper's steps a pass."""
    tma = helper == "tma"
    start, fill, inner, drain = tma_helper() if tma else ("", "", access_helper(helper), "")
    if isinstance(op, str):
        setup, sink, pass_ = "", " setp.eq.u32 %p, %r6, 0x12345679; @%p st.global.u32 [%out+4000], %r6;", access_pass(op)
    else:
        setup, sink, pass_ = op.setup(), op.sink(), "\n".join([FENCE] + [op.step(u) for u in range(32)] + [COMMIT, WAIT0])
    data = 0 if tma and isinstance(op, str) else RING_DATA
    # the shuffle tells ptxas that the branch is uniform in a warp
    body = f""" shfl.sync.idx.b32 %warp, %warp, 0, 31, -1;
{setup} shl.b32 %r4, %lane, {2 if helper == "lds32" else 4}; add.u32 %r4, %r4, %smb; shl.b32 %r5, %warp, 12; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, {data};
{start}
 mov.u32 %r6, 0; mov.u32 %i, 0; bar.sync 0;
 setp.ge.u32 %p, %warp, 4; @%p bra HELPER;
 setp.eq.u32 %p, %it, 0; @%p bra DONE;

 mov.u64 %t0, %clock64;
MMA:
{pass_}
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra MMA;
 mov.u64 %t1, %clock64;
 setp.eq.u32 %p, %thr, 0; @%p st.global.u64 [%out], %t0; @%p st.global.u64 [%out+8], %t1;
{sink}
 bra DONE;
HELPER:
{" setp.ne.u32 %p, %thr, 128; @%p bra DONE;" if tma else ""}
 setp.eq.u32 %p, %a1, 0; @%p bra DONE;
 mov.u64 %t0, %clock64;
{fill}
HELP:
{inner}
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra HELP;
{drain}
 mov.u64 %t1, %clock64;
 mul.wide.u32 %rd0, %warp, 16; add.s64 %rd0, %rd0, %out; setp.eq.u32 %p, %lane, 0; @%p st.global.u64 [%rd0], %t0; @%p st.global.u64 [%rd0+8], %t1;
 setp.eq.u32 %p, %r6, 0x12345679; @%p st.global.u32 [%out+4000], %r6;
"""
    return kernel(name, body, 256), 1 if tma else 8


def cases():
    """Yields (kernel text, manifest entry)."""
    def rate(tag, op, threads=128, launch=(128,), unroll=16, kstep=False, **extra):
        name = f"wgr_{tag}"
        if op.rs:
            for u in (16, 48):
                yield batch_kernel(f"{name}_{u}", op, u, threads), None
            yield None, {"kernel": name + "_16", "kernel_long": name + "_48", "kind": "pair", "bench": "wgmma_interval", "steps": 32, "iters": [40], "threads": list(launch),
                         "smem": 204800, "params": {**op.describe(), **extra}}
            return
        yield rate_kernel(name, op, unroll, threads, kstep), {
            "kernel": name, "kind": "rate", "bench": "wgmma_interval", "steps": unroll, "iters": [16, 80], "threads": list(launch), "smem": 204800,
            "params": {**op.describe(), **extra}}

    all_n, some_n = (8, 16, 24, 32, 40, 64, 96, 128, 192, 256), (8, 32, 64, 128, 256)
    for t in TYPES:
        for n in (all_n if t == "f16_f32" else some_n):
            for rs in (False, True):
                yield from rate(f"{t}_{n}_{'rs' if rs else 'ss'}", Op(t, n, rs))
    for t in ("s8_s32", "e4m3_f32", "tf32_f32"):
        for n in (16, 24):
            for rs in (False, True):
                yield from rate(f"{t}_{n}_{'rs' if rs else 'ss'}", Op(t, n, rs))
    for sw, lbo, sbo in ((0, 128, 256), (0, 2048, 128), (32, 16, 256), (64, 16, 512)):
        for n in (16, 32, 64, 256):
            yield from rate(f"sw{sw}_{lbo}_{n}", Op("f16_f32", n, False, sw, lbo, sbo), swizzle=sw, lbo=lbo, sbo=sbo)
    for ta, tb in ((1, 0), (0, 1), (1, 1)):
        for n in (16, 32, 64, 256):
            for sw in (128, 0):
                yield from rate(f"mn{ta}{tb}_{sw}_{n}", Op("f16_f32", n, False, sw, 4096 if sw else 128, 1024 if sw else 256, ta, tb), swizzle=sw, a_mn_major=ta, b_mn_major=tb)
    for n in (64, 256):
        yield from rate(f"mn_rs_{n}", Op("f16_f32", n, True, 128, 4096, 1024, 0, 1), swizzle=128, b_mn_major=1)
    for n in (8, 16, 32, 64, 128):
        for rs in (False, True):
            yield from rate(f"ind2_{n}_{'rs' if rs else 'ss'}", Op("f16_f32", n, rs, chains=2), accumulators=2)
    for n in (32, 64, 256):
        yield from rate(f"kstep_{n}", Op("f16_f32", n), kstep=True, addresses="4 K steps")
    for n in (8, 32, 64, 128, 256):
        for rs in (False, True):
            yield from rate(f"wg_{n}_{'rs' if rs else 'ss'}", Op("f16_f32", n, rs), 384, (128, 256, 384), per="warpgroup")
    for t, ns in (("f16_f32", all_n), ("e4m3_f32", (64, 256)), ("s8_s32", (64, 256)), ("tf32_f32", (64, 256)), ("sp_f16_f32", (64, 256)), ("b1_s32", (64,)), ("f16_f16", (64, 256))):
        for n in ns:
            for rs in (False, True):
                for count in (1, 2, 4):
                    op = Op(t, n, rs)
                    name = f"wgl_{t}_{n}_{'rs' if rs else 'ss'}_{count}"
                    yield latency_kernel(name, op, count), {"kernel": name, "kind": "samples", "bench": "wgmma_latency", "words": 16, "threads": [128], "smem": 204800,
                                                            "params": {**op.describe(), "count": count}}
    for n in (8, 64, 128, 256):
        for rs in (False, True):
            op = Op("f16_f32", n, rs)
            name = f"wgi_{n}_{'rs' if rs else 'ss'}"
            yield issue_kernel(name, op, 12), {"kernel": name, "kind": "samples", "bench": "wgmma_issue_clocks", "words": 8 * 13, "row": 13, "threads": [128], "smem": 204800, "params": op.describe()}
    for n in (8, 64, 128, 256):
        for rs in (False, True):
            for per in (1, 2, 4):
                for wname, w in (("wait0", WAIT0), ("wait1", WAIT1)):
                    op = Op("f16_f32", n, rs)
                    name = f"wgg_{n}_{'rs' if rs else 'ss'}_{per}_{wname}"
                    yield group_kernel(name, op, per, w), {"kernel": name, "kind": "rate", "bench": "wgmma_group_round", "steps": 1, "iters": [32, 160], "threads": [128], "smem": 204800,
                                                           "params": {**op.describe(), "wgmma_per_group": per, "wait": wname}}
    for n, rs in ((32, False), (64, False), (128, False), (256, False), (64, True)):
        for helper in HELPERS:
            op = Op("f16_f32", n, rs)
            name = f"wgc_{n}_{'rs' if rs else 'ss'}_{helper}"
            text, per = contention_kernel(name, op, helper)
            yield text, {"kernel": name, "kind": "contention", "bench": "wgmma_contention", "per": per, "threads": [256], "smem": 204800, "params": {**op.describe(), "beside": helper}}
    # the same by batches with a wait: sparse SS at N = 256 is serialised by ptxas in the loop above; dense ones check the method
    for t, n in (("f16_f32", 64), ("f16_f32", 256), ("f16_f32", 8), ("sp_f16_f32", 64), ("sp_f16_f32", 128), ("sp_f16_f32", 256), ("sp_e4m3_f32", 64), ("sp_e4m3_f32", 256)):
        op = Op(t, n)
        name = f"wgr_batch_{t}_{n}"
        for u in (16, 48):
            yield batch_kernel(f"{name}_{u}", op, u), None
        yield None, {"kernel": name + "_16", "kernel_long": name + "_48", "kind": "pair", "bench": "wgmma_interval", "steps": 32, "iters": [40], "threads": [128],
                     "smem": 204800, "params": {**op.describe(), "method": "batches"}}
    # main loops of several warpgroups: 4 wgmma a group, one group in flight
    for n in (64, 128, 192, 256):
        op = Op("f16_f32", n)
        name = f"wgm_{n}"
        yield group_kernel(name, op, 4, WAIT1, 384), {"kernel": name, "kind": "rate", "bench": "wgmma_main_loop", "steps": 4, "iters": [64, 320], "threads": [128, 256, 384], "smem": 204800,
                                                      "params": {**op.describe(), "wgmma_per_group": 4, "wait": "wait1"}}
    for op in ("lds128", "sts128"):
        text, per = contention_kernel(f"wgc_{op}_tma", op, "tma")
        yield text, {"kernel": f"wgc_{op}_tma", "kind": "contention", "bench": "shared_contention", "per": per, "threads": [256], "smem": 204800, "params": {"first": op, "beside": "tma"}}
