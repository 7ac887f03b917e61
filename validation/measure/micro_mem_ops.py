"""Pattern microbenchmarks of the memory pipe and of synchronisation (see micro_ops.py).

Run-time argument `stride`: bytes between the addresses of neighbouring lanes. Loads chase
self-pointers: the word a lane loads is the address it loaded from, so a chain measures
load -> address -> load latency without any arithmetic.
"""
from micro_ops import Op

SELF = ("if (warp == 0) *(volatile unsigned*)(sm + lane * stride) = sm_addr + lane * stride; __syncthreads();")
SELF_LDSM = ("if (warp == 0) *(volatile unsigned*)(sm + (lane / 4) * stride + (lane % 4) * 4) = sm_addr + lane * stride; __syncthreads();")
# .trans: lane L receives elements (row 2(L%4), column L/4) and (row 2(L%4)+1, same column).
SELF_LDSM_T = ("if (warp == 0) { *(volatile unsigned short*)(sm + 2 * (lane % 4) * stride + (lane / 4) * 2) = sm_addr + lane * stride; "
               "*(volatile unsigned short*)(sm + (2 * (lane % 4) + 1) * stride + (lane / 4) * 2) = 0; } __syncthreads();")
SELF_G = ("if (warp == 0) { *(volatile unsigned long long*)(g + lane * stride) = (unsigned long long)(g + lane * stride); } __syncthreads();")
ZERO_G = ("if (warp == 0) { *(volatile unsigned*)(g + lane * stride) = arg & 0x40000000; } __syncthreads();")
AD = [("unsigned", "ad", "sm_addr + lane * stride")]
PG = [("unsigned long long", "p", "(unsigned long long)(g + lane * stride)")]
V = [("unsigned", "v", "arg + {c}")]


def regs(k, base=0):
    return "{" + ",".join(f"%{base + i}" for i in range(k)) + "}"


def shared_ops():
    ops = []
    w = [("unsigned", f"w{i}_", "0") for i in range(4)]
    ops.append(Op("lds32", 'asm volatile("ld.volatile.shared.u32 %0,[%0];" : "+r"(ad{c}));', AD, [], (1, 8, 16), setup=SELF))
    ops.append(Op("lds64", 'asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%0];" : "+r"(ad{c}), "=r"(w0_{c}));', AD + w[:1], [], (1, 8), setup=SELF))
    ops.append(Op("lds128", 'asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%0];" : "+r"(ad{c}), "=r"(w0_{c}), "=r"(w1_{c}), "=r"(w2_{c}));',
                  AD + w[:3], [], (1, 8), setup=SELF))
    for n in (1, 2, 4):
        for t in ("", ".trans"):
            outs = ", ".join(['"+r"(ad{c})'] + [f'"=r"(w{i}_{{c}})' for i in range(n - 1)])
            ops.append(Op(f"ldsm_x{n}{t.replace('.', '_')}",
                          f'asm volatile("ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 {regs(n)},[%0];" : {outs});',
                          AD + w[:n - 1], [], (1, 8), setup=SELF_LDSM_T if t else SELF_LDSM))
            ins = ", ".join(f'"r"(v{{c}})' for i in range(n))
            ops.append(Op(f"stsm_x{n}{t.replace('.', '_')}",
                          f'asm volatile("stmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 [%{n}],{regs(n)};" :: {ins}, "r"(ad{{c}}));', AD + V, [], (4,)))
    for k, v in ((1, ""), (2, ".v2"), (4, ".v4")):
        ins = ", ".join('"r"(v{c})' for _ in range(k))
        src = regs(k) if k > 1 else "%0"
        ops.append(Op(f"sts{32 * k}", f'asm volatile("st.volatile.shared{v}.u32 [%{k}],{src};" :: {ins}, "r"(ad{{c}}));', AD + V, [], (4,)))
    ops.append(Op("sts32_lds32_chain", 'asm volatile("st.volatile.shared.u32 [%1],%0; ld.volatile.shared.u32 %0,[%1];" : "+r"(v{c}) : "r"(ad{c}));', AD + V, [], (1,)))
    ops.append(Op("stsm_x4_lds32_chain", 'asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%1],{%0,%0,%0,%0}; ld.volatile.shared.u32 %0,[%1];" : "+r"(v{c}) : "r"(ad{c}));', AD + V, [], (1,)))
    for n, t in (("add", "u32"), ("max", "u32"), ("exch", "b32"), ("add", "f32")):
        ops.append(Op(f"atoms_{n}_{t}", f'asm volatile("atom.shared.{n}.{t} %0,[%1],%0;" : "+{"f" if t == "f32" else "r"}"(v{{c}}) : "r"(ad{{c}}));',
                      AD + [("float" if t == "f32" else "unsigned", "v", "arg + {c}")], [], (1, 4), (8, 24)))
        if n == "add":
            ops.append(Op(f"reds_{n}_{t}", f'asm volatile("red.shared.{n}.{t} [%1],%0;" :: "{"f" if t == "f32" else "r"}"(v{{c}}), "r"(ad{{c}}));',
                          AD + [("float" if t == "f32" else "unsigned", "v", "arg + {c}")], [], (1, 4), (8, 24)))
    for o in ops:
        o.group, o.sweep = "shared", "stride"
    return ops


def global_ops():
    ops = []
    ops.append(Op("ldg32_l1_plus_imad_wide", 'asm volatile("{.reg .u32 w; ld.global.u32 w,[%0]; mad.wide.u32 %0,w,%1,%2;}" : "+l"(p{c}) : "r"(one), "l"(gl));',
                  PG, [("unsigned", "one", "arg + 1"), ("unsigned long long", "gl", "(unsigned long long)(g + lane * stride)")], (1, 8), setup=ZERO_G))
    ops.append(Op("ldg64_l1", 'asm volatile("ld.global.u64 %0,[%0];" : "+l"(p{c}));', PG, [], (1, 8), setup=SELF_G))
    ops.append(Op("ldg128_l1", 'asm volatile("{.reg .u64 w; ld.global.v2.u64 {%0,w},[%0]; xor.b64 %1,%1,w;}" : "+l"(p{c}), "+l"(x{c}));',
                  PG + [("unsigned long long", "x", "0")], [], (1, 4), setup=SELF_G))
    ops.append(Op("ldg64_l2_cg", 'asm volatile("ld.global.cg.u64 %0,[%0];" : "+l"(p{c}));', PG, [], (1, 8), setup=SELF_G, unroll=(16, 48)))
    for k, v in ((1, ""), (2, ".v2"), (4, ".v4")):
        ins = ", ".join('"r"(v{c})' for _ in range(k))
        src = regs(k) if k > 1 else "%0"
        ops.append(Op(f"stg{32 * k}", f'asm volatile("st.global{v}.u32 [%{k}+{{k}}*128],{src};" :: {ins}, "l"(p{{c}}));',
                      [("unsigned long long", "p", "(unsigned long long)(g + warp * 4096 + lane * stride)")] + V, [], (4,), (8, 24)))
    for n, t in (("add", "u32"), ("add", "f32")):
        c = "f" if t == "f32" else "r"
        ops.append(Op(f"atomg_{n}_{t}", f'asm volatile("atom.global.{n}.{t} %0,[%1],%0;" : "+{c}"(v{{c}}) : "l"(p{{c}}));',
                      PG + [("float" if t == "f32" else "unsigned", "v", "arg + {c}")], [], (1, 4), (4, 12)))
        ops.append(Op(f"redg_{n}_{t}", f'asm volatile("red.global.{n}.{t} [%1],%0;" :: "{c}"(v{{c}}), "l"(p{{c}}));',
                      PG + [("float" if t == "f32" else "unsigned", "v", "arg + {c}")], [], (4,), (4, 12)))
    for name, text, size in (("ca4", "cp.async.ca.shared.global [%0+{k}*512],[%1+{k}*512],4;", 4), ("ca8", "cp.async.ca.shared.global [%0+{k}*512],[%1+{k}*512],8;", 8),
                             ("ca16", "cp.async.ca.shared.global [%0+{k}*512],[%1+{k}*512],16;", 16), ("cg16", "cp.async.cg.shared.global [%0+{k}*512],[%1+{k}*512],16;", 16),
                             ("cg16_zfill", "cp.async.cg.shared.global [%0+{k}*512],[%1+{k}*512],16,%2;", 16)):
        ops.append(Op("cp_async_" + name, f'asm volatile("{text}" :: "r"(dst{{c}}), "l"(src{{c}}), "r"(zero));',
                      [("unsigned", "dst", f"sm_addr + warp * 12288 + lane * {size}"), ("unsigned long long", "src", f"(unsigned long long)(g + warp * 16384 + lane * {size})")],
                      [("unsigned", "zero", "arg")], (1, 2), (8, 24), tail='asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");'))
    for o in ops:
        o.group, o.sweep = "global", "stride"
    return ops


def sync_ops():
    def s(name, text, **k):
        return Op(name, f'asm volatile("{text}" ::: "memory");', [], [], (1,), k.pop("unroll", (8, 24)), threads=1024, group="sync", **k)
    return [
        s("bar_sync", "bar.sync 0;"), s("commit_wait_empty", "cp.async.commit_group; cp.async.wait_group 0;"), s("bar_warp_sync", "bar.warp.sync -1;"),
        s("membar_cta", "membar.cta;"), s("membar_gl", "membar.gl;"), s("membar_sys", "membar.sys;", unroll=(2, 6)),
        s("fence_acq_rel_gpu", "fence.acq_rel.gpu;"),
        Op("bar_red_popc", 'asm volatile("{.reg .pred t; setp.ne.u32 t,%0,0; bar.red.popc.u32 %0,0,t;}" : "+r"(a{c}));', [("unsigned", "a", "arg+lane")], [],
           (1,), (8, 24), threads=1024, group="sync"),
    ]
