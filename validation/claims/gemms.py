"""GEMMs of the generators, as simulated: rates, bytes, errors of the sum."""
import json
import subprocess

ELEMENT_BITS = {"tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "mxf8": 8, "mxf4": 4, "nvf4": 4}


def report(tcsim, *arguments):
    """The JSON report of `tcsim gemm`."""
    out = subprocess.run([tcsim, "gemm", *map(str, arguments), "--json", "-", "--quiet"], capture_output=True, text=True)
    if out.returncode:
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
        cycles.append(timed(tcsim, arch, style, 2 * tile[0], 2 * tile[1], k, "--dtype", dtype, "--tile", f"{tile[0]}x{tile[1]}x{element}", "--stages", 4)["cycles"])
    return 2 * 4 * tile[0] * tile[1] * (steps // 2) * element / (cycles[1] - cycles[0])


def step(arch, style, wide, narrow):
    """How many times as fast the narrow type is."""
    return lambda tcsim: same_bytes(tcsim, arch, style, narrow) / same_bytes(tcsim, arch, style, wide)
