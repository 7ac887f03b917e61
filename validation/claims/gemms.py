"""GEMMs of the generators, as simulated: rates, bytes, errors of the sum."""
import json
import os
import re
import subprocess
import tempfile

ELEMENT_BITS = {"tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "mxfp8": 8, "mxfp4": 4, "nvfp4": 4}
TMEM_COLUMNS = 512  # of 128 lanes (PTX ISA, Tensor Memory)
CHECK_FAILED = 4    # exit code: the sum is off by more than the check allows, which some claims are about


def report(tcsim, *arguments):
    """The JSON report of `tcsim gemm`."""
    out = subprocess.run([tcsim, "gemm", *map(str, arguments), "--json", "-", "--quiet"], capture_output=True, text=True)
    if out.returncode not in (0, CHECK_FAILED):
        raise RuntimeError(f"gemm {' '.join(map(str, arguments))}: exit code {out.returncode}: {out.stderr[:300]}")
    return json.loads(out.stdout)


def timed(tcsim, arch, style, m, n, k, *more):
    return report(tcsim, "--arch", arch, "--style", style, "-m", m, "-n", n, "-k", k, "--mode", "timing", *more)


def same_bytes(tcsim, arch, style, dtype, tile=(128, 256), row_bytes=128, steps=64):
    """Operations a cycle of one wave of tiles; K is so many steps of row_bytes, whatever the type, beyond half as many: the steady state."""
    element = 8 * row_bytes // ELEMENT_BITS[dtype]
    cycles = []
    for count in (steps // 2, steps):
        k = count * element
        cycles.append(timed(tcsim, arch, style, 2 * tile[0], 2 * tile[1], k, "--dtype", dtype, "--tile", f"{tile[0]}x{tile[1]}x{element}", "--stages", 3)["cycles"])
    return 2 * 4 * tile[0] * tile[1] * (steps // 2) * element / (cycles[1] - cycles[0])


def step(arch, style, wide, narrow):
    """How many times as fast the narrow type is."""
    return lambda tcsim: same_bytes(tcsim, arch, style, narrow) / same_bytes(tcsim, arch, style, wide)


def tensor_rate(tcsim, arch, style, dtype, tile=(128, 256), row_bytes=128, stages=3):
    """Operations of an SM in a cycle in which its tensor cores work, in a GEMM: what it loads does not count."""
    element = 8 * row_bytes // ELEMENT_BITS[dtype]
    row = report(tcsim, "--arch", arch, "--style", style, "--dtype", dtype, "-m", 2 * tile[0], "-n", 2 * tile[1], "-k", 4 * element, "--tile", f"{tile[0]}x{tile[1]}x{element}",
                 "--stages", stages, "--cluster", "1x1", "--best")["rows"][0]
    if "failure" in row:
        raise RuntimeError(row["failure"])
    return row["peak_operations_per_sm_cycle"]


def rate_over(arch_a, style_a, dtype_a, arch_b, style_b, dtype_b):
    return lambda tcsim: tensor_rate(tcsim, arch_a, style_a, dtype_a) / tensor_rate(tcsim, arch_b, style_b, dtype_b)


def bytes_to_sms(tcsim, style, m=512, n=256, k=1024):
    """What crosses from L2 to the SMs for tiles of 128 x 256 of a CTA."""
    return timed(tcsim, "b200", style, m, n, k, "--tile", "128x256x64", "--stages", 4)["metrics"]["l1tex__m_xbar2l1tex_read_bytes.sum"]


def pair_b_bytes(tcsim, m=512, n=256, k=1024):
    """B's bytes with one CTA a tile over those with pairs: A's are the same, each row once."""
    a = 2 * m * k
    return (bytes_to_sms(tcsim, "blackwell") - a) / (bytes_to_sms(tcsim, "blackwell-2cta") - a)


def sum_error(tcsim, arch, style, k, *more):
    """|C - exact| / |exact| over all elements, of an e4m3 GEMM with normal operands."""
    return report(tcsim, "--arch", arch, "--style", style, "-m", 128, "-n", 64, "-k", k, "--dtype", "e4m3", "--tile", "128x64x128", "--mode", "functional", *more)["check"]["rel_l2"]


def tmem_columns(tcsim, style):
    """Columns that the kernel allocates, of those that there are; its tiles are 128 x 256 with f32 accumulators."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gemm.ptx")
        subprocess.run([tcsim, "gemm", "--arch", "b200", "--style", style, "-m", "256", "-n", "512", "-k", "256", "--tile", "128x256x64", "--emit-ptx", path, "--no-run"], check=True)
        text = open(path).read()
    columns = re.search(r"tcgen05\.alloc[^;]*,\s*(\d+)\s*;", text)
    return int(columns.group(1)) / TMEM_COLUMNS


def epilogue_hidden(tcsim, tiles=4):
    """Tiles one after the other on each SM, short K: each CTA stores before the next begins, over the epilogue of one tile beside the next."""
    sizes = ("-m", 2048, "-n", 37 * 64 * tiles, "-k", 512)  # 16 x 37 tiles of 128 x 256: `tiles` on each of 148 SMs
    cycles = [report(tcsim, "--arch", "b200", "--style", style, *sizes, "--mode", "timing", "--tile", "128x256x64", "--stages", 4)["cycles"] for style in ("blackwell", "blackwell-ws")]
    return cycles[0] / cycles[1]
