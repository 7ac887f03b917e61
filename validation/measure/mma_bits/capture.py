#!/usr/bin/env python3
"""Captures result bits of mma.sync, mma.sp, wmma, ldmatrix, stmatrix and movmatrix, and the lane layout of wmma.load.

Needs a GPU of compute capability 9.0, ptxas, numpy and cupy.   capture.py OUT_DIR [TILES]
Per case OUT_DIR/<name>/: kernel.ptx, case.json, a.bin b.bin c.bin [e.bin] d.bin: little-endian words [tile][register][lane].
Operands of a tile by tile % 6: 0 raw bits, 1 normals, 2 wide exponents, 3 cancellation and subnormals,
4 products near the smallest exponents, 5 zeros of both signs and infinities among small values.
"""
import json, os, subprocess, sys, tempfile
import numpy as np
import cupy

FLOATS = {  # bits, mantissa bits, exponent bias
    "f16": (16, 10, 15), "bf16": (16, 7, 127), "tf32": (32, 23, 127), "f32": (32, 23, 127), "f64": (64, 52, 1023),
    "e4m3": (8, 3, 7), "e5m2": (8, 2, 15)}
INTS = {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32, "b16": 16}


def bits_of(t): return FLOATS[t][0] if t in FLOATS else INTS[t]


def elements(t, n, kind, role, rng):
    w = bits_of(t)
    raw = rng.integers(0, 1 << w, n, dtype=np.uint64) if w < 64 else rng.integers(0, 1 << 63, n, dtype=np.uint64) * 2
    if kind == 0 or t not in FLOATS: return raw
    _, m, bias = FLOATS[t]
    ebits = w - 1 - m
    emax = (1 << ebits) - 2
    sign = rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(w - 1)
    man = rng.integers(0, 1 << m, n, dtype=np.uint64)
    if kind == 1: e = bias + np.round(np.log2(np.abs(rng.standard_normal(n)) + 1e-4)).astype(int)
    elif kind == 2: e = rng.integers(1, emax + 1, n) if ebits < 6 else rng.integers(bias - 40, bias + 41, n)
    elif kind == 3:
        e = np.where(rng.random(n) < 0.25, rng.integers(0, 2, n) if ebits < 6 else bias - 3, bias + rng.integers(-1, 2, n))
        e = np.where(rng.random(n) < 0.08, min(emax, bias + 10), e)
        man = np.where(rng.random(n) < 0.6, man & np.uint64(1 << (m - 1)), man)
    elif kind == 4:
        if role == "c":
            lo = {"f16": 0, "f32": 0}.get(t, 0)
            e = rng.integers(lo, lo + 3, n) if t == "f16" else rng.integers(0, 12, n)
            if t == "f32" and rng.random() < 0.5: e = e * 0
            if rng.random() < 0.4: e, man = e * 0, man * np.uint64(0)
        elif ebits == 8:
            centre = rng.integers(-74, -58)
            e = bias + centre + rng.integers(-3, 4, n)
        else: e = np.maximum(0, rng.integers(-2, 6, n))
    else:
        c = rng.random(n)
        e = np.where(c < 0.5, 0, bias + rng.integers(-1, 2, n))
        man = np.where(c < 0.5, np.uint64(0), man)
        if rng.random() < 0.5:
            e = np.where(c > 0.985, (1 << ebits) - 1, e)
            man = np.where((c > 0.985), np.uint64(0), man)
        if rng.random() < 0.3: e, man = e * 0, man * np.uint64(0)
    e = np.clip(e, 0, (1 << ebits) - 1).astype(np.uint64)
    return sign | (e << np.uint64(m)) | man


def words(t, regs, tiles, role, rng):
    w = bits_of(t)
    word = 64 if w == 64 else 32
    per = word // w
    out = np.zeros((tiles, regs, 32), np.uint64)
    for tile in range(tiles):
        v = elements(t, regs * 32 * per, tile % 6, role, rng).reshape(regs, 32, per)
        for i in range(per): out[tile] |= v[:, :, i] << np.uint64(i * w)
    return out.astype(np.uint64 if word == 64 else np.uint32)


def metadata(t, tiles, rng):
    legal = np.array([4, 14] if t == "tf32" else [4, 8, 9, 12, 13, 14], np.uint32)
    out = np.zeros((tiles, 1, 32), np.uint32)
    for i in range(8): out |= rng.choice(legal, (tiles, 1, 32)).astype(np.uint32) << np.uint32(4 * i)
    return out


def kernel(target, instruction, ops, tail=""):
    """ops: list of (letter, registers, word bits); 'd' is the last one."""
    params = ", ".join(f".param .u64 p{l}" for l, _, _ in ops)
    body, regs = [], []
    for i, (l, n, w) in enumerate(ops):
        regs.append(f".reg .b{w} %{l}<{n + 1}>;")
        body.append(f"ld.param.u64 %q0, [p{l}]; cvta.to.global.u64 %q0, %q0; mul.lo.u32 %r2, %r1, {n * 4 * w};"
                    f" mad.lo.u32 %r2, %r0, {w // 8}, %r2; cvt.u64.u32 %q1, %r2; add.u64 %q{10 + i}, %q0, %q1;")
        if l != "d": body += [f"ld.global.b{w} %{l}{j}, [%q{10 + i}+{j * 4 * w}];" for j in range(n)]
    body.append(instruction)
    last = 10 + len(ops) - 1
    l, n, w = ops[-1]
    body += [f"st.global.b{w} [%q{last}+{j * 4 * w}], %{l}{j};" for j in range(n)]
    return (f".version 8.7\n.target {target}\n.address_size 64\n.visible .entry k({params})\n{{\n"
            f"  .reg .b32 %r<16>; .reg .b64 %q<32>;\n  " + " ".join(regs) +
            "\n  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n  " + "\n  ".join(body) + "\n  ret;\n}\n")


def vec(l, n): return "{" + ",".join(f"%{l}{i}" for i in range(n)) + "}"


def load(ptx, target, where):
    path = os.path.join(where, "kernel.ptx")
    open(path, "w").write(ptx)
    load.count = getattr(load, "count", 0) + 1
    cubin = os.path.join(tempfile.gettempdir(), f"k{load.count}.cubin")  # cupy keeps modules by path: every kernel needs its own
    arch = "sm_90a" if target in ("sm_90", "sm_89", "sm_75", "sm_80", "sm_70", "sm_90a") else target
    r = subprocess.run(["ptxas", f"-arch={arch}", path, "-o", cubin], capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr)
    return cupy.RawModule(path=cubin).get_function("k")


def run_case(out, name, target, instruction, inputs, d, tiles, note=None):
    """inputs: dict letter -> array [tile][reg][lane]; d: (registers, word bits)."""
    where = os.path.join(out, name)
    os.makedirs(where, exist_ok=True)
    ops = [(l, a.shape[1], a.dtype.itemsize * 8) for l, a in inputs.items()] + [("d", d[0], d[1])]
    k = load(kernel(target, instruction, ops), target, where)
    dev = [cupy.asarray(a) for a in inputs.values()]
    res = cupy.zeros((tiles, d[0], 32), cupy.uint64 if d[1] == 64 else cupy.uint32)
    k((tiles,), (32,), (*dev, res))
    cupy.cuda.Device().synchronize()
    for l, a in inputs.items(): a.tofile(f"{where}/{l}.bin")
    cupy.asnumpy(res).tofile(f"{where}/d.bin")
    info = {"instruction": instruction.split(" ")[0] if not note else note, "threads": 32, "tiles": tiles,
            "word_bytes": d[1] // 8, "target": target}
    for l, a in inputs.items(): info[f"{l}_words_per_lane"] = a.shape[1]
    info["d_words_per_lane"] = d[0]
    json.dump(info, open(f"{where}/case.json", "w"), indent=1)


def mma_cases():
    """(name, target, mnemonic, atype, a regs, btype, b regs, ctype, c regs, dtype, d regs, selector or None)"""
    acc = {"f32": 4, "f16": 2, "s32": 4}
    def case(shape, d, a, b, c, ar, br, cr, target="sm_80", mid="", tail="", layout="row.col", sp=None, tag=""):
        name = f"{shape}_{d}_{a}_{b}" + (f"_{c}" if c != d else "") + tag + (f"_sp{sp}" if sp is not None else "")
        head = "mma.sp::ordered_metadata" if sp is not None else "mma"
        return (name, target, f"{head}.sync.aligned.{shape}.{layout}{mid}.{d}.{a}.{b}.{c}{tail}", a, ar, b, br, c, cr, d, cr, sp)
    L = []
    for la in ("row", "col"):
        for lb in ("row", "col"):
            L.append(case("m8n8k4", "f32", "f16", "f16", "f32", 2, 2, 8, "sm_75", layout=f"{la}.{lb}", tag=f"_{la}_{lb}"))
            L.append(case("m8n8k4", "f16", "f16", "f16", "f16", 2, 2, 4, "sm_75", layout=f"{la}.{lb}", tag=f"_{la}_{lb}"))
    for d in ("f32", "f16"):
        L += [case("m16n8k8", d, "f16", "f16", d, 2, 1, acc[d]), case("m16n8k16", d, "f16", "f16", d, 4, 2, acc[d])]
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                L += [case("m16n8k32", d, a, b, d, 4, 2, acc[d], "sm_90"), case("m16n8k16", d, a, b, d, 2, 1, acc[d], "sm_90")]
    L += [case("m16n8k8", "f32", "bf16", "bf16", "f32", 2, 1, 4), case("m16n8k16", "f32", "bf16", "bf16", "f32", 4, 2, 4),
          case("m16n8k4", "f32", "tf32", "tf32", "f32", 2, 1, 4), case("m16n8k8", "f32", "tf32", "tf32", "f32", 4, 2, 4)]
    L += [case("m8n8k4", "f64", "f64", "f64", "f64", 1, 1, 2), case("m16n8k4", "f64", "f64", "f64", "f64", 2, 1, 4, "sm_90"),
          case("m16n8k8", "f64", "f64", "f64", "f64", 4, 2, 4, "sm_90"), case("m16n8k16", "f64", "f64", "f64", "f64", 8, 4, 4, "sm_90")]
    for a, b, sat in (("s8", "s8", ""), ("u8", "s8", ".satfinite"), ("s8", "u8", ""), ("u8", "u8", ".satfinite")):
        tag = "_sat" if sat else ""
        L += [case("m8n8k16", "s32", a, b, "s32", 1, 1, 2, mid=sat, tag=tag), case("m16n8k16", "s32", a, b, "s32", 2, 1, 4, mid=sat, tag=tag),
              case("m16n8k32", "s32", a, b, "s32", 4, 2, 4, mid=sat, tag=tag)]
        a, b = a[0] + "4", b[0] + "4"
        L += [case("m8n8k32", "s32", a, b, "s32", 1, 1, 2, mid=sat, tag=tag), case("m16n8k32", "s32", a, b, "s32", 2, 1, 4, mid=sat, tag=tag),
              case("m16n8k64", "s32", a, b, "s32", 4, 2, 4, mid=sat, tag=tag)]
    for op in ("xor", "and"):
        L += [case("m8n8k128", "s32", "b1", "b1", "s32", 1, 1, 2, tail=f".{op}.popc", tag="_" + op),
              case("m16n8k128", "s32", "b1", "b1", "s32", 2, 1, 4, tail=f".{op}.popc", tag="_" + op),
              case("m16n8k256", "s32", "b1", "b1", "s32", 4, 2, 4, tail=f".{op}.popc", tag="_" + op)]
    for t in ("f16", "bf16"):
        for d in (("f32", "f16") if t == "f16" else ("f32",)):
            L += [case("m16n8k16", d, t, t, d, 2, 2, acc[d], sp=s) for s in range(4)]
            L += [case("m16n8k32", d, t, t, d, 4, 4, acc[d], sp=s) for s in range(2)]
    L += [case("m16n8k8", "f32", "tf32", "tf32", "f32", 2, 2, 4, sp=s) for s in range(4)]
    L += [case("m16n8k16", "f32", "tf32", "tf32", "f32", 4, 4, 4, sp=s) for s in range(2)]
    for a, b, sat in (("s8", "s8", ""), ("u8", "s8", ".satfinite")):
        L += [case("m16n8k32", "s32", a, b, "s32", 2, 2, 4, mid=sat, sp=s) for s in range(2)]
        L += [case("m16n8k64", "s32", a, b, "s32", 4, 4, 4, mid=sat, sp=0)]
        a, b = a[0] + "4", b[0] + "4"
        L += [case("m16n8k64", "s32", a, b, "s32", 2, 2, 4, mid=sat, sp=s) for s in range(2)]
        L += [case("m16n8k128", "s32", a, b, "s32", 4, 4, 4, mid=sat, sp=0)]
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
        L.append(case("m16n8k64", "f32", a, b, "f32", 4, 4, 4, "sm_90", sp=0))
    return L


WMMA = [  # type, shape, (a regs, b regs), accumulators {type: regs}, layouts
    ("f16", "m16n16k16", (8, 8), {"f16": 4, "f32": 8}), ("f16", "m32n8k16", (8, 8), {"f16": 4, "f32": 8}),
    ("f16", "m8n32k16", (8, 8), {"f16": 4, "f32": 8}),
    ("bf16", "m16n16k16", (4, 4), {"f32": 8}), ("bf16", "m32n8k16", (8, 2), {"f32": 8}), ("bf16", "m8n32k16", (2, 8), {"f32": 8}),
    ("s8", "m16n16k16", (2, 2), {"s32": 8}), ("s8", "m32n8k16", (4, 1), {"s32": 8}), ("s8", "m8n32k16", (1, 4), {"s32": 8}),
    ("u8", "m16n16k16", (2, 2), {"s32": 8}), ("tf32", "m16n16k8", (4, 4), {"f32": 8}), ("f64", "m8n8k4", (1, 1), {"f64": 2}),
    ("s4", "m8n8k32", (1, 1), {"s32": 2}), ("b1", "m8n8k128", (1, 1), {"s32": 2})]


def wmma_layouts(out):
    result = {}
    for t, shape, (ar, br), accs in WMMA:
        m, n, k = (int(x) for x in shape.replace("m", "").replace("n", " ").replace("k", " ").split())
        pending = [("a", t, ar, m, k), ("b", t, br, k, n)] + [("c", ct, cr, m, n) for ct, cr in accs.items()]
        for op, et, regs, rows, cols in pending:
            w = bits_of(et)
            word = 64 if w == 64 else 32
            per = word // w
            for layout in ("row", "col"):
                if op != "c" and w < 8 and layout != ("row" if op == "a" else "col"): continue
                stride = cols if layout == "row" else rows
                passes = max(1, -(-10 // w))
                index = np.zeros((regs, 32, per), np.int64)
                for p in range(passes):
                    i = np.arange(rows * cols, dtype=np.uint64)
                    e = (i >> np.uint64(p * w)) & np.uint64((1 << w) - 1 if w < 64 else 2**64 - 1)
                    mem = np.zeros(rows * cols // per, np.uint64)
                    for s in range(per): mem |= e[s::per] << np.uint64(s * w)
                    mem = mem.astype(np.uint64 if word == 64 else np.uint32).reshape(1, 1, -1)
                    sub = ".b1" if et == "b1" else "." + et
                    inst = f"wmma.load.{op}.sync.aligned.{layout}.{shape}.global{sub} {vec('d', regs)}, [%q20], {stride};"
                    ptx = kernel("sm_90", "ld.param.u64 %q20, [pa]; cvta.to.global.u64 %q20, %q20;\n  " + inst, [("a", 0, word), ("d", regs, word)])
                    f = load(ptx, "sm_90", tempfile.gettempdir())
                    res = cupy.zeros((regs, 32), cupy.uint64 if word == 64 else cupy.uint32)
                    f((1,), (32,), (cupy.asarray(mem), res))
                    got = cupy.asnumpy(res).astype(np.uint64)
                    for s in range(per):
                        index[:, :, s] |= (((got >> np.uint64(s * w)) & np.uint64((1 << w) - 1 if w < 64 else 2**64 - 1)) << np.uint64(p * w)).astype(np.int64)
                rc = [[[(int(v) // stride, int(v) % stride) if layout == "row" else (int(v) % stride, int(v) // stride) for v in lane] for lane in reg] for reg in index]
                result[f"wmma.{shape}.{et}.{op}.{layout}" + (f".{t}" if op == "c" else "")] = rc
    json.dump(result, open(f"{out}/wmma_layouts.json", "w"))


def wmma_cases(out, tiles, rng):
    for t, shape, (ar, br), accs in WMMA:
        for layouts in (("row.col", "row.row", "col.col", "col.row") if t in ("f16",) else ("row.col",)):
            for ct, cr in accs.items():
                w = 64 if ct == "f64" else 32
                tail = f".{ct}" if t in ("f16",) else ""
                types = f".{ct}.{ct}" if t == "f16" else f".{ct}.{t}.{t}.{ct}"
                op = ".xor.popc" if t == "b1" else ""
                inst = f"wmma.mma{op}.sync.aligned.{layouts}.{shape}{types} {vec('d', cr)}, {vec('a', ar)}, {vec('b', br)}, {vec('c', cr)};"
                name = f"wmma_{shape}_{ct}_{t}" + ("_" + layouts.replace(".", "_") if t == "f16" else "")
                try:
                    run_case(out, name, "sm_90", inst, {"a": words(t, ar, tiles, "a", rng), "b": words(t, br, tiles, "b", rng),
                             "c": words(ct, cr, tiles, "c", rng)}, (cr, w), tiles)
                except RuntimeError as err: print(name, err)


def move_cases(out, rng):
    """ldmatrix and stmatrix through shared memory: 512 words are filled from a, lane i gives the address of row e[i]."""
    for n in (1, 2, 4):
        for trans in ("", ".trans"):
            a = rng.integers(0, 2**32, (4, 16, 32), dtype=np.uint32)
            rows = np.stack([rng.permutation(128)[:32] for _ in range(4)]).astype(np.uint32).reshape(4, 1, 32)
            fill = "\n  ".join(f"st.shared.b32 [%r5+{128 * i}], %a{i};" for i in range(16))
            pre = (".shared .align 16 .b8 s[2048];\n  mov.u32 %r4, s; shl.b32 %r5, %r0, 2; add.u32 %r5, %r5, %r4;\n  " + fill +
                   "\n  bar.sync 0; shl.b32 %r6, %e0, 4; add.u32 %r6, %r6, %r4;\n  ")
            run_case(out, f"ldmatrix_x{n}{trans.replace('.', '_')}", "sm_90", pre + f"ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {vec('d', n)}, [%r6];",
                     {"a": a, "e": rows}, (n, 32), 4, f"ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16")
            c = rng.integers(0, 2**32, (4, n, 32), dtype=np.uint32)
            post = (f"stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%r6], {vec('c', n)};\n  bar.sync 0;\n  " +
                    "\n  ".join(f"ld.shared.b32 %d{i}, [%r5+{128 * i}];" for i in range(16)))
            run_case(out, f"stmatrix_x{n}{trans.replace('.', '_')}", "sm_90", pre + post, {"a": a, "c": c, "e": rows}, (16, 32), 4,
                     f"stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16")
    run_case(out, "movmatrix", "sm_90", "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", {"a": rng.integers(0, 2**32, (4, 1, 32), dtype=np.uint32)}, (1, 32), 4)


def main():
    out, tiles = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 48
    os.makedirs(out, exist_ok=True)
    rng = np.random.default_rng(14)
    try: wmma_layouts(out)
    except Exception as err: print("layouts", err)
    for name, target, mn, at, ar, bt, br, ct, cr, dt, dr, sp in mma_cases():
        w = 64 if dt == "f64" else 32
        inputs = {"a": words(at, ar, tiles, "a", rng), "b": words(bt, br, tiles, "b", rng), "c": words(ct, cr, tiles, "c", rng)}
        inst = f"{mn} {vec('d', dr)}, {vec('a', ar)}, {vec('b', br)}, {vec('c', cr)}"
        if sp is not None:
            inputs["e"] = metadata(at, tiles, rng)
            inst += f", %e0, {sp}"
        try: run_case(out, name, target, inst + ";", inputs, (dr, w), tiles)
        except RuntimeError as err: print(name, err)
    for step in (lambda: wmma_cases(out, tiles, rng), lambda: move_cases(out, rng)):
        try: step()
        except Exception as err: print(err)


main()
