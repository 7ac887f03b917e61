"""Kernels of one instruction in a loop: how many operations an SM does in a cycle, as simulated. A difference of two lengths cancels the launch."""
import json
import os
import re
import subprocess
import tempfile

LANES = 32

# name -> (the instruction with its operands in braces; {D} {A} {B} {C} become registers), registers a lane of each, operations of a warp
MMA = {
    "m8n8k4.f32.f16": ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 8, 2, 2, 4 * 2 * 8 * 8 * 4),  # four quad pairs
    "m16n8k8.f32.f16": ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 4, 2, 1, 2 * 16 * 8 * 8),
    "m16n8k8.f32.tf32": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, 2 * 16 * 8 * 8),
    "m16n8k16.f32.f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 4, 2, 2 * 16 * 8 * 16),
    "m16n8k32.s32.s8": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 4, 2, 2 * 16 * 8 * 32),
    "m16n8k64.s32.s4": ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 4, 4, 2, 2 * 16 * 8 * 64),
}
CHAINS, WARPS = 4, 8  # independent accumulators a warp; warps an SM, two a sub-core
UNROLL = 8            # copies of the body in the loop, so that its own instructions do not count


def registers(prefix, first, count):
    return "{" + ", ".join(f"%{prefix}{first + i}" for i in range(count)) + "}"


def mma_body(name):
    """The loop's instructions, and registers read and written by one of them (its fragments, 32 bits a lane each)."""
    text, d, a, b, _ = MMA[name]
    accumulator = "r" if ".s32." in name else "f"
    lines = []
    for chain in range(CHAINS):
        acc = registers(accumulator, chain * d, d)
        lines.append(f"{text} {acc}, {registers('x', 0, a)}, {registers('x', 8, b)}, {acc};")
    return lines, a + b + d, d


def ffma_body():
    return [f"fma.rn.f32 %f{i}, %f{i}, %f40, %f41;" for i in range(16)]


def kernel(body, sm):
    start = [f"mov.f32 %f{i}, 0f00000000;" for i in range(42)] + [f"mov.b32 %r{i}, 0;" for i in range(32)] + [f"mov.b32 %x{i}, 0;" for i in range(16)]
    # A compiler drops what nobody reads: all results go into a store that never happens.
    keep = [f"add.f32 %f0, %f0, %f{i};" for i in range(1, 32)] + [f"add.s32 %r0, %r0, %r{i};" for i in range(1, 32)]
    keep += ["cvt.rn.f32.s32 %f1, %r0;", "add.f32 %f0, %f0, %f1;", "setp.eq.u32 %p, %n, 1;", "mov.b64 %address, 0;", "@%p st.global.f32 [%address], %f0;"]
    lines = start + ["ld.param.u32 %n, [loop_param_0];", "$loop:"] + body + ["sub.u32 %n, %n, 1;", "setp.ne.u32 %p, %n, 0;", "@%p bra $loop;"] + keep + ["ret;"]
    return (f".version 7.8\n.target sm_{sm}\n.address_size 64\n.visible .entry loop(.param .u32 loop_param_0)\n{{\n.reg .f32 %f<48>;\n.reg .b32 %r<32>, %x<16>, %n;\n.reg .pred %p;\n.reg .b64 %address;\n" +
            "\n".join(lines) + "\n}\n")


def run(tcsim, arch, text, sms, loops, warps):
    with tempfile.TemporaryDirectory() as folder:
        ptx, launch = os.path.join(folder, "loop.ptx"), os.path.join(folder, "launch.toml")
        open(ptx, "w").write(text)
        open(launch, "w").write(f"grid = [{sms}, 1, 1]\nblock = [{LANES * warps}, 1, 1]\nargs = [ {{ i32 = {loops} }} ]\n")
        out = subprocess.run([tcsim, "run", ptx, "--launch", launch, "--arch", arch, "--mode", "timing", "--json", "-", "--quiet"], capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(f"{arch}: exit code {out.returncode}: {out.stderr[:300]}")
        return json.loads(out.stdout)["cycles"]


def machine(tcsim, arch):
    """{"sm": 70, "sms": 80, "clock_mhz": 1530} of the machine file."""
    text = subprocess.run([tcsim, "arch", "show", arch], capture_output=True, text=True, check=True).stdout
    return {key: float(re.search(rf"^  {key} +([0-9.]+)", text, re.M).group(1)) for key in ("sm", "sms", "clock_mhz")}


def rate(tcsim, arch, body, operations, sm, warps=WARPS, lengths=(16, 48)):
    """Operations of an SM in a cycle. `operations`: of one warp for the whole body."""
    text = kernel(body * UNROLL, sm)
    short, long = (run(tcsim, arch, text, 1, n, warps) for n in lengths)
    return UNROLL * operations * warps * (lengths[1] - lengths[0]) / (long - short)


def mma_rate(tcsim, arch, name, sm):
    return rate(tcsim, arch, mma_body(name)[0], CHAINS * MMA[name][4], sm)


def ffma_rate(tcsim, arch, sm):
    return rate(tcsim, arch, ffma_body(), 16 * 2 * LANES, sm, warps=16)
