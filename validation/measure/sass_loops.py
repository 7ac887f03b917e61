"""Counts the SASS instructions in the timed loop of every kernel of a cubin.

Needs an nvdisasm that knows sm_90 (NVDISASM names it); reads the .text sections itself, so an
older nvdisasm works on newer cubins too.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

NVDISASM = os.environ.get("NVDISASM", "nvdisasm")


def text_sections(path):
    d = open(path, "rb").read()
    shoff = struct.unpack_from("<Q", d, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", d, 0x3A)
    sec = [struct.unpack_from("<IIQQQQIIQQ", d, shoff + i * size) for i in range(count)]
    for s in sec:
        at = sec[names][4] + s[0]
        name = d[at:d.index(b"\0", at)].decode()
        if name.startswith(".text."):
            yield name[6:], d[s[4]:s[4] + s[5]]


def disassemble(code):
    with tempfile.NamedTemporaryFile(suffix=".bin", delete=False) as f:
        f.write(code)
    r = subprocess.run([NVDISASM, "-b", "SM90", f.name], capture_output=True, text=True)
    os.unlink(f.name)
    out = []
    for m in re.finditer(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", r.stdout):
        out.append((int(m.group(1), 16), m.group(2).strip()))
    return out


def timed_loop(ins):
    """Opcode counts of the longest innermost backward-branch range."""
    best = []
    loops = []
    for at, text in ins:
        m = re.search(r"\bBRA(?:\.\w+)*\s+.*?(0x[0-9a-f]+)", text)
        if m and int(m.group(1), 16) < at:
            loops.append((int(m.group(1), 16), at))
    inner = [l for l in loops if not any(o != l and l[0] <= o[0] and o[1] <= l[1] for o in loops)]
    for lo, hi in inner:
        body = [t for a, t in ins if lo <= a <= hi]
        if len(body) > len(best):
            best = body
    ops = collections.Counter()
    for t in best:
        t = re.sub(r"^@!?U?P\w+\s+", "", t)
        ops[t.split()[0]] += 1
    return dict(ops), best


def main():
    folder = sys.argv[1]
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    cache = {}
    for b in manifest:
        if b["file"] not in cache:
            cache[b["file"]] = {n: timed_loop(disassemble(c))[0] for n, c in text_sections(os.path.join(folder, b["file"]))}
        b["sass"] = [cache[b["file"]].get(k, {}) for k, _ in b["kernels"]]
    json.dump(manifest, open(os.path.join(folder, "manifest.json"), "w"), indent=0)
    for b in manifest:
        if b["chains"] == b.get("show", b["chains"]):
            a, z = b["sass"]
            diff = {k: z.get(k, 0) - a.get(k, 0) for k in z if z.get(k, 0) != a.get(k, 0)}
            steps = b["kernels"][1][1] - b["kernels"][0][1]
            print(b["name"], "c%d" % b["chains"], {k: round(v / steps, 2) for k, v in diff.items()})


if __name__ == "__main__":
    main()
