"""Just enough of the CUDA driver API through ctypes to load cubins and run kernels."""
import ctypes as C
import struct

cu = C.CDLL("libcuda.so.1")


def check(rc, what=""):
    if rc:
        msg = C.c_char_p()
        cu.cuGetErrorString(rc, C.byref(msg))
        raise RuntimeError(f"CUDA error {rc} {msg.value} {what}")


class Device:
    def __init__(self):
        check(cu.cuInit(0))
        dev = C.c_int()
        check(cu.cuDeviceGet(C.byref(dev), 0))
        self.ctx = C.c_void_p()
        check(cu.cuDevicePrimaryCtxRetain(C.byref(self.ctx), dev))
        check(cu.cuCtxSetCurrent(self.ctx))
        self.modules = {}

    def kernel(self, cubin, name):
        if cubin not in self.modules:
            m = C.c_void_p()
            check(cu.cuModuleLoad(C.byref(m), cubin.encode()), cubin)
            self.modules[cubin] = m
        f = C.c_void_p()
        check(cu.cuModuleGetFunction(C.byref(f), self.modules[cubin], name.encode()), name)
        return f

    def alloc(self, size, fill=0):
        p = C.c_uint64()
        check(cu.cuMemAlloc_v2(C.byref(p), C.c_size_t(size)))
        if fill is not None:
            check(cu.cuMemsetD8_v2(p, C.c_ubyte(fill), C.c_size_t(size)))
        return p.value

    def free(self, p):
        check(cu.cuMemFree_v2(C.c_uint64(p)))

    def write(self, p, data):
        check(cu.cuMemcpyHtoD_v2(C.c_uint64(p), data, C.c_size_t(len(data))))

    def read(self, p, fmt, count):
        size = struct.calcsize("<" + fmt) * count
        buf = C.create_string_buffer(size)
        check(cu.cuMemcpyDtoH_v2(buf, C.c_uint64(p), C.c_size_t(size)))
        return list(struct.unpack(f"<{count}{fmt}", buf.raw))

    def zero(self, p, size):
        check(cu.cuMemsetD8_v2(C.c_uint64(p), C.c_ubyte(0), C.c_size_t(size)))

    def launch(self, f, grid, block, smem, *args):
        """args: ctypes values. Waits for completion."""
        if smem > 48 * 1024:
            check(cu.cuFuncSetAttribute(f, 8, smem))
        arr = (C.c_void_p * max(1, len(args)))(*[C.cast(C.byref(a), C.c_void_p) for a in args])
        check(cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, smem, None, arr, None), "launch")
        check(cu.cuCtxSynchronize(), "run")


u64, i32, u32, i64, f32 = C.c_uint64, C.c_int32, C.c_uint32, C.c_int64, C.c_float
