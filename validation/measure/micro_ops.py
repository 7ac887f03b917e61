"""Table of the pattern microbenchmarks: one entry per instruction and dependence pattern.

An Op describes what one step of a chain does as CUDA C++ with inline PTX. gen_micro.py
unrolls the steps into two kernels of different length; the difference of their times is
free of loop overhead. `{c}` in the texts is the chain's number.
"""
from dataclasses import dataclass, field


@dataclass
class Op:
    name: str
    step: str                      # statements of one step of chain {c}
    state: list = field(default_factory=list)   # (ctype, name, initial value) per chain
    consts: list = field(default_factory=list)  # (ctype, name, value) shared by the chains
    chains: tuple = (1, 8)         # chain counts to generate; 1 = latency
    unroll: tuple = (32, 96)       # steps in the loop body of the short and long kernel
    setup: str = ""                # statements before the timed loop
    tail: str = ""                 # statements at the end of every loop iteration
    threads: int = 512             # launch bound
    group: str = "alu"
    sweep: str = ""                # what the run-time argument means, if it is swept


R = lambda n="a", v="arg + lane * 7 + {c}": ("unsigned", n, v)
F = lambda n="a", v="__int_as_float((arg & 15) + 0x3f800000 + {c})": ("float", n, v)
D = lambda n="a", v="1.0 + arg * 1e-9 + {c}": ("double", n, v)
L = lambda n="a", v="(unsigned long long)arg * 77 + lane + {c}": ("unsigned long long", n, v)
CR = [("unsigned", "p", "arg + 3"), ("unsigned", "q", "arg + 5")]
CF = [("float", "p", "__int_as_float((arg & 7) + 0x3f800001)"),
      ("float", "q", "__int_as_float((arg & 7) + 0x3f000001)")]
CD = [("double", "p", "1.0 + arg * 1e-8"), ("double", "q", "arg * 1e-8")]


def asm(text, outs, ins):
    return f'asm volatile("{text}" : {outs} : {ins});'


def r_op(name, ptx, **k):
    """In-place 32-bit integer op: %0 is the state, %1 and %2 the constants."""
    return Op(name, asm(ptx, '"+r"(a{c})', '"r"(p), "r"(q)'), [R()], CR, **k)


def f_op(name, ptx, **k):
    return Op(name, asm(ptx, '"+f"(a{c})', '"f"(p), "f"(q)'), [F()], CF, **k)


def d_op(name, ptx, **k):
    return Op(name, asm(ptx, '"+d"(a{c})', '"d"(p), "d"(q)'), [D()], CD, unroll=(16, 48), **k)


def fib(name, one, two, **k):
    """Two instructions feeding each other, for ops ptxas would otherwise fold."""
    return Op(name, asm(one + " " + two, '"+r"(a{c}), "+r"(b{c})', '"r"(p), "r"(q)'),
              [R(), R("b", "arg * 5 + lane + {c}")], CR, unroll=(16, 48), **k)


def alu_ops():
    ops = [
        fib("iadd3", "{.reg .u32 t; add.u32 t,%0,%1; add.u32 %0,t,%2;}", "{.reg .u32 t; add.u32 t,%1,%0; add.u32 %1,t,%3;}"),
        fib("iadd_2src", "add.u32 %0,%0,%1;", "add.u32 %1,%1,%0;"),
        fib("lop3", "lop3.b32 %0,%0,%1,%2,0x96;", "lop3.b32 %1,%1,%0,%3,0x6a;"),
        r_op("shf", "shf.l.wrap.b32 %0,%0,%1,%2;"),
        r_op("shl_var", "shl.b32 %0,%0,%1;"),
        r_op("imad_mul_chain", "mad.lo.u32 %0,%0,%1,%2;"),
        r_op("imad_acc_chain", "mad.lo.u32 %0,%1,%2,%0;"),
        r_op("imul", "mul.lo.u32 %0,%0,%1;"),
        r_op("imad_hi", "mul.hi.u32 %0,%0,%1;"),
        Op("imad_wide_mul_chain", asm("{.reg .b32 x,y; mov.b64 {x,y},%0; mad.wide.u32 %0,x,%1,%2;}", '"+l"(a{c})', '"r"(p), "l"(q)'), [L()],
           [("unsigned", "p", "arg + 3"), ("unsigned long long", "q", "arg * 3ull + lane")]),
        fib("lea", "{.reg .u32 t; shl.b32 t,%1,4; add.u32 %0,t,%0;}", "{.reg .u32 t; shl.b32 t,%0,3; add.u32 %1,t,%1;}"),
        r_op("prmt", "prmt.b32 %0,%0,%1,%2;"),
        r_op("isetp_sel", "{.reg .pred t; setp.lt.s32 t,%0,%1; selp.b32 %0,%2,%0,t;}"),
        fib("isetp_pred_add", "{.reg .pred t; setp.lt.s32 t,%0,%1; @t add.u32 %0,%0,%1;}", "{.reg .pred t; setp.lt.s32 t,%1,%3; @t add.u32 %1,%1,%0;}"),
        fib("sel", "{.reg .pred t; setp.ne.u32 t,%2,0; selp.b32 %0,%1,%0,t;}", "{.reg .pred t; setp.ne.u32 t,%3,0; selp.b32 %1,%0,%1,t;}"),
        r_op("imnmx", "min.s32 %0,%0,%1; add.u32 %0,%0,%2;", unroll=(16, 48)),
        r_op("popc", "popc.b32 %0,%0;"),
        r_op("brev", "brev.b32 %0,%0; xor.b32 %0,%0,%1;"),
        r_op("clz", "clz.b32 %0,%0;"),
        r_op("bfind", "bfind.u32 %0,%0;"),
        r_op("bfe", "bfe.u32 %0,%0,%1,%2;"),
        r_op("bfi", "bfi.b32 %0,%0,%1,%2,5;"),
        r_op("dp4a", "dp4a.u32.u32 %0,%0,%1,%2;"),
        r_op("sad", "sad.u32 %0,%0,%1,%2;"),
        fib("abs_add", "abs.s32 %0,%0;", "add.u32 %0,%0,%1;"),
        r_op("shfl_bfly", "shfl.sync.bfly.b32 %0,%0,1,31,-1;"),
        r_op("shfl_idx", "shfl.sync.idx.b32 %0,%0,%1,31,-1; add.u32 %0,%0,%2;"),
        r_op("vote_ballot", "{.reg .pred t; setp.ne.u32 t,%0,%1; vote.sync.ballot.b32 %0,t,-1;}"),
        r_op("match_any", "match.any.sync.b32 %0,%0,-1;", unroll=(8, 24)),
        r_op("redux_add", "redux.sync.add.u32 %0,%0,-1;"),
        r_op("redux_max", "redux.sync.max.u32 %0,%0,-1;"),
        r_op("clock32", "{.reg .u32 t; mov.u32 t,%clock; xor.b32 %0,%0,t;}"),
        Op("add_s64", asm("add.u64 %0,%0,%1; add.u64 %1,%1,%0;", '"+l"(a{c}), "+l"(b{c})', '"r"(p)'), [L(), L("b", "arg*3ull+{c}")], CR, unroll=(16, 48)),
        Op("mul_s64", asm("mul.lo.u64 %0,%0,%1;", '"+l"(a{c}), "+l"(b{c})', '"r"(p)'), [L(), L("b", "arg*3ull+{c}")], CR, unroll=(8, 24), chains=(1, 4)),
    ]
    for n in ("div.s32", "rem.s32", "div.u32", "rem.u32"):
        ops.append(r_op(n.replace(".", "_"), n + " %0,%0,%1; add.u32 %0,%0,%2;", unroll=(4, 12), chains=(1, 2)))
    ops += [
        f_op("ffma", "fma.rn.f32 %0,%0,%1,%2;", chains=(1, 4, 8)),
        f_op("ffma_acc", "fma.rn.f32 %0,%1,%2,%0;", chains=(1, 8)),
        f_op("fadd", "add.rn.f32 %0,%0,%1;"), f_op("fmul", "mul.rn.f32 %0,%0,%1;"),
        f_op("fmnmx", "min.f32 %0,%0,%1; max.f32 %0,%0,%2;", unroll=(16, 48)),
        f_op("fsetp_sel", "{.reg .pred t; setp.lt.f32 t,%0,%1; selp.f32 %0,%2,%0,t;}"),
        r_op("hfma2", "fma.rn.f16x2 %0,%0,%1,%2;"), r_op("hadd2", "add.rn.f16x2 %0,%0,%1;"),
        r_op("hmul2", "mul.rn.f16x2 %0,%0,%1;"), r_op("hfma2_bf16", "fma.rn.bf16x2 %0,%0,%1,%2;"),
        d_op("dfma", "fma.rn.f64 %0,%0,%1,%2;"), d_op("dadd", "add.rn.f64 %0,%0,%1;"), d_op("dmul", "mul.rn.f64 %0,%0,%1;"),
    ]
    ops.append(f_op("mufu_rcp_then_fadd", "rcp.approx.ftz.f32 %0,%0; add.rn.f32 %0,%0,%1;", unroll=(16, 48)))
    for n in ("ex2", "lg2", "rsqrt", "sqrt", "sin", "cos"):
        ops.append(f_op("mufu_" + n, f"{n}.approx.ftz.f32 %0,%0;"))
    ops.append(f_op("mufu_tanh", "tanh.approx.f32 %0,%0;"))
    ops.append(f_op("ex2_noftz", "ex2.approx.f32 %0,%0;"))
    ops.append(f_op("div_rn", "div.rn.f32 %0,%0,%1;", unroll=(4, 12), chains=(1, 2)))
    ops.append(f_op("div_full", "div.full.f32 %0,%0,%1;", unroll=(8, 24)))
    ops.append(f_op("sqrt_rn", "sqrt.rn.f32 %0,%0;", unroll=(4, 12), chains=(1, 2)))
    ops.append(f_op("rcp_rn", "rcp.rn.f32 %0,%0;", unroll=(4, 12), chains=(1, 2)))
    ops += [
        Op("f2fp_f16x2", asm("{.reg .f32 t; mov.b32 t,%0; cvt.rn.f16x2.f32 %0,t,%1;}", '"+r"(a{c})', '"f"(p)'), [R()], CF),
        Op("f2fp_bf16x2", asm("{.reg .f32 t; mov.b32 t,%0; cvt.rn.bf16x2.f32 %0,t,%1;}", '"+r"(a{c})', '"f"(p)'), [R()], CF),
        f_op("cvt_f16_f32_pair", "{.reg .b16 h; cvt.rn.f16.f32 h,%0; cvt.f32.f16 %0,h;}"),
        Op("cvt_f32_f16", asm("{.reg .b16 h,g; mov.b32 {h,g},%0; cvt.f32.f16 %0,h;}", '"+f"(a{c})', '"f"(p)'), [F()], CF),
        r_op("i2f", "{.reg .f32 t; cvt.rn.f32.s32 t,%0; mov.b32 %0,t;}"),
        r_op("f2i", "{.reg .f32 t; mov.b32 t,%0; cvt.rzi.s32.f32 %0,t;}"),
        r_op("cvt_f64_f32_pair", "{.reg .f32 t; .reg .f64 d; mov.b32 t,%0; cvt.f64.f32 d,t; cvt.rn.f32.f64 t,d; mov.b32 %0,t;}", unroll=(8, 24)),
        r_op("cvt_e4m3x2_f32", "{.reg .f32 t; .reg .b16 h,g; mov.b32 t,%0; cvt.rn.satfinite.e4m3x2.f32 h,t,t; mov.b32 %0,{h,h};}"),
        r_op("cvt_f16x2_e4m3x2", "{.reg .b16 h,g; mov.b32 {h,g},%0; cvt.rn.f16x2.e4m3x2 %0,h;}"),
        r_op("cvt_s8_sat", "cvt.sat.s8.s32 %0,%0; add.u32 %0,%0,%1;"),
    ]
    for o in ops:
        o.group = "alu"
    return ops


def mix_ops():
    """Two independent instructions a step: which pipes run side by side."""
    fma, lop = "fma.rn.f32 %0,%0,%2,%3;", "lop3.b32 %1,%1,%4,%5,0x6a;"
    texts = {
        "ffma_lop3": fma + lop, "ffma_shf": fma + "shf.l.wrap.b32 %1,%1,%4,%5;", "ffma_imad": fma + "mad.lo.u32 %1,%1,%4,%5;",
        "ffma_ffma_lop3": fma + "fma.rn.f32 %0,%0,%3,%2;" + lop, "imad_lop3": "mad.lo.u32 %1,%1,%4,%5; shf.l.wrap.b32 %0,%0,%4,%5;",
        "ffma_mufu": fma + "{.reg .f32 t; mov.b32 t,%1; ex2.approx.ftz.f32 t,t; mov.b32 %1,t;}",
        "ffma_f2fp": fma + "{.reg .f32 t; mov.b32 t,%1; cvt.rn.f16x2.f32 %1,t,%2;}", "lop3_mufu": "{.reg .f32 t; mov.b32 t,%0; ex2.approx.ftz.f32 t,t; mov.b32 %0,t;}" + lop,
        "ffma_hfma2": fma + "fma.rn.f16x2 %1,%1,%4,%5;",
    }
    ops = []
    for name, text in texts.items():
        c = "r" if name in ("imad_lop3", "lop3_mufu") else "f"
        state = [R("a") if c == "r" else F("a"), R("b", "arg * 5 + lane + {c}")]
        if name == "lop3_mufu":
            state = [R("a"), R("b", "arg * 5 + lane + {c}")]
        ops.append(Op("mix_" + name, asm(text, f'"+{c}"(a{{c}}), "+r"(b{{c}})', '"f"(pf), "f"(qf), "r"(p), "r"(q)'), state,
                      CR + [("float", "pf", "1.0f + arg"), ("float", "qf", "0.5f + arg")], (8,), (24, 72), group="alu"))
    k16 = next(m for m in MMA if m[0] == "m16n8k16_f32_f16")
    base = mma_op(*k16, "acc")
    extra = {"ffma4": ('asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(x{c}) : "f"(pf));', 4), "lop3_2": ('asm volatile("lop3.b32 %0,%0,%1,%1,0x6a;" : "+r"(y{c}) : "r"(A0));', 2),
             "lds": ('asm volatile("ld.volatile.shared.u32 %0,[%0];" : "+r"(ad{c}));', 1),
             "ldsm4": ('asm volatile("{.reg .b32 w0,w1,w2; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,w0,w1,w2},[%0];}" : "+r"(ad{c}));', 1)}
    for name, (text, n) in extra.items():
        ops.append(Op("mix_hmma16816_" + name, base.step + text * n,
                      base.state + [("float", "x", "1.0f"), ("unsigned", "y", "lane"), ("unsigned", "ad", "sm_addr + lane * 16")],
                      base.consts + [("float", "pf", "1.0f + arg")], (4,), (16, 48), group="mma",
                      setup="if (warp == 0) *(volatile unsigned*)(sm + (lane / 4) * 16 + (lane % 4) * 4) = sm_addr + lane * 16; __syncthreads();"
                      if name == "ldsm4" else "if (warp == 0) *(volatile unsigned*)(sm + lane * 16) = sm_addr + lane * 16; __syncthreads();"))
    return ops


# name, PTX mnemonic, D (type, count), A (type, count), B (type, count)
MMA = [
    ("m16n8k8_f32_f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "f4", "r2", "r1"),
    ("m16n8k16_f32_f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f4", "r4", "r2"),
    ("m16n8k8_f16_f16", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "r2", "r2", "r1"),
    ("m16n8k16_f16_f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "r2", "r4", "r2"),
    ("m16n8k8_f32_bf16", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "f4", "r2", "r1"),
    ("m16n8k16_f32_bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f4", "r4", "r2"),
    ("m16n8k4_f32_tf32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "f4", "r2", "r1"),
    ("m16n8k8_f32_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f4", "r4", "r2"),
    ("m8n8k4_f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "d2", "d1", "d1"),
    ("m16n8k4_f64", "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "d4", "d2", "d1"),
    ("m16n8k8_f64", "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "d4", "d4", "d2"),
    ("m16n8k16_f64", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "d4", "d8", "d4"),
    ("m8n8k16_s32_s8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "r2", "r1", "r1"),
    ("m16n8k16_s32_s8", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "r4", "r2", "r1"),
    ("m16n8k32_s32_s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r4", "r4", "r2"),
    ("m16n8k32_s32_s8_satfinite", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", "r4", "r4", "r2"),
    ("m8n8k32_s32_s4", "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", "r2", "r1", "r1"),
    ("m16n8k32_s32_s4", "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", "r4", "r2", "r1"),
    ("m16n8k64_s32_s4", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "r4", "r4", "r2"),
    ("m8n8k128_s32_b1_and", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", "r2", "r1", "r1"),
    ("m16n8k128_s32_b1_and", "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "r4", "r2", "r1"),
    ("m16n8k256_s32_b1_and", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r4", "r4", "r2"),
    ("m16n8k256_s32_b1_xor", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "r4", "r4", "r2"),
    ("m16n8k32_f32_e4m3", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f4", "r4", "r2"),
    ("m16n8k32_f32_e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", "f4", "r4", "r2"),
    ("sp_m16n8k16_f32_f16", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f4", "r2", "r2"),
    ("sp_m16n8k32_f32_f16", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "f4", "r4", "r4"),
    ("sp_m16n8k32_f16_f16", "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16", "r2", "r4", "r4"),
    ("sp_m16n8k16_f32_tf32", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "f4", "r4", "r4"),
    ("sp_m16n8k32_s32_s8", "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r4", "r2", "r2"),
    ("sp_m16n8k64_s32_s8", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", "r4", "r4", "r4"),
    ("m8n8k4_f32_f16_volta", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "f8", "r2", "r2"),
    ("m8n8k4_f16_f16_volta", "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", "r4", "r2", "r2"),
]
CT = {"f": "float", "r": "unsigned", "d": "double"}
# Zero at run time, but a different value (so a different register) for every operand.
ZERO = {"f": lambda i: f"__int_as_float(arg * {17 + i})", "r": lambda i: f"arg * {17 + i}", "d": lambda i: f"arg * {17 + i}e-300"}
CAST = {"f": "__float_as_uint(d0_{c})", "r": "d0_{c}"}


def mma_op(name, ptx, d, a, b, via):
    """via: acc, a or b - which operand carries the chain."""
    dt, dn, at, an, bt, bn = d[0], int(d[1:]), a[0], int(a[1:]), b[0], int(b[1:])
    sparse = name.startswith("sp_")
    n, grp = 0, []
    def take(k):
        nonlocal n
        s = "{{" + ",".join(f"%{n + i}" for i in range(k)) + "}}"
        n += k
        return s
    ds, as_, bs = take(dn), take(an), take(bn)
    outs = ", ".join(f'"+{dt}"(d{i}_{{c}})' for i in range(dn))
    a_in, b_in = [f"A{i}" for i in range(an)], [f"B{i}" for i in range(bn)]
    if via == "a":
        a_in[0] = CAST[dt] if dt != "d" else "d0_{c}"
    if via == "b":
        b_in[0] = CAST[dt] if dt != "d" else "d0_{c}"
    ins = [f'"{at}"({x})' for x in a_in] + [f'"{bt}"({x})' for x in b_in]
    consts = [(CT[at], f"A{i}", ZERO[at](i)) for i in range(an)] + [(CT[bt], f"B{i}", ZERO[bt](10 + i)) for i in range(bn)]
    if via == "acc":
        cs = ds
    else:
        cs = take(dn)
        ins += [f'"{dt}"(C{i})' for i in range(dn)]
        consts += [(CT[dt], f"C{i}", ZERO[dt](20 + i)) for i in range(dn)]
    text = f"{ptx} {ds},{as_},{bs},{cs}"
    if sparse:
        text += f",%{n},0x0"
        ins.append('"r"(meta)')
        consts.append(("unsigned", "meta", "0x44444444u + (arg & 0x10000)"))
    pre = ""
    if name.endswith(("e4m3", "e5m2")) and via != "a":
        ins[0] = '"r"(e{c})'
        pre = 'asm volatile("add.u32 %0,%0,%1;" : "+r"(e{c}) : "r"(A0));'
    step = pre + 'asm volatile("' + text + ';" : ' + outs + " : " + ", ".join(ins) + ");"
    state = [(CT[dt], f"d{i}_", ZERO[dt](30 + i)) for i in range(dn)] + ([("unsigned", "e", "arg")] if pre else [])
    big = dn * (2 if dt == "d" else 1)
    chains = (1, 2, 4, 8) if big <= 4 else (1, 2, 4)
    return Op(f"mma_{name}" + ("" if via == "acc" else "_via_" + via), step, state, consts,
              chains if via == "acc" else (1,), (16, 48), group="mma")


def mma_ops():
    ops = []
    for m in MMA:
        for via in ("acc", "a", "b"):
            ops.append(mma_op(*m, via))
    k16 = next(m for m in MMA if m[0] == "m16n8k16_f32_f16")
    base = mma_op(*k16, "acc")
    fadd = 'asm volatile("add.rn.f32 %0,%0,%1;" : "+f"(d0_{c}) : "f"(C9));'
    ops.append(Op("mma_m16n8k16_f32_f16_then_fadd", base.step + fadd, base.state,
                  base.consts + [("float", "C9", ZERO["f"](40))], (1,), (16, 48), group="mma"))
    ldsm = ('asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0,%1,%2,%3}},[%4];" : "=r"(w0),"=r"(w1),"=r"(w2),"=r"(w3) : "r"(ad{c}));')
    mma = ('asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%0,%1,%2,%3}},{{%4,%5,%6,%7}},{{%8,%9}},{{%0,%1,%2,%3}};" : '
           '"+f"(d0_{c}),"+f"(d1_{c}),"+f"(d2_{c}),"+f"(d3_{c}) : "r"(w0),"r"(w1),"r"(w2),"r"(w3),"r"(B0),"r"(B1));')
    back = 'asm volatile("lop3.b32 %0,%1,%2,%3,0xea;" : "=r"(ad{c}) : "r"(__float_as_uint(d0_{c})),"r"(zero),"r"(sbase));'
    ops.append(Op("ldsm_x4_mma_lop3_chain", "{ unsigned w0,w1,w2,w3; " + ldsm + mma + back + "}",
                  base.state + [("unsigned", "ad", "sbase")],
                  [("unsigned", "zero", "arg & 0x40000000"), ("unsigned", "sbase", "sm_addr + lane * 16"),
                   ("unsigned", "B0", "arg * 17"), ("unsigned", "B1", "arg * 18")], (1,), (8, 24), group="mma"))
    return ops
