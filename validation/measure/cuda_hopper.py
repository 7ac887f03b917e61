"""Tensor maps, cluster launches and the Hopper kernels' parameter block on top of cuda_driver."""
import ctypes as C

from cuda_driver import Device, check, cu, u32, u64

FLOAT16, FLOAT32 = 6, 7  # CUtensorMapDataType
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


def tensor_map(base, width, height, pitch, box_w, box_h, swizzle=128, dtype=FLOAT16, promotion=0):
    """128 bytes of a 2-D tensor map; pitch in bytes, the rest in elements."""
    raw = C.create_string_buffer(256)
    at = (C.addressof(raw) + 63) & ~63
    dims, strides = (C.c_uint64 * 2)(width, height), (C.c_uint64 * 1)(pitch)
    box, step = (C.c_uint32 * 2)(box_w, box_h), (C.c_uint32 * 2)(1, 1)
    check(cu.cuTensorMapEncodeTiled(C.c_void_p(at), dtype, 2, C.c_uint64(base), dims, strides, box, step, 0, SWIZZLES[swizzle], promotion, 0),
          f"map {width}x{height} box {box_w}x{box_h} swizzle {swizzle}")
    return C.string_at(at, 128)


class Config(C.Structure):  # CUlaunchConfig
    _fields_ = [("grid", C.c_uint * 3), ("block", C.c_uint * 3), ("smem", C.c_uint), ("stream", C.c_void_p), ("attrs", C.c_void_p), ("n", C.c_uint)]


class Attribute(C.Structure):  # CUlaunchAttribute
    _fields_ = [("id", C.c_uint), ("pad", C.c_uint), ("value", C.c_uint * 16)]


def prepare(f, smem, cluster):
    if smem > 48 * 1024:
        check(cu.cuFuncSetAttribute(f, 8, smem))
    if cluster > 8:
        check(cu.cuFuncSetAttribute(f, 14, 1))  # NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    attr = (Attribute * 1)()
    attr[0].id = 4  # CLUSTER_DIMENSION
    attr[0].value[0], attr[0].value[1], attr[0].value[2] = cluster, 1, 1
    return attr


def config(grid, block, smem, attr):
    c = Config()
    c.grid[:], c.block[:], c.smem, c.stream = (grid, 1, 1), (block, 1, 1), smem, None
    c.attrs, c.n = C.addressof(attr), 1
    return c


def max_clusters(f, block, smem, cluster):
    attr = prepare(f, smem, cluster)
    c, n = config(cluster, block, smem, attr), C.c_int()
    check(cu.cuOccupancyMaxActiveClusters(C.byref(n), f, C.byref(c)), "occupancy")
    return n.value


class Hopper(Device):
    """Runs the kernels of gen_hopper.py, whose parameters are always (out, g, mp, it, a0..a7, pm)."""

    def __init__(self, folder, files):
        super().__init__()
        self.folder, self.files = folder, files
        self.out = self.alloc(4096 * 2048)
        self.maps = self.alloc(128 * 4096)
        self.by_value = (C.c_char * 128)()

    def set_map(self, raw, count=1):
        self.write(self.maps, raw * count)
        self.by_value = (C.c_char * 128).from_buffer_copy(raw)

    def function(self, name):
        return self.kernel(f"{self.folder}/{self.files[name]}", name)

    def go(self, name, grid=1, block=128, smem=0, it=0, a=(), g=0, cluster=1, clear=True):
        if clear:
            self.zero(self.out, 4096 * min(2048, grid))
        f = self.function(name)
        attr = prepare(f, smem, cluster)
        c = config(grid, block, smem, attr)
        a = list(a) + [0] * (8 - len(a))
        vals = [u64(self.out), u64(g), u64(self.maps), u32(it)] + [u32(x & 0xFFFFFFFF) for x in a]
        pointers = [C.cast(C.byref(v), C.c_void_p) for v in vals] + [C.cast(self.by_value, C.c_void_p)]
        arr = (C.c_void_p * len(pointers))(*pointers)
        check(cu.cuLaunchKernelEx(C.byref(c), f, arr, None), name)
        check(cu.cuCtxSynchronize(), name)

    def spans(self, grid, warps, rep):
        """(start, end) of each warp of each CTA in repetition rep."""
        v = self.read(self.out, "Q", 512 * (grid - 1) + 64 * rep + 2 * warps)
        return [[(v[512 * c + 64 * rep + 2 * w], v[512 * c + 64 * rep + 2 * w + 1]) for w in range(warps)] for c in range(grid)]

    def cycles(self, grid=1, warps=1):
        """Per repetition: the longest first-start-to-last-end of any CTA."""
        return [max(max(e for _, e in cta) - min(s for s, _ in cta) for cta in self.spans(grid, warps, r)) for r in range(3)]
