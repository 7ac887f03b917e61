"""TMA and bulk copies: latency, descriptor fetch, issue, throughput, stores, reductions, multicast."""
from hopper_ptx import fence_init, kernel, timed, wait_block

LOAD = " cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [{dst}], [{map}, {{{x}, {y}}}], [{bar}];"
BULK = " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{dst}], [{src}], {size}, [{bar}];"
EXPECT = " mbarrier.arrive.expect_tx.shared::cta.b64 _, [{bar}], {size};"
# elect.sync tells ptxas that one lane is left; after a comparison with the thread number it emits a loop over the active lanes
ELECT = " elect.sync _|%p, 0xffffffff; @!%p bra DONE;\n"
ONE = " setp.ge.u32 %p, %thr, 32; @%p bra DONE;\n" + ELECT


def latency(name, how, poll="try"):
    """32 samples: (clock after the barrier completed, clock after issue) - clock before issue.
    tensor: box at (a1 * i, a2 * i), bytes a0, map mp (or by value: how = 'param'); bulk: g + a2 * i, a0 bytes."""
    copy = {"tensor": LOAD.format(dst="%r30", map="%mp", x="%r31", y="%r32", bar="%smb"),
            "param": LOAD.format(dst="%r30", map="%mpp", x="%r31", y="%r32", bar="%smb"),
            "bulk": BULK.format(dst="%r30", src="%rd4", size="%a0", bar="%smb")}[how]
    w = wait_block("%smb", "%r14")
    if poll == "test":
        w = w.replace("try_wait", "test_wait")
    body = f"""{ONE} mbarrier.init.shared::cta.b64 [%smb], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
 mov.u32 %i, 0; mov.u32 %r14, 0; add.u32 %r30, %smb, 1024; mov.u32 %r31, %a3; mov.u32 %r32, %a4; mov.u64 %rd4, %g; cvt.u64.u32 %rd5, %a2;
AGAIN:
{EXPECT.format(bar="%smb", size="%a0")}
 mov.u32 %r10, %clock;
{copy}
 mov.u32 %r11, %clock;
{w}
 mov.u32 %r12, %clock;
 sub.u32 %r13, %r12, %r10; sub.u32 %r15, %r11, %r10;
 mul.wide.u32 %rd0, %i, 8; add.s64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r13; st.global.u32 [%rd0+4], %r15;
 xor.b32 %r14, %r14, 1; add.u32 %r31, %r31, %a1; add.u32 %r32, %r32, %a2; add.s64 %rd4, %rd4, %rd5;
 mov.u32 %r16, %clock;
PAUSE: mov.u32 %r17, %clock; sub.u32 %r17, %r17, %r16; setp.lt.u32 %p, %r17, 3000; @%p bra PAUSE;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 32; @%p bra AGAIN;
"""
    return kernel(name, body, 32)


def descriptors(name, prefetch):
    """4 passes over a1 tensor maps at mp (all of one tensor): out[4096 * pass + k] = latency of the load through map k."""
    pre = """ mov.u32 %i, 0;
PRE: mul.wide.u32 %rd1, %i, 128; add.s64 %rd1, %rd1, %mp; prefetch.tensormap [%rd1]; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra PRE;
 mov.u32 %r16, %clock;
PAUSE: mov.u32 %r17, %clock; sub.u32 %r17, %r17, %r16; setp.lt.u32 %p, %r17, 20000; @%p bra PAUSE;
""" if prefetch else ""
    body = f"""{ONE} mbarrier.init.shared::cta.b64 [%smb], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
 mov.u32 %r14, 0; mov.u32 %r31, 0; mov.u32 %r32, 0; add.u32 %r30, %smb, 1024; mov.u32 %rep, 0;
{pre}
PASS: mov.u32 %i, 0;
AGAIN:
 mul.wide.u32 %rd1, %i, 128; add.s64 %rd1, %rd1, %mp;
{EXPECT.format(bar="%smb", size="%a0")}
 mov.u32 %r10, %clock;
{LOAD.format(dst="%r30", map="%rd1", x="%r31", y="%r32", bar="%smb")}
{wait_block("%smb", "%r14")}
 mov.u32 %r12, %clock; sub.u32 %r13, %r12, %r10; xor.b32 %r14, %r14, 1;
 shl.b32 %r15, %rep, 12; add.u32 %r15, %r15, %i; mul.wide.u32 %rd0, %r15, 4; add.s64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r13;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra AGAIN;
 add.u32 %rep, %rep, 1; setp.lt.u32 %p, %rep, 4; @%p bra PASS;
"""
    return kernel(name, body, 32)


def issue(name, how, count):
    """Clock after each of `count` copies of a0 bytes, targets a1 apart, then after all arrived; 4 samples."""
    copy = LOAD.format(dst="%r2", map="%mp", x="%r31", y="%r32", bar="%smb") if how == "tensor" else BULK.format(dst="%r2", src="%rd4", size="%a0", bar="%smb")
    one = f"{copy}\n mov.u32 %c{{k}}, %clock; add.u32 %r2, %r2, %a1; add.u32 %r31, %r31, %a2; add.s64 %rd4, %rd4, %rd5;"
    body = f"""{ONE} .reg .b32 %c<{count + 2}>;
 mbarrier.init.shared::cta.b64 [%smb], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
 mov.u32 %r14, 0; mov.u32 %rep, 0; mul.lo.u32 %r20, %a0, {count}; cvt.u64.u32 %rd5, %a0;
AGAIN:
 add.u32 %r2, %smb, 1024; mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u64 %rd4, %g;
{EXPECT.format(bar="%smb", size="%r20")}
 mov.u32 %r10, %clock;
{chr(10).join(one.replace("{k}", str(k)) for k in range(count))}
{wait_block("%smb", "%r14")}
 mov.u32 %c{count}, %clock; xor.b32 %r14, %r14, 1;
 mul.wide.u32 %rd0, %rep, {4 * (count + 1)}; add.s64 %rd0, %rd0, %out;
{chr(10).join(f" sub.u32 %r3, %c{k}, %r10; st.global.u32 [%rd0+{4 * k}], %r3;" for k in range(count + 1))}
 add.u32 %rep, %rep, 1; setp.lt.u32 %p, %rep, 4; @%p bra AGAIN;
"""
    return kernel(name, body, 32)


def ring(name, how):
    """Every warp's lane 0 keeps a1 copies of a0 bytes in flight. It walks x from warp * a7 by a6 up to a3, then y by a4; y starts at
    (cta % a2) * a5. Bulk: address g + (cta % a2) * a5 + offset, offset grows by a6 up to a3 (then y: a4 more)."""
    copy = (LOAD.format(dst="%r34", map="%mp", x="%r31", y="%r32", bar="%r33") if how == "tensor" else
            " add.u32 %r35, %r31, %r32; cvt.u64.u32 %rd5, %r35; shl.b64 %rd5, %rd5, 4; add.s64 %rd4, %g, %rd5;" + BULK.format(dst="%r34", src="%rd4", size="%a0", bar="%r33"))
    advance = " add.u32 %r31, %r31, %a6; setp.ge.u32 %p, %r31, %a3; @%p mov.u32 %r31, 0; @%p add.u32 %r32, %r32, %a4;"
    nxt = " add.u32 %r36, %r36, 1; add.u32 %r33, %r33, 8; add.u32 %r34, %r34, %r55; setp.eq.u32 %p, %r36, %a1; @%p mov.u32 %r36, 0; @%p mov.u32 %r33, %r37; @%p mov.u32 %r34, %r38; @%p xor.b32 %r14, %r14, 1;"
    body = f"""
 max.u32 %r55, %a0, 128; mul.lo.u32 %r41, %warp, %a1; shl.b32 %r41, %r41, 3; add.u32 %r37, %smb, %r41;
 mul.lo.u32 %r42, %r55, %a1; mul.lo.u32 %r42, %r42, %warp; add.u32 %r38, %smb, 1024; add.u32 %r38, %r38, %r42;
 setp.ne.u32 %p, %lane, 0; @%p bra INITED; mov.u32 %i, 0; mov.u32 %r33, %r37;
INIT1: mbarrier.init.shared::cta.b64 [%r33], 1; add.u32 %r33, %r33, 8; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra INIT1;
INITED: {fence_init()}
{ELECT}
 rem.u32 %r43, %cta, %a2; mul.lo.u32 %r32, %r43, %a5; mul.lo.u32 %r31, %warp, %a7; mov.u32 %rep, 0; mov.u32 %r14, 0;
 mov.u32 %r36, 0; mov.u32 %r33, %r37; mov.u32 %r34, %r38;
AGAIN:
 mov.u32 %r45, %clock;
PAUSE: mov.u32 %r46, %clock; sub.u32 %r46, %r46, %r45; setp.lt.u32 %p, %r46, 3000; @%p bra PAUSE;
 mov.u64 %t0, %clock64;
 mov.u32 %i, 0;
FILL:
{EXPECT.format(bar="%r33", size="%a0")}
{copy}
{advance}
{nxt}
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra FILL;
 xor.b32 %r14, %r14, 1;
STEADY: setp.ge.u32 %p, %i, %it; @%p bra DRAIN0;
{wait_block("%r33", "%r14")}
{EXPECT.format(bar="%r33", size="%a0")}
{copy}
{advance}
{nxt}
 add.u32 %i, %i, 1; bra STEADY;
DRAIN0: mov.u32 %r44, 0;
DRAIN:
{wait_block("%r33", "%r14")}
{nxt}
 add.u32 %r44, %r44, 1; setp.lt.u32 %p, %r44, %a1; @%p bra DRAIN;
 mov.u64 %t1, %clock64;
 mad.lo.u32 %r50, %rep, 32, %warp; mul.wide.u32 %rd0, %r50, 16; add.s64 %rd0, %rd0, %out; st.global.u64 [%rd0], %t0; st.global.u64 [%rd0+8], %t1;
 add.u32 %rep, %rep, 1; setp.lt.u32 %p, %rep, 3; @%p bra AGAIN;
"""
    return kernel(name, body, 1024)


STORE = {"tensor": " cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%mp, {{%r31, %r32}}], [{src}];",
         "bulk": " cp.async.bulk.global.shared::cta.bulk_group [%rd4], [{src}], %a0;",
         "reduce": " cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%mp, {{%r31, %r32}}], [{src}];",
         "bulk_add_f32": " cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd4], [{src}], %a0;",
         "bulk_add_f16": " cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd4], [{src}], %a0;"}


def store_latency(name, how, read_first=True):
    """16 samples of clock differences: issue, commit, wait_group.read 0 (if read_first), wait_group 0."""
    body = f"""{ONE} mov.u32 %i, 0; add.u32 %r30, %smb, 1024; mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u64 %rd4, %g; fence.proxy.async;
AGAIN:
 mov.u32 %r10, %clock;
{STORE[how].format(src="%r30")}
 mov.u32 %r11, %clock;
 cp.async.bulk.commit_group;
 mov.u32 %r12, %clock;
 {"cp.async.bulk.wait_group.read 0;" if read_first else ""}
 mov.u32 %r13, %clock;
 cp.async.bulk.wait_group 0;
 mov.u32 %r15, %clock;
 mul.wide.u32 %rd0, %i, 16; add.s64 %rd0, %rd0, %out;
 sub.u32 %r11, %r11, %r10; sub.u32 %r12, %r12, %r10; sub.u32 %r13, %r13, %r10; sub.u32 %r15, %r15, %r10;
 st.global.u32 [%rd0], %r11; st.global.u32 [%rd0+4], %r12; st.global.u32 [%rd0+8], %r13; st.global.u32 [%rd0+12], %r15;
 mov.u32 %r16, %clock;
PAUSE: mov.u32 %r17, %clock; sub.u32 %r17, %r17, %r16; setp.lt.u32 %p, %r17, 3000; @%p bra PAUSE;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 16; @%p bra AGAIN;
"""
    return kernel(name, body, 32)


def store_ring(name, how, depth):
    """it stores of a0 bytes by one thread, at most `depth` not yet read; coordinates as in ring (a2..a6)."""
    body = f"""{ONE} rem.u32 %r43, %cta, %a2; mul.lo.u32 %r32, %r43, %a5; mov.u32 %r31, 0; mov.u32 %rep, 0; fence.proxy.async;
AGAIN: mov.u32 %r45, %clock;
PAUSE: mov.u32 %r46, %clock; sub.u32 %r46, %r46, %r45; setp.lt.u32 %p, %r46, 3000; @%p bra PAUSE;
 mov.u64 %t0, %clock64; mov.u32 %i, 0;
LOOP:
 rem.u32 %r36, %i, {depth}; mul.lo.u32 %r36, %r36, %a0; add.u32 %r30, %r36, %smb; add.u32 %r30, %r30, 1024;
 add.u32 %r35, %r31, %r32; cvt.u64.u32 %rd5, %r35; shl.b64 %rd5, %rd5, 4; add.s64 %rd4, %g, %rd5;
{STORE[how].format(src="%r30")}
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group.read {depth - 1};
 add.u32 %r31, %r31, %a6; setp.ge.u32 %p, %r31, %a3; @%p mov.u32 %r31, 0; @%p add.u32 %r32, %r32, %a4;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra LOOP;
 cp.async.bulk.wait_group 0;
 mov.u64 %t1, %clock64;
 mul.wide.u32 %rd0, %rep, 512; add.s64 %rd0, %rd0, %out; st.global.u64 [%rd0], %t0; st.global.u64 [%rd0+8], %t1;
 add.u32 %rep, %rep, 1; setp.lt.u32 %p, %rep, 3; @%p bra AGAIN;
"""
    return kernel(name, body, 32)


CL = " barrier.cluster.arrive; barrier.cluster.wait;\n"
MULTI = (" cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{dst}], [%mp, {{{x}, {y}}}], [{bar}], {mask};")


def multicast_latency(name, others="DONE"):
    """others: where the lanes but 0 go, DONE (exit) or LAST (a barrier).
    CTA 0 loads a0 bytes into the CTAs of mask a1; others arrive at CTA 0's second barrier when theirs completed.
    32 samples: own completion, all acknowledgements (a2 = how many)."""
    body = f"""{ONE.replace("DONE", others)} .reg .b16 %mask; cvt.u16.u32 %mask, %a1; mbarrier.init.shared::cta.b64 [%smb], 1; add.u32 %r20, %smb, 8; mbarrier.init.shared::cta.b64 [%r20], %a2; fence.mbarrier_init.release.cluster;
{CL}
 mov.u32 %i, 0; mov.u32 %r14, 0; add.u32 %r30, %smb, 1024; mov.u32 %r31, 0; mov.u32 %r32, 0; mapa.shared::cluster.u32 %r21, %r20, 0;
AGAIN:
{EXPECT.format(bar="%smb", size="%a0")}
 setp.ne.u32 %p, %crank, 0; @%p bra OTHER;
 mov.u32 %r16, %clock;
PAUSE: mov.u32 %r17, %clock; sub.u32 %r17, %r17, %r16; setp.lt.u32 %p, %r17, 3000; @%p bra PAUSE;
 mov.u32 %r10, %clock;
{MULTI.format(dst="%r30", x="%r31", y="%r32", bar="%smb", mask="%mask")}
{wait_block("%smb", "%r14")}
 mov.u32 %r11, %clock;
{wait_block("%r20", "%r14")}
 mov.u32 %r12, %clock;
 sub.u32 %r11, %r11, %r10; sub.u32 %r12, %r12, %r10;
 mul.wide.u32 %rd0, %i, 8; add.s64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r11; st.global.u32 [%rd0+4], %r12;
 bra NEXT;
OTHER:
{wait_block("%smb", "%r14")}
 mbarrier.arrive.shared::cluster.b64 _, [%r21];
NEXT:
 xor.b32 %r14, %r14, 1; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 32; @%p bra AGAIN;
LAST2:
{CL} bra DONE;
LAST: {CL}{CL}
"""
    return kernel(name, body, 32)


def multicast_ring(name):
    """Full/empty ring, a1 stages; each CTA loads its part (a0 bytes) of a stage into all CTAs of the cluster. Warp 0 produces, warp 1
    consumes and arrives at every CTA's empty barrier. y = (cluster % a2) * a5 + rank * a7, x walks by a6 up to a3, then y by a4."""
    body = f""" .reg .b16 %mask; mov.u32 %r0, 1; shl.b32 %r0, %r0, %csize; sub.u32 %r0, %r0, 1; cvt.u16.u32 %mask, %r0; mul.lo.u32 %r20, %a0, %csize;
 setp.ne.u32 %p, %thr, 0; @%p bra INITED; mov.u32 %i, 0; mov.u32 %r33, %smb;
INIT1: mbarrier.init.shared::cta.b64 [%r33], 1; mbarrier.init.shared::cta.b64 [%r33+512], %csize; add.u32 %r33, %r33, 8; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %a1; @%p bra INIT1;
INITED: {fence_init()} barrier.cluster.arrive; barrier.cluster.wait;
{ELECT}
 mov.u32 %r43, %clusterid.x; rem.u32 %r43, %r43, %a2; mul.lo.u32 %r32, %r43, %a5; mad.lo.u32 %r32, %crank, %a7, %r32; mov.u32 %r31, 0; mov.u32 %i, 0; mov.u32 %r36, 0; mov.u32 %r33, %smb;
 mul.lo.u32 %r39, %crank, %a0; add.u32 %r38, %smb, 1024; add.u32 %r34, %r38, %r39; mov.u32 %r40, %r34;
 mov.u64 %t0, %clock64;
 setp.ne.u32 %p, %warp, 0; @%p bra CONSUMER;
 mov.u32 %r14, 1;
PRODUCE:
 add.u32 %r21, %r33, 512;
{wait_block("%r21", "%r14")}
{EXPECT.format(bar="%r33", size="%r20")}
{MULTI.format(dst="%r34", x="%r31", y="%r32", bar="%r33", mask="%mask")}
 add.u32 %r31, %r31, %a6; setp.ge.u32 %p, %r31, %a3; @%p mov.u32 %r31, 0; @%p add.u32 %r32, %r32, %a4;
 add.u32 %r36, %r36, 1; add.u32 %r33, %r33, 8; add.u32 %r34, %r34, %r20; setp.eq.u32 %p, %r36, %a1; @%p mov.u32 %r36, 0; @%p mov.u32 %r33, %smb; @%p mov.u32 %r34, %r40; @%p xor.b32 %r14, %r14, 1;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra PRODUCE;
 bra LAST;
CONSUMER:
 mov.u32 %r14, 0;
CONSUME:
{wait_block("%r33", "%r14")}
 add.u32 %r21, %r33, 512; mov.u32 %r22, 0;
ARRIVE: mapa.shared::cluster.u32 %r23, %r21, %r22; mbarrier.arrive.shared::cluster.b64 _, [%r23]; add.u32 %r22, %r22, 1; setp.lt.u32 %p, %r22, %csize; @%p bra ARRIVE;
 add.u32 %r36, %r36, 1; add.u32 %r33, %r33, 8; setp.eq.u32 %p, %r36, %a1; @%p mov.u32 %r36, 0; @%p mov.u32 %r33, %smb; @%p xor.b32 %r14, %r14, 1;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra CONSUME;
 mov.u64 %t1, %clock64;
 st.global.u64 [%out], %t0; st.global.u64 [%out+8], %t1;
LAST: barrier.cluster.arrive; barrier.cluster.wait;
"""
    return kernel(name, body, 64)


def cases():
    """Kernels only; run_hopper.py holds the sweeps (boxes need tensor maps made on the host)."""
    for how in ("tensor", "param", "bulk"):
        yield latency(f"tma_lat_{how}", how), None
    yield latency("tma_lat_tensor_test", "tensor", "test"), None
    yield descriptors("tma_desc", False), None
    yield descriptors("tma_desc_prefetch", True), None
    for how in ("tensor", "bulk"):
        for count in (12, 48):
            yield issue(f"tma_issue_{how}_{count}", how, count), None
        yield ring(f"tma_ring_{how}", how), None
    for how in STORE:
        yield store_latency(f"tma_stlat_{how}", how), None
        yield store_latency(f"tma_stlat_all_{how}", how, False), None
        for depth in (1, 2, 4, 8):
            yield store_ring(f"tma_string_{how}_{depth}", how, depth), None
    yield multicast_latency("tma_mclat"), None
    yield multicast_latency("tma_mclat_parked", "LAST"), None
    yield multicast_ring("tma_mcring"), None
