#!/usr/bin/env python3
"""A few cp.async streams for ncu: do they move the bytes that they should?  usage: copy_check.py CUBIN"""
import sys

from cuda_driver import Device, i32, u64

dev = Device()
out, big = dev.alloc(1 << 16), dev.alloc(2 << 30, None)
dev.launch(dev.kernel(sys.argv[1], "ring_init"), 528, 256, 0, u64(big), u64(1 << 28), u64(8), u64(5), u64(12345))
for kern in ("copy_ca16", "copy_cg16"):
    for stride, size, passes in ((12 << 20, 12 << 20, 1), (256 << 10, 256 << 10, 8)):
        dev.launch(dev.kernel(sys.argv[1], kern), 132, 256, 65536, u64(big), u64(stride), u64(size), i32(passes), i32(0), u64(out))
        print(kern, size, passes, dev.read(out, "Q", 6))
