"""mbarrier, cluster, fences, elect, setmaxnreg: loops of one instruction and ping-pong round trips."""
from hopper_ptx import fence_init, kernel, timed, wait_block

INIT = " setp.ne.u32 %p, %thr, 0; @%p bra INITED;\n{inits}\nINITED:" + fence_init() + "\n"


def init(*counts):
    return INIT.format(inits="\n".join(f" add.u32 %r0, %smb, {8 * i}; mbarrier.init.shared::cta.b64 [%r0], {c};" for i, c in enumerate(counts)))


def ops():
    """name -> (setup, one step, threads, unrolls). %a7 is 0 at run time."""
    big = init(1048575)
    arrive = " mbarrier.arrive.shared::cta.b64 {}, [%r60];"
    base = " mov.u32 %r60, %smb; add.u32 %r61, %a7, 1; mov.u32 %r62, %a6;\n"
    chain = " cvt.u32.u64 %r1, %rd0; and.b32 %r1, %r1, %a7; add.u32 %r60, %r60, %r1;"
    done = init(1) + " setp.ne.u32 %p, %thr, 0; @%p bra ARR; mbarrier.arrive.shared::cta.b64 _, [%smb];\nARR: bar.sync 0;\n"
    sel = " selp.b32 %r1, %a7, %a6, %q; add.u32 %r60, %r60, %r1;"
    r = {
        "alu_chain": (base, " and.b32 %r1, %r60, %a7; add.u32 %r60, %r60, %r1;", 32),
        "mbar_arrive_sink": (big + base, arrive.format("_"), 32),
        "mbar_arrive_state_indep": (big + base, arrive.format("%rd0") + " xor.b64 %rd1, %rd1, %rd0;", 32),
        "mbar_arrive_state_chain": (big + base, arrive.format("%rd0") + chain, 32),
        "mbar_arrive_count": (big + base, " mbarrier.arrive.shared::cta.b64 %rd0, [%r60], %r61;" + chain, 32),
        "mbar_arrive_expect_tx_sink": (big + base, " mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], %a7;", 32),
        "mbar_arrive_expect_tx_chain": (big + base, " mbarrier.arrive.expect_tx.shared::cta.b64 %rd0, [%r60], %a7;" + chain, 32),
        "mbar_expect_tx": (big + base, " mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r60], %a7;", 32),
        "mbar_arrive_remote_default_sink": (big + base + " mapa.shared::cluster.u32 %r60, %r60, 0;\n", " mbarrier.arrive.shared::cluster.b64 _, [%r60];", 32),
        "mbar_arrive_remote_sink": (big + base + " mapa.shared::cluster.u32 %r60, %r60, 0;\n", " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r60];", 32),
        "mbar_try_wait_done_chain": (done + base, " mbarrier.try_wait.parity.shared::cta.b64 %q, [%r60], %a7;" + sel, 32),
        "mbar_test_wait_done_chain": (done + base, " mbarrier.test_wait.parity.shared::cta.b64 %q, [%r60], %a7;" + sel, 32),
        "mbar_test_wait_pending_chain": (init(2) + base, " mbarrier.test_wait.parity.shared::cta.b64 %q, [%r60], %a7;" + sel, 32),
        "mbar_try_wait_done_branch": (done + base, " mbarrier.try_wait.parity.shared::cta.b64 %q, [%r60], %a7; @!%q bra DONE;", 32),
        "mbar_init": (init(1) + base, " mbarrier.init.shared::cta.b64 [%r60], 1;", 32),
        "mbar_inval_init": (init(1) + base, " mbarrier.inval.shared::cta.b64 [%r60]; mbarrier.init.shared::cta.b64 [%r60], 1;", 32),
        "fence_proxy_async": (base, " fence.proxy.async;", 128),
        "fence_proxy_async_shared": (base, " fence.proxy.async.shared::cta;", 128),
        "fence_proxy_async_global": (base, " fence.proxy.async.global;", 128),
        "st_shared": (base, " st.shared.b32 [%r60], %a7;", 128),
        "st_shared_fence_proxy_async_shared": (base, " st.shared.b32 [%r60], %a7; fence.proxy.async.shared::cta;", 128),
        "st_shared_v4_x4_fence_proxy_async_shared": (base + " shl.b32 %r59, %thr, 4; add.u32 %r59, %r59, %smb;\n",
            "".join(f" st.shared.v4.b32 [%r59+{2048 * j}], {{%a7, %a7, %a7, %a7}};" for j in range(4)) + " fence.proxy.async.shared::cta;", 128),
        "fence_mbarrier_init": (base, " fence.mbarrier_init.release.cluster;", 32),
        "fence_acq_rel_cta": (base, " fence.acq_rel.cta;", 128),
        "fence_acq_rel_cluster": (base, " fence.acq_rel.cluster;", 128),
        "fence_acq_rel_gpu": (base, " fence.acq_rel.gpu;", 128),
        "elect_sync": (base, " { .reg .b32 l; elect.sync l|%q, 0xffffffff; xor.b32 %r62, %r62, l; }", 32),
        "elect_sync_branch": (base, " { .reg .b32 l; elect.sync l|%q, 0xffffffff; @%q st.shared.b32 [%r60], %a7; }", 32),
        "griddepcontrol_wait": (base, " griddepcontrol.wait;", 128),
        "griddepcontrol_launch_dependents": (base, " griddepcontrol.launch_dependents;", 128),
        "wgmma_fence": (base, " wgmma.fence.sync.aligned;", 128),
        "wgmma_commit": (base, " wgmma.commit_group.sync.aligned;", 128),
        "wgmma_wait": (base, " wgmma.wait_group.sync.aligned 0;", 128),
        "wgmma_fence_commit_wait": (base, " wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;", 128),
        "bulk_commit": (base, " cp.async.bulk.commit_group;", 32),
        "bulk_commit_wait": (base, " cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;", 32),
        "mapa": (base, " mapa.shared::cluster.u32 %r1, %r60, %a7; and.b32 %r1, %r1, %a7; add.u32 %r60, %r60, %r1;", 32),
    }
    return r


SINK = " cvt.u32.u64 %r1, %rd1; xor.b32 %r1, %r1, %r62; xor.b32 %r1, %r1, %r60; setp.eq.u32 %p, %r1, 0x12345679; @%p st.global.u32 [%out+4000], %r1;\n"
PRE = " mov.u64 %rd1, 0; mov.u64 %rd0, 0;\n"


def loop(name, setup, step, unroll, threads, limits=None):
    return kernel(name, PRE + setup + timed("\n".join([step] * unroll)) + SINK, threads, limits)


def pingpong(name, remote, arrive_order="", wait_order=""):
    """Warp 0 and warp a0 (or thread 0 of CTA 0 and 1 of a cluster) arrive at each other's barrier, a round per pass.
    out[0..1]: clocks of the first. a1 selects the waiter's poll: every barrier is awaited by try_wait."""
    if remote:
        who = " setp.ne.u32 %p, %thr, 0; @%p bra DONE; mov.u32 %r10, %crank; xor.b32 %r11, %r10, 1; mapa.shared::cluster.u32 %r12, %smb, %r11; mov.u32 %r13, %smb;\n"
        arrive = f" mbarrier.arrive{arrive_order}.shared::cluster.b64 _, [%r12];"
        wait_text = f" {{ .reg .pred w;\nW: mbarrier.try_wait.parity{wait_order}.shared::cta.b64 w, [%r13], %r14;\n @!w bra W; }}"
        start = init(1, 1) + " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        last = "LAST: barrier.cluster.arrive; barrier.cluster.wait;\n"
    else:
        who = " setp.ne.u32 %p, %lane, 0; @%p bra DONE; setp.eq.u32 %p, %warp, 0; setp.eq.u32 %q, %warp, %a0; selp.b32 %r10, 0, 1, %p; or.pred %p, %p, %q; @!%p bra DONE;\n" \
              " shl.b32 %r11, %r10, 3; add.u32 %r13, %smb, %r11; xor.b32 %r11, %r11, 8; add.u32 %r12, %smb, %r11;\n"
        arrive = " mbarrier.arrive.shared::cta.b64 _, [%r12];"
        wait_text = wait_block("%r13", "%r14")
        start = init(1, 1)
        last = ""
    body = f"""{start}{who}
 mov.u32 %r14, 0; mov.u32 %i, 0;
 mov.u64 %t0, %clock64;
 setp.ne.u32 %p, %r10, 0; @%p bra SECOND;
FIRST:
{arrive}
{wait_text}
 xor.b32 %r14, %r14, 1;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra FIRST;
 mov.u64 %t1, %clock64;
 st.global.u64 [%out], %t0; st.global.u64 [%out+8], %t1;
 bra {'LAST' if remote else 'DONE'};
SECOND:
{wait_text}
{arrive}
 xor.b32 %r14, %r14, 1;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra SECOND;
{last}"""
    return kernel(name, body, 1024)


def st_async_pingpong(name):
    body = f"""{init(1, 1)} barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 setp.ne.u32 %p, %thr, 0; @%p bra DONE;
 xor.b32 %r11, %crank, 1; mapa.shared::cluster.u32 %r12, %smb, %r11; add.u32 %r15, %r12, 1024; mov.u32 %r14, 0; mov.u32 %i, 0;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%smb], 4;
 mov.u64 %t0, %clock64;
 setp.ne.u32 %p, %crank, 0; @%p bra SECOND;
FIRST:
 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r15], %i, [%r12];
{wait_block('%smb', '%r14')}
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%smb], 4;
 xor.b32 %r14, %r14, 1; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra FIRST;
 mov.u64 %t1, %clock64; st.global.u64 [%out], %t0; st.global.u64 [%out+8], %t1;
 bra LAST;
SECOND:
{wait_block('%smb', '%r14')}
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%smb], 4;
 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r15], %i, [%r12];
 xor.b32 %r14, %r14, 1; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra SECOND;
LAST: barrier.cluster.arrive; barrier.cluster.wait;
"""
    return kernel(name, body, 32)


def wake(name):
    """Warp 1 waits; warp 0 arrives a1 * sample cycles after the barrier. out[i] = clock after the wait - clock before the arrive."""
    body = f"""{init(1)} mov.u32 %i, 0; mov.u32 %r14, 0;
AGAIN: bar.sync 0;
 setp.eq.u32 %p, %warp, 0; @%p bra ARRIVER;
{wait_block('%smb', '%r14')}
 mov.u32 %r11, %clock; st.shared.u32 [%smb+132], %r11;
 bra JOIN;
ARRIVER:
 mov.u32 %r16, %clock; mul.lo.u32 %r18, %a1, %i;
PAUSE: mov.u32 %r17, %clock; sub.u32 %r17, %r17, %r16; setp.lt.u32 %p, %r17, %r18; @%p bra PAUSE;
 setp.ne.u32 %p, %lane, 0; mov.u32 %r11, %clock;
 @!%p mbarrier.arrive.shared::cta.b64 _, [%smb];
 @!%p st.shared.u32 [%smb+128], %r11;
JOIN: bar.sync 0;
 setp.ne.u32 %p, %thr, 0; @%p bra SKIP;
 ld.shared.u32 %r12, [%smb+128]; ld.shared.u32 %r13, [%smb+132]; sub.u32 %r12, %r13, %r12; mul.wide.u32 %rd0, %i, 4; add.s64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r12;
SKIP: xor.b32 %r14, %r14, 1; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 32; @%p bra AGAIN;
"""
    return kernel(name, body, 64)


def try_wait_timeout(name, hint):
    body = f"""{init(2)}
 mov.u32 %i, 0;
AGAIN:
 mov.u32 %r10, %clock;
 mbarrier.try_wait.parity.shared::cta.b64 %q, [%smb], 0{', ' + str(hint) if hint else ''};
 @%q st.shared.b32 [%smb+64], %a7;
 mov.u32 %r11, %clock; sub.u32 %r11, %r11, %r10;
 mul.wide.u32 %rd0, %i, 4; add.s64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r11;
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra AGAIN;
"""
    return kernel(name, body, 32)


CL = " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
CLU = " barrier.cluster.arrive; barrier.cluster.wait;\n"


def cluster_loop(name, setup, step, unroll, threads, before=""):
    return kernel(name, PRE + setup + CL + timed("\n".join(step(u) if callable(step) else step for u in range(unroll)), CL + before, "")
                  + " xor.b32 %r62, %r62, %r12;\n" + SINK + CLU, threads)


def dsmem_ops():
    """name -> (setup, step, unroll, threads). a0 = rank to address: 0 own, 1 neighbour (relative); a1 = active CTAs."""
    def peer(shift):
        return (f" add.u32 %r10, %crank, %a0; rem.u32 %r10, %r10, %csize; shl.b32 %r11, %thr, {shift}; add.u32 %r11, %r11, %smb; add.u32 %r11, %r11, 1024;\n"
                " mapa.shared::cluster.u32 %r12, %r11, %r10; setp.lt.u32 %q, %crank, %a1; mov.u32 %r62, 0; mov.u32 %r60, 0;\n")
    zero = "".join(f" st.shared.b32 [%r11+{4 * k}], %a7;" for k in range(4)) + "\n"

    def load4(u, space, base, guard):
        r = [20 + 4 * (u % 8) + k for k in range(4)]
        mix = "".join(f" xor.b32 %r62, %r62, %r{20 + k};" for k in range(32)) if u % 8 == 7 else ""
        return f"{guard} ld.{space}.v4.b32 {{%r{r[0]}, %r{r[1]}, %r{r[2]}, %r{r[3]}}}, [{base}+{16384 * (u % 8)}];" + mix

    def load1(u):
        return f" @%q ld.shared::cluster.b32 %r{20 + u % 8}, [%r12+{16384 * (u % 8)}];" + ("".join(f" xor.b32 %r62, %r62, %r{20 + k};" for k in range(8)) if u % 8 == 7 else "")
    return {
        "ld_chain": (peer(4) + zero, " ld.shared::cluster.b32 %r1, [%r12]; add.u32 %r12, %r12, %r1;", 16, 32),
        "atom_chain": (peer(4) + zero, " atom.shared::cluster.add.u32 %r1, [%r12], %a7; add.u32 %r12, %r12, %r1;", 16, 32),
        "ld_v4_stream": (peer(4), lambda u: load4(u, "shared::cluster", "%r12", " @%q"), 16, 1024),
        "ld_b32_stream": (peer(2), load1, 16, 1024),
        "st_v4_stream": (peer(4), lambda u: f" @%q st.shared::cluster.v4.b32 [%r12+{16384 * (u % 8)}], {{%a7, %a7, %a7, %a7}};", 16, 1024),
        "st_b32_stream": (peer(2), lambda u: f" @%q st.shared::cluster.b32 [%r12+{16384 * (u % 8)}], %a7;", 16, 1024),
        "ld_own_window_v4": (peer(4), lambda u: load4(u, "volatile.shared::cta", "%r11", ""), 16, 1024),
    }


RECEIVER_ALONE = " setp.ne.u32 %p, %crank, 0; setp.ne.u32 %q, %thr, 0; and.pred %p, %p, %q; @%p bra DONE;\n"


def transfer(name, sender, expected, threads):
    """CTA 0 sends, thread 0 of CTA 1 times: from a cluster barrier to the end of its barrier's phase (`expected` bytes)."""
    body = f"""{init(1)}{CL}{RECEIVER_ALONE}
 mov.u32 %rep, 0;
AGAIN:
{CLU}
 and.b32 %r14, %rep, 1; xor.b32 %r11, %crank, 1; mapa.shared::cluster.u32 %r12, %smb, %r11;
 setp.ne.u32 %p, %crank, 0; @%p bra RECEIVE;
 mov.u32 %i, 0;
{sender}
 bra NEXT;
RECEIVE:
 mov.u64 %t0, %clock64;
{expected}
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%smb], %r20;
{wait_block('%smb', '%r14')}
 mov.u64 %t1, %clock64;
 mul.wide.u32 %rd0, %rep, 512; add.s64 %rd0, %rd0, %out; st.global.u64 [%rd0], %t0; st.global.u64 [%rd0+8], %t1;
NEXT:
 add.u32 %rep, %rep, 1; setp.lt.u32 %p, %rep, 3; @%p bra AGAIN;
{CLU}"""
    return kernel(name, body, threads)


def st_async_stream(name):
    """it passes of 8 st.async.v4 by every thread of CTA 0; a2 = bytes in all."""
    stores = "\n".join(f" st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r13+{16384 * u}], {{%i, %i, %i, %i}}, [%r12];" for u in range(8))
    return transfer(name, f""" shl.b32 %r13, %thr, 4; add.u32 %r13, %r13, %r12; add.u32 %r13, %r13, 1024;
SEND:
{stores}
 add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra SEND;""", " mov.u32 %r20, %a2;", 1024)


def dsmem_bulk(name):
    """it bulk copies of a0 bytes by thread 0 of CTA 0."""
    return transfer(name, """ setp.ne.u32 %p, %thr, 0; @%p bra DONE; add.u32 %r15, %smb, 1024; add.u32 %r16, %r12, 1024;
SEND:
 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r16], [%r15], %a0, [%r12];
 add.u32 %r16, %r16, %a0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %it; @%p bra SEND;""", " mul.lo.u32 %r20, %a0, %it;", 32)


def place(name):
    body = """ mov.u32 %r0, %smid; mov.u32 %r1, %clusterid.x; mov.u64 %rd0, %globaltimer; mov.u64 %t0, %clock64;
 setp.ne.u32 %p, %thr, 0; @%p bra SPIN;
 st.global.u32 [%out], %r0; st.global.u32 [%out+4], %r1; st.global.u64 [%out+8], %rd0; st.global.u64 [%out+16], %t0; st.global.u32 [%out+24], %crank;
SPIN: mov.u64 %t1, %clock64; sub.s64 %t1, %t1, %t0; cvt.u32.u64 %r2, %t1; setp.lt.u32 %p, %r2, %it; @%p bra SPIN;
"""
    return kernel(name, body, 1024)


def cases():
    for tag, (setup, step, threads) in ops().items():
        names = []
        for unroll in (8, 24):
            names.append(f"sy_{tag}_{unroll}")
            yield loop(names[-1], setup, step, unroll, max(threads, 128)), None
        launch = [1, 32, 128] if tag.startswith("mbar") else [32, 128] if threads == 32 else [32, 128] if not tag.startswith("wgmma") else [128]
        yield None, {"kernel": names[0], "kernel_long": names[1], "kind": "pair", "bench": tag, "steps": 16, "iters": [20 if tag.startswith("mbar") else 200], "threads": launch, "smem": 65536, "params": {}}
    for pool in ((40, 232), (24, 240), (104, 152)):
        names = []
        for unroll in (4, 12):
            names.append(f"sy_setmaxnreg_{pool[0]}_{pool[1]}_{unroll}")
            step = f" setmaxnreg.dec.sync.aligned.u32 {pool[0]}; setmaxnreg.inc.sync.aligned.u32 {pool[1]};"
            yield loop(names[-1], "", step, unroll, 128, f".maxntid 128, 1, 1\n.minnctapersm 1\n.maxnreg {pool[1]}"), None
        yield None, {"kernel": names[0], "kernel_long": names[1], "kind": "pair", "bench": "setmaxnreg_dec_inc", "steps": 8, "iters": [100], "threads": [128], "smem": 0, "params": {"dec": pool[0], "inc": pool[1]}}
    yield pingpong("sy_pingpong", False), {"kernel": "sy_pingpong", "kind": "pingpong", "bench": "mbar_pingpong", "iters": [100, 500], "threads": [512], "smem": 1024, "params": {}}
    for tag, a, w in (("default", "", ""), ("release_acquire_cluster", ".release.cluster", ".acquire.cluster"), ("release_cluster", ".release.cluster", ""), ("acquire_cluster", "", ".acquire.cluster"),
                      ("relaxed_cluster", ".relaxed.cluster", ".relaxed.cluster")):
        n = "sy_pingpong_remote_" + tag
        yield pingpong(n, True, a, w), {"kernel": n, "kind": "pingpong_cluster", "bench": "mbar_pingpong_remote", "iters": [100, 500], "threads": [32], "smem": 1024, "params": {"order": tag}}
    yield st_async_pingpong("sy_stasync_pp"), {"kernel": "sy_stasync_pp", "kind": "pingpong_cluster", "bench": "st_async_pingpong", "iters": [100, 500], "threads": [32], "smem": 4096, "params": {}}
    yield wake("sy_wake"), {"kernel": "sy_wake", "kind": "wake", "bench": "mbar_wake", "threads": [64], "smem": 1024, "params": {}}
    for hint in (0, 100, 10000):
        n = f"sy_trywait_{hint}"
        yield try_wait_timeout(n, hint), {"kernel": n, "kind": "samples", "bench": "try_wait_never_completed", "words": 8, "threads": [1], "smem": 1024, "params": {"hint_ns": hint}}
    for n, step in (("cluster_barrier", " barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"), ("cluster_barrier_relaxed", " barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;")):
        yield cluster_loop("cl_" + n, "", step, 8, 1024), {"kernel": "cl_" + n, "kind": "cluster_rate", "bench": n, "steps": 8, "iters": [20, 100], "threads": [32, 128, 384, 1024], "clusters": [1, 2, 4, 8], "smem": 0, "params": {}}
    for n, (setup, step, unroll, threads) in dsmem_ops().items():
        yield cluster_loop("cl_" + n, setup, step, unroll, threads), {
            "kernel": "cl_" + n, "kind": "dsmem", "bench": "dsmem_" + n, "steps": unroll, "iters": [20, 100], "threads": [32] if threads == 32 else [32, 128, 512, 1024], "smem": 200 * 1024, "params": {}}
    yield st_async_stream("cl_stasync_stream"), {"kernel": "cl_stasync_stream", "kind": "st_async_stream", "bench": "dsmem_st_async_v4_stream", "iters": [2, 6], "threads": [32, 128], "smem": 200 * 1024, "params": {}}
    yield dsmem_bulk("cl_bulk"), {"kernel": "cl_bulk", "kind": "dsmem_bulk", "bench": "dsmem_bulk_copy", "threads": [32], "smem": 200 * 1024, "params": {}}
    yield place("cl_place"), {"kernel": "cl_place", "kind": "place", "bench": "cluster_placement", "params": {}}
    yield kernel("cl_empty", "", 1024), None
