#!/usr/bin/env python3
"""Runs the kernels of this folder on a GPU, checks every result, and makes h200.csv of what ncu counted.

    measure.py metrics NCU_METRICS             the metrics that `ncu --query-metrics` knows of those of COLUMNS, as --metrics takes them
    measure.py run CUBINS CHECKS.csv           launches every case once and checks it against torch (run this under ncu)
    measure.py table CHECKS.csv RAW.csv SOURCE.csv OUT REPEAT.csv ...
                                               ncu's raw page, its source page (SASS) and raw pages of repetitions, to h200.csv

A cubin is `ptxas -arch=sm_90 ptx/CASE.ptx -o CUBINS/CASE.cubin`. Needs torch for the reference and nothing else.
"""
import csv
import ctypes as C
import json
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STALLS = ("barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard math_pipe_throttle membar mio_throttle misc "
          "no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait").split()
L1 = "l1tex__data_"
COLUMNS = {
    "cycles": "sm__cycles_elapsed.max", "cycles_avg": "sm__cycles_elapsed.avg", "active_cycles_avg": "sm__cycles_active.avg",
    "time_ns": "gpu__time_duration.sum", "regs": "launch__registers_per_thread",
    "smem_static": "launch__shared_mem_per_block_static", "smem_dynamic": "launch__shared_mem_per_block_dynamic",
    "warp_inst": "smsp__inst_executed.sum", "warp_inst_issued": "smsp__inst_issued.sum",
    "tensor_inst": "sm__inst_executed_pipe_tensor.sum", "hmma_inst": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "imma_inst": "sm__inst_executed_pipe_tensor_op_imma.sum", "gmma_inst": "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "tensor_active_pct": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "fma_inst": "sm__inst_executed_pipe_fma.sum",
    "smem_conflicts": L1 + "bank_conflicts_pipe_lsu_mem_shared.sum",
    "smem_conflicts_ld": L1 + "bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "smem_conflicts_st": L1 + "bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smem_wavefronts": L1 + "pipe_lsu_wavefronts_mem_shared.sum",
    "smem_wavefronts_ld": L1 + "pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smem_wavefronts_st": L1 + "pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "ldsm_inst": "smsp__inst_executed_op_ldsm.sum", "ldgsts_inst": "smsp__inst_executed_op_ldgsts.sum",
    "lds_inst": "smsp__inst_executed_op_shared_ld.sum", "sts_inst": "smsp__inst_executed_op_shared_st.sum",
    "dram_read_bytes": "dram__bytes_read.sum", "dram_write_bytes": "dram__bytes_write.sum",
    "l2_sectors_read": "lts__t_sectors_op_read.sum", "l2_sectors_write": "lts__t_sectors_op_write.sum", "l2_hit_pct": "lts__t_sector_hit_rate.pct",
    "issue_active_pct": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps_active_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    **{"stall_" + s: f"smsp__average_warps_issue_stalled_{s}_per_issue_active.ratio" for s in STALLS},
}


def metrics(known):
    text = set(re.findall(r"[a-z0-9_]+__[a-z0-9_]+", open(known).read()))
    names = [m for m in COLUMNS.values() if m.startswith("launch__") or m.split(".")[0] in text]
    print("left out:", [m for m in COLUMNS.values() if m not in names], file=sys.stderr)
    print(",".join(names))


class Driver:
    def __init__(self):
        self.cu = C.CDLL("libcuda.so.1")

    def __call__(self, name, *args):
        rc = getattr(self.cu, name)(*args)
        if rc:
            raise RuntimeError(f"{name}: CUDA error {rc}")

    def kernel(self, cubin, entry):
        module, function = C.c_void_p(), C.c_void_p()
        self("cuModuleLoad", C.byref(module), cubin.encode())
        self("cuModuleGetFunction", C.byref(function), module, entry.encode())
        return function

    def launch(self, function, grid, threads, smem, args):
        if smem > 48 * 1024:
            self("cuFuncSetAttribute", function, 8, smem)
        pointers = (C.c_void_p * len(args))(*[C.cast(C.byref(a), C.c_void_p) for a in args])
        self("cuLaunchKernel", function, *grid, threads, 1, 1, smem, None, pointers, None)
        self("cuCtxSynchronize")


def run(cubins, checks):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32, "s8": torch.int8, "s32": torch.int32}
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    driver, kernels = Driver(), json.load(open(os.path.join(HERE, "kernels.json")))
    with open(checks, "w") as out:
        print("case,M,N,K,entry,grid,relative_l2", file=out)
        for case, k, size in ((case, k, size) for case, k in kernels.items() for size in k["sizes"]):
            if k["dtype"] == "s8":
                a, b = (torch.randint(-8, 9, (size, size), dtype=torch.int8, device="cuda") for _ in "ab")
            else:
                a, b = (torch.randn(size, size, device="cuda").to(kinds[k["dtype"]]) for _ in "ab")
            c = torch.full((size, size), 77, dtype=kinds[k["dtype_c"]], device="cuda")
            tile_m, tile_n, _ = k["tile"]
            # Square sizes and, in workloads/cuda, square tiles: the order of the grid's axes does not matter.
            grid = (-(-size // tile_m), -(-size // tile_n), 1)
            torch.cuda.synchronize()
            function = driver.kernel(os.path.join(cubins, case + ".cubin"), k["entry"])
            driver.launch(function, grid, k["threads"], k["dynamic_smem_bytes"],
                          [C.c_uint64(x.data_ptr()) for x in (a, b, c)] + [C.c_int32(size)] * 3)
            left = (a.T if k["trans_a"] else a).double()
            want = left @ (b.T if k["trans_b"] else b).double()
            error = ((c.double() - want).norm() / want.norm()).item()
            print(f"{case},{size},{size},{size},{k['entry']},{grid[0] * grid[1]},{error:.3g}", file=out, flush=True)


def read_raw(path):
    lines = [line for line in open(path) if not line.startswith("==")]
    rows = list(csv.DictReader(lines))
    return [row for row in rows if row.get("ID", "").isdigit()]  # the first row holds the units


def number(text):
    value = float(text.replace(",", ""))
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.2f}"


def source_page(path):
    """Per launch: wavefronts by address of all LDS and LDSM, of all STS and STSM, and what the page says of LDGSTS."""
    out, header = [], None
    for row in csv.reader(open(path)):
        if row[:1] == ["Kernel Name"]:
            out.append([row[1], 0, 0, 0])
        elif row[:1] == ["Address"]:
            header = row
        elif header and len(row) == len(header):
            cells = dict(zip(header, row))
            for column, opcode in ((1, r"\bLDSM?\b"), (2, r"\bSTSM?\b"), (3, r"\bLDGSTS\b")):
                if re.search(opcode, cells["Source"]):
                    out[-1][column] += int(cells["L1 Wavefronts Shared"])
    return out


def table(checks, raw, source, out, *repeats):
    order, rows, pages = list(csv.DictReader(open(checks))), read_raw(raw), source_page(source)
    more = [read_raw(r) for r in repeats]
    columns = {c: m for c, m in COLUMNS.items() if m in rows[0]}
    with open(out, "w") as h:
        print(",".join(["case", "M", "N", "K", "kernel", *columns, "sass_wavefronts_ld", "sass_wavefronts_st", "sass_wavefronts_ldgsts", "cycles_min", "cycles_median",
                        "cycles_max", "grid", "block", "relative_l2"]), file=h)
        for case, row, page, *others in zip(order, rows, pages, *more, strict=True):
            grid, block = ([int(x) for x in re.findall(r"\d+", row[name])] for name in ("Grid Size", "Block Size"))
            assert row["Kernel Name"] == page[0] == case["entry"] and grid[0] * grid[1] == int(case["grid"]), case
            cycles = sorted(int(r[COLUMNS["cycles"]].replace(",", "")) for r in (row, *others))
            print(",".join([case["case"], case["M"], case["N"], case["K"], case["entry"], *(number(row[m]) for m in columns.values()),
                            *map(str, page[1:]), str(cycles[0]), str(statistics.median_low(cycles)), str(cycles[-1]),
                            f"{grid[0]}x{grid[1]}", str(block[0]), case["relative_l2"]]), file=h)


if __name__ == "__main__":
    {"metrics": metrics, "run": run, "table": table}[sys.argv[1]](*sys.argv[2:])
