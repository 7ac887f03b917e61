#!/usr/bin/env python3
"""claims.py TCSIM [--only WORD]: what is said of each generation's tensor cores, reproduced in the simulator, as one table. Where a paper, a
data sheet or the chip gives a number, the table says by how much ours differs. Exit code 1 when a claim does not hold.

A claim is a row of CLAIMS: what is said, who says it, a function that gives our number, theirs, and how far ours may be off.
"""
import argparse
import sys

import gemms
import hopper
import loops

VOLTA = "Tesla V100 whitepaper"
AMPERE = "A100 whitepaper"
BLACKWELL = "PTX ISA, tcgen05; CUTLASS, blackwell_functionality.md"
DEEPSEEK = "DeepSeek-V3 report, arXiv 2412.19437, 3.3.2: increasing accumulation precision"
RATES = "vendor tables of peak rates"


def chip_tflops(tcsim, arch, per_sm_and_cycle):
    m = loops.machine(tcsim, arch)
    return per_sm_and_cycle * m["sms"] * m["clock_mhz"] * 1e-6


def v100_ffma(t): return chip_tflops(t, "v100", loops.ffma_rate(t, "v100", 70))
def v100_tensor(t): return chip_tflops(t, "v100", loops.mma_rate(t, "v100", "m8n8k4.f32.f16", 70))


def a100_interval(t):
    """Cycles between two m16n8k16 on a sub-core: four sub-cores share the SM's rate."""
    return 4 * loops.MMA["m16n8k16.f32.f16"][4] / loops.mma_rate(t, "a100", "m16n8k16.f32.f16", 80)


def a100_tensor(t): return chip_tflops(t, "a100", loops.mma_rate(t, "a100", "m16n8k16.f32.f16", 80))


def a100_register_bytes(read):
    """Fragments of the instruction in registers (32 bits a lane each; A, B, C read, D written), over its interval."""
    _, reads, writes = loops.mma_body("m16n8k16.f32.f16")
    return lambda t: 4 * loops.LANES * (reads if read else writes) / a100_interval(t)


def a100_step(narrow, wide):
    return lambda t: loops.mma_rate(t, "a100", narrow, 80) / loops.mma_rate(t, "a100", wide, 80)


def promotion_repairs(t): return gemms.sum_error(t, "h100", "hopper-ws", 16384) / gemms.sum_error(t, "h100", "hopper-ws", 16384, "--promote")
def grows_with_k(t): return gemms.sum_error(t, "h100", "hopper-ws", 16384) / gemms.sum_error(t, "h100", "hopper-ws", 1024)


# what is said, who says it, our number(tcsim), theirs (None: said in words), least and largest ours that still says the same, unit
CLAIMS = [
    ("V100: FFMA", VOLTA, v100_ffma, 15.7, 15.2, 15.9, "TFLOPS"),
    ("V100: tensor cores, mma.m8n8k4", VOLTA, v100_tensor, 125, 121, 126, "TFLOPS"),
    ("A100: a sub-core takes an m16n8k16 every", AMPERE, a100_interval, 8, 7.9, 8.2, "cycles"),
    ("A100: so the chip does", AMPERE, a100_tensor, 312, 305, 313, "TFLOPS"),
    ("A100: and a sub-core reads of its registers in a cycle", AMPERE, a100_register_bytes(True), 160, 156, 162, "B"),
    ("A100: and writes", AMPERE, a100_register_bytes(False), 64, 62, 65, "B"),
    ("A100: f16 over tf32", RATES, a100_step("m16n8k16.f32.f16", "m16n8k8.f32.tf32"), 2, 1.95, 2.05, "x"),
    ("A100: s8 over f16", RATES, a100_step("m16n8k32.s32.s8", "m16n8k16.f32.f16"), 2, 1.95, 2.05, "x"),
    ("A100: s4 over s8", RATES, a100_step("m16n8k64.s32.s4", "m16n8k32.s32.s8"), 2, 1.95, 2.05, "x"),
    ("H100: f16 over tf32, wgmma, GEMMs of the same bytes", RATES, gemms.step("h100", "hopper-ws", "tf32", "f16"), 2, 1.85, 2.1, "x"),
    ("H100: e4m3 over f16", RATES, gemms.step("h100", "hopper-ws", "f16", "e4m3"), 2, 1.85, 2.1, "x"),
    ("H100: e4m3 sums of K = 16384 lose bits (error over that with promotion every 128)", DEEPSEEK, promotion_repairs, None, 4, 1e6, "x"),
    ("H100: they lose more the longer K is (error at 16384 over 1024)", DEEPSEEK, grows_with_k, None, 1.5, 1e6, "x"),
    ("H100: promotion every 128 keeps the error small at any K (at 16384)", DEEPSEEK, lambda t: gemms.sum_error(t, "h100", "hopper-ws", 16384, "--promote"), None, 0, 5e-4, "of |C|"),
    ("B200: f16 over tf32, tcgen05, while the tensor cores work", RATES, gemms.rate_over("b200", "blackwell", "f16", "b200", "blackwell", "tf32"), 2, 1.95, 2.05, "x"),
    ("B200: e4m3 over f16", RATES, gemms.rate_over("b200", "blackwell", "e4m3", "b200", "blackwell", "f16"), 2, 1.95, 2.05, "x"),
    ("B200: mxfp4 over e4m3", RATES, gemms.rate_over("b200", "blackwell", "mxfp4", "b200", "blackwell", "e4m3"), 2, 1.95, 2.05, "x"),
    ("B200: mxfp4 over e4m3 as GEMMs of the same bytes (one CTA a tile: L2 to the SM binds)", RATES, gemms.step("b200", "blackwell", "e4m3", "mxfp4"), 2, 1.75, 2.1, "x"),
    ("B200: mxfp4 on tcgen05 over e4m3 on H100's wgmma, an SM and cycle", RATES, gemms.rate_over("b200", "blackwell", "mxfp4", "h100", "hopper-ws", "e4m3"), 4, 3.9, 4.1, "x"),
    ("B200: a CTA pair loads B once instead of twice (bytes of B from L2 to the SMs)", BLACKWELL, gemms.pair_b_bytes, 2, 1.98, 2.02, "x"),
    ("B200: e4m3 sums need no promotion (error at K = 16384)", BLACKWELL, lambda t: gemms.sum_error(t, "b200", "blackwell", 16384), None, 0, 5e-4, "of |C|"),
    ("B200: accumulators of m128n256 fill of Tensor Memory", BLACKWELL, lambda t: gemms.tmem_columns(t, "blackwell"), 0.5, 0.5, 0.5, ""),
    ("B200: so two sets of them fill", BLACKWELL, lambda t: gemms.tmem_columns(t, "blackwell-ws"), 1, 1, 1, ""),
    ("B200: and storing one while the other fills hides the epilogue (cycles without over with, K = 512)", BLACKWELL, gemms.epilogue_hidden, None, 1.05, 2, "x"),
]


def rows(tcsim, only):
    """The claims with our number, or with why there is none."""
    for text, source, ours, theirs, least, largest, unit in CLAIMS:
        if only not in text:
            continue
        try:
            number = ours(tcsim)
        except RuntimeError as error:
            number = error
        yield text, source, number, theirs, least, largest, unit
    for text, source, ours, theirs, least, largest in hopper.rows(tcsim, only):
        yield text, source, ours, theirs, least, largest, "x"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tcsim")
    arguments.add_argument("--only", default="", help="claims whose text contains this")
    given = arguments.parse_args()
    print("| claim | source | said | simulated | differs by | holds in |\n| --- | --- | --- | --- | --- | --- |")
    failed = 0
    for text, source, ours, theirs, least, largest, unit in rows(given.tcsim, given.only):
        if isinstance(ours, RuntimeError):
            failed += 1
            print(f"| {text} | {source} | - | FAILS: {ours} | - | - |", flush=True)
            continue
        holds = least <= ours <= largest
        failed += not holds
        said, differs = ("-", "-") if theirs is None else (f"{theirs:.4g} {unit}", f"{100 * (ours / theirs - 1):+.1f} %")
        print(f"| {text} | {source} | {said} | {ours:.4g} {unit}{'' if holds else ' FAILS'} | {differs} | {least:.4g} to {largest:.4g} |", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
