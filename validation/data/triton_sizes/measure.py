"""measure.py compile OUT | run CUBINS OUT.csv: gemm_ptr and gemm_tma by Triton, the mma.sync kernels from cubins, over held-back sizes in a fixed order.

CUBINS: `ptxas -arch=sm_90 ../triton_gemm/ptx/CASE.ptx -o CUBINS/CASE.cubin`. Needs torch and triton; OUT.csv has a row for each launch, in order.
"""
import csv
import ctypes as C
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "workloads", "triton"))
import torch
import triton_matmul as T

PTR = T.PTR + [(64, 128, 64, s, 4) for s in (2, 3, 4)]
TMA = T.TMA + [(64, 128, 64, s, 4) for s in (2, 3, 4)]
OLD = [(n, n, n) for n in (512, 1024, 2048)]
NEW = [(n, n, n) for n in (256, 768, 1536, 4096)] + [(128, 4096, 8192), (8192, 128, 4096), (1280, 768, 2048), (3072, 1024, 512)]


def kernels(name):
    with open(os.path.join(DATA, name, "kernels.json")) as f:
        return json.load(f)


MMA = kernels("triton_gemm")
MEASURED = {*MMA, *kernels("triton_tma"), *kernels("triton_wgmma")}


def configs():
    for kind, cfgs in (("ptr", PTR), ("tma", TMA)):
        for cfg in cfgs:
            if T.smem_ok(cfg):
                yield T.name(kind, cfg), kind, cfg
    for name, k in MMA.items():
        yield name, "mma", (*k["tile"], k["num_stages"], k["threads"] // 32)


def rows():
    for name, kind, cfg in configs():
        for size in NEW if name in MEASURED else OLD + NEW:
            if all(extent % tile == 0 for extent, tile in zip(size, cfg)):
                yield name, kind, cfg, size


class Cubins:
    def __init__(self, folder):
        self.cu, self.folder, self.functions = C.CDLL("libcuda.so.1"), folder, {}

    def call(self, name, *args):
        if rc := getattr(self.cu, name)(*args):
            raise RuntimeError(f"{name}: CUDA error {rc}")

    def launch(self, name, size, buffers):
        k, (m, n, depth) = MMA[name], size
        if name not in self.functions:
            module, function = C.c_void_p(), C.c_void_p()
            self.call("cuModuleLoad", C.byref(module), f"{self.folder}/{name}.cubin".encode())
            self.call("cuModuleGetFunction", C.byref(function), module, b"gemm_ptr")
            self.call("cuFuncSetAttribute", function, 8, k["dynamic_smem_bytes"])  # MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.functions[name] = function
        args = [C.c_uint64(x.data_ptr()) for x in buffers] + [C.c_int32(x) for x in (m, n, depth, depth, n, n)] + [C.c_uint64(0)] * 2
        pointers = (C.c_void_p * len(args))(*[C.cast(C.byref(a), C.c_void_p) for a in args])
        grid = -(-m // k["tile"][0]) * -(-n // k["tile"][1])
        self.call("cuLaunchKernel", self.functions[name], grid, 1, 1, k["threads"], 1, 1, k["dynamic_smem_bytes"], None, pointers, None)


def compile_all(out):
    """PTX and facts of the tiles that no other folder has."""
    os.makedirs(out, exist_ok=True)
    facts = {}
    for name, kind, cfg in configs():
        if name in MEASURED:
            continue
        h = T.launch(kind, cfg, 1024, 1024, 1024, T.make(1024, 1024, 1024, kind))
        with open(f"{out}/{name}.ptx", "w") as f:
            f.write(h.asm["ptx"])
        facts[name] = {"entry": h.metadata.name, "dynamic_smem_bytes": h.metadata.shared, "threads": 32 * h.metadata.num_warps, "tile": list(cfg[:3]), "num_stages": cfg[3]}
    with open(f"{out}/kernels.json", "w") as f:
        json.dump(facts, f, indent=1)


def run(folder, out):
    cubins, made = Cubins(folder), {}
    with open(out, "w", newline="") as f:
        table = csv.writer(f)
        table.writerow("case M N K relative_l2".split())
        for name, kind, cfg, size in rows():
            layout = "tma" if kind == "tma" else "ptr"
            if (layout, size) not in made:
                a, b, c = T.make(*size, layout)
                made[layout, size] = a, b, c, a.float() @ (b.float().T if layout == "tma" else b.float())
            a, b, c, want = made[layout, size]
            c.fill_(float("nan"))
            if kind == "mma":
                cubins.launch(name, size, (a, b, c))
            else:
                T.launch(kind, cfg, *size, (a, b, c))
            torch.cuda.synchronize()
            table.writerow([name, *size, f"{((c.float() - want).norm() / want.norm()).item():.3g}"])


if __name__ == "__main__":
    {"compile": compile_all, "run": run}[sys.argv[1]](*sys.argv[2:])
