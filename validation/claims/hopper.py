"""What is said of Hopper's asynchronous copies and warp specialisation, checked in the simulator and on the H200: the number beside ours is the
chip's, of the same kernels.

The kernels are those of ../data, simulated in timing mode with the registers that ptxas gave them (tcsim validate).
"""
import json
import os
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
HOPPER_PAPER = "benchmarks of Hopper, such as Luo et al., arXiv 2501.12084"
STAGES_PAPER = "warp-specialising compilers, such as Tawa, arXiv 2510.14719"
CUTLASS = "CUTLASS, efficient_gemm.md: ping-pong"

# claim, source, formula of the cycles of (data set, case, size), range in which it holds
TMA = lambda tile, s, size="1024": ("triton_tma", f"tma_{tile}_s{s}_w4", size)
PTR = lambda tile, s, size="1024": ("triton_wgmma", f"ptr_{tile}_s{s}_w4", size)
OWN = lambda case, size="2048": ("own_gemm_hopper", case, size)
CLAIMS = [
    ("waiting right after each TMA load brings nothing over cp.async (cp.async / TMA)", HOPPER_PAPER, [PTR("64x64x64", 1), TMA("64x64x64", 1)], lambda a, t: a / t, 0.75, 1.0),
    ("the same, 128x128", HOPPER_PAPER, [PTR("128x128x64", 1), TMA("128x128x64", 1)], lambda a, t: a / t, 0.75, 1.0),
    ("two TMA stages bring up to about 1.7x at low arithmetic intensity (1 / 2 stages)", HOPPER_PAPER, [TMA("64x64x64", 1), TMA("64x64x64", 2)], lambda a, b: a / b, 1.4, 1.8),
    ("one to two stages brings most of what stages bring (share of the cycles that 4 save)", STAGES_PAPER, [TMA("128x128x64", s, "512") for s in (1, 2, 4)],
     lambda a, b, c: (a - b) / (a - c), 0.5, 1.0),
    ("the same, 64x64", STAGES_PAPER, [TMA("64x64x64", s, "512") for s in (1, 2, 4)], lambda a, b, c: (a - b) / (a - c), 0.5, 1.0),
    ("persistent ping-pong hides the epilogue (one tile a CTA / ping-pong, 2 tiles a CTA)", CUTLASS, [OWN("ws_128x128x64_s4"), OWN("pp_128x128x64_s4")], lambda a, b: a / b, 1.02, 1.3),
    ("and gains little over cooperative where L2 binds", CUTLASS, [OWN("coop_128x128x64_s4"), OWN("pp_128x128x64_s4")], lambda a, b: a / b, 0.95, 1.1),
]


def simulate(tcsim, wanted):
    """{(set, case, size): (simulated, measured cycles)}"""
    out = {}
    for data, case, size in sorted(wanted):
        run = subprocess.run([tcsim, "validate", "--data", os.path.join(DATA, data), "--kernel", case, "--size", size, "--quiet", "--json", "-"], capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{case}: exit code {run.returncode}: {run.stderr[:300]}")
        for row in json.loads(run.stdout)["rows"]:
            if row["case"] == case:
                out[data, case, size] = row["cycles"], row["measured_cycles"]
    return out


def rows(tcsim, only=""):
    """(claim, source, simulated, H200's own, least, largest) one after the other."""
    claims = [claim for claim in CLAIMS if only in claim[0]]
    took = simulate(tcsim, {kernel for claim in claims for kernel in claim[2]})
    for text, source, kernels, formula, least, largest in claims:
        simulated, measured = (formula(*(took[k][i] for k in kernels)) for i in (0, 1))
        yield text, source, simulated, measured, least, largest
