"""Runs a cubin as a launch file of this project says: buffers, tensor maps (cuTensorMapEncodeTiled through ctypes), arguments.

Needs Python 3.11 (tomllib), torch for memory and for the float64 reference, and libcuda.
"""
import ctypes as C
import time
import tomllib

import torch

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32, "s8": torch.int8, "s32": torch.int32,
         "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
# CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion (cuda.h)
MAP_TYPES = {"f16": 6, "bf16": 9, "f32": 7, "tf32": 7, "s8": 0, "e4m3": 0, "e5m2": 0, "s32": 3}
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
MAX_DYNAMIC_SMEM = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NOT_READY = 600


class Hang(Exception):
    pass


class Driver:
    def __init__(self):
        self.cu = C.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")
        self.functions = {}

    def __call__(self, name, *args):
        rc = getattr(self.cu, name)(*args)
        if rc:
            raise RuntimeError(f"{name}: CUDA error {rc}")

    def function(self, cubin, entry):
        if cubin not in self.functions:
            module, function = C.c_void_p(), C.c_void_p()
            self("cuModuleLoad", C.byref(module), cubin.encode())
            self("cuModuleGetFunction", C.byref(function), module, entry.encode())
            self.functions[cubin] = function
        return self.functions[cubin]

    def tensor_map(self, spec, buffer, dtype):
        rank = len(spec["dims"])
        raw = (C.c_ubyte * 192)()
        base = C.addressof(raw)
        view = (C.c_ubyte * 128).from_address((base + 63) // 64 * 64)
        view.owner = raw
        self("cuTensorMapEncodeTiled", C.byref(view), MAP_TYPES[dtype], C.c_uint32(rank), C.c_void_p(buffer.data_ptr()), (C.c_uint64 * rank)(*spec["dims"]),
             (C.c_uint64 * rank)(*spec["strides_bytes"], 0), (C.c_uint32 * rank)(*spec["box"]), (C.c_uint32 * rank)(*[1] * rank), 0, SWIZZLES[spec.get("swizzle", "none")],
             PROMOTIONS[spec.get("l2_promotion", "none")], 0)
        return view

    def launch(self, cubin, launch, buffers, limit_s=10.0):
        """Launches and waits. Raises Hang past the limit (the process must then end: its context is lost)."""
        maps = {name: self.tensor_map(spec, buffers[spec["buffer"]], launch["buffer"][spec["buffer"]]["dtype"]) for name, spec in launch.get("tensormap", {}).items()}
        args = []
        for arg in launch["args"]:
            if "tensormap" in arg:
                args.append(maps[arg["tensormap"]])
            elif "buffer" in arg:
                args.append(C.c_uint64(buffers[arg["buffer"]].data_ptr()))
            else:
                args.append(C.c_int32(arg["i32"]))
        pointers = (C.c_void_p * len(args))(*[C.cast(C.byref(a), C.c_void_p) for a in args])
        function = self.function(cubin, launch["entry"])
        self("cuFuncSetAttribute", function, MAX_DYNAMIC_SMEM, launch["dynamic_smem_bytes"])
        self("cuLaunchKernel", function, *launch["grid"], *launch["block"], launch["dynamic_smem_bytes"], None, pointers, None)
        end = time.time() + limit_s
        while (rc := self.cu.cuStreamQuery(None)) == NOT_READY:
            if time.time() > end:
                raise Hang
            time.sleep(0.0002)
        if rc:
            raise RuntimeError(f"kernel: CUDA error {rc}")


def read_launch(path):
    with open(path, "rb") as f:
        return tomllib.load(f)


def operand(dtype, shape, seed):
    """The same values on every machine: made by torch's CPU generator."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == "s8":
        return torch.randint(-8, 9, shape, dtype=torch.int8, generator=generator)
    values = torch.randn(shape, generator=generator)
    if dtype == "tf32":  # representable: the low 13 bits are zero
        return (values.view(torch.int32) & ~0x1FFF).view(torch.float32)
    return values.to(TYPES[dtype])


def make_buffers(launch, cache):
    """A and B by dtype, shape and seed (kept in `cache`), C filled with 0x4d bytes."""
    buffers = {}
    for name, spec in launch["buffer"].items():
        shape = tuple(spec["shape"])
        if spec["init"] == "poison":
            size = TYPES[spec["dtype"]].itemsize
            buffers[name] = torch.full((shape[0], shape[1] * size), 0x4D, dtype=torch.uint8, device="cuda").view(TYPES[spec["dtype"]])
            continue
        key = (spec["dtype"], shape, spec["seed"])
        if key not in cache:
            cache[key] = operand(*key).cuda()
        buffers[name] = cache[key]
    return buffers


def relative_error(launch, buffers):
    gemm = launch["check"]["gemm"]
    a, b, c = (buffers[gemm[x]].double() for x in "abc")
    want = (a.T if gemm["trans_a"] else a) @ (b.T if gemm["trans_b"] else b)
    return ((c - want).norm() / want.norm()).item()
