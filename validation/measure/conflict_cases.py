#!/usr/bin/env python3
"""Conflict kernels: expected wavefronts by hand, and a launcher to profile them with ncu.

usage: conflict_cases.py CUBIN [share]    launches every kernel once (run it under ncu)
       conflict_cases.py --launch-files DIR   writes a launch TOML for each

Arithmetic: 32 banks of 4 bytes. A wavefront serves 32, 16 or 8 lanes for 32, 64 or 128 bit; within
it, lanes reading the same word share; the wavefronts of a group = the most distinct words that meet in a bank.
ldmatrix/stmatrix.x4: four groups of eight 16-byte rows.
"""
import os
import sys

# kernel: (wavefronts, ideal, the sum)
CASES = {
    "ld32_1way": (1, 1, "32 words in 32 banks"),
    "ld32_2way": (2, 1, "word 2L: 16 banks, 2 words each"),
    "ld32_8way": (8, 1, "word 8L: 4 banks, 8 words each"),
    "ld32_32way": (32, 1, "word 32L: one bank, 32 words"),
    "ld32_padded": (1, 1, "word 33L: bank L + 32L/32 = all different"),
    "ld64_1way": (2, 2, "2 halves x 16 lanes x 2 words = 32 banks once"),
    "ld64_4way": (8, 2, "half: 16 lanes at words 8L, 8L+1: 8 banks, 4 words each; 2 halves x 4"),
    "ld128_1way": (4, 4, "4 quarters x 8 lanes x 4 words = 32 banks once"),
    "ld128_8way": (32, 4, "quarter: 8 lanes at words 32L..32L+3: 4 banks, 8 words each; 4 x 8"),
    "ld128_padded": (4, 4, "quarter: words 36L: bank 4L, all different; 4 x 1"),
    "ld128_same": (2, 2, "lanes 0-15 one 16-byte word, lanes 16-31 another: each half-warp is one wavefront (measured; 4 by the plain quarter rule)"),
    "st32_16way": (16, 1, "word 16L: 2 banks, 16 words each"),
    "st64_2way": (4, 2, "half: 16 lanes at words 4L, 4L+1: 16 banks, 2 words each; 2 x 2"),
    "st128_1way": (4, 4, "as the load"),
    "st128_4way": (16, 4, "quarter: 8 lanes at words 16L..+3: 8 banks, 4 words each; 4 x 4"),
    "ldsm4_1way": (4, 4, "4 matrices x 8 rows x 16 B = 128 B"),
    "ldsm4_8way": (32, 4, "rows 128 B apart: 8 rows in the same 4 banks; 4 x 8"),
    "ldsm4_padded": (4, 4, "rows 144 B apart: banks 4 further each row"),
    "ldsm4_swizzled": (4, 4, "rows 64 B apart, chunk ^ (row / 2) % 4: 8 rows in 8 different chunks of 128 B"),
    "ldsm4_4way": (16, 4, "rows 64 B apart: 2 chunks of 128 B, 4 rows each; 4 x 4"),
    "ldsm4_trans_2way": (8, 4, "rows 32 B apart: 4 chunks, 2 rows each; 4 x 2"),
    "ldsm4_trans_1way": (4, 4, "rows 16 B apart"),
    "stsm4_1way": (4, 4, "as ldmatrix"),
    "stsm4_8way": (32, 4, "as ldmatrix"),
}


# (kernel, shift, mask, bytes): lane L reads word group (L >> shift) & mask. No hand count: they find the sharing rule.
SHARE = [(k, sh, m, w * mul) for k, w in (("share32", 4), ("share64", 8), ("share128", 16), ("share_st128", 16)) for mul in (1, 8)
         for sh, m in ((0, 31), (1, 15), (2, 7), (3, 3), (4, 1), (5, 0), (0, 1), (0, 3), (0, 7), (0, 15), (1, 1), (1, 3), (1, 7), (2, 1), (2, 3), (3, 1))]


def write_launch_files(folder):
    for name in CASES:
        with open(os.path.join(folder, f"micro_conflict_{name}.toml"), "w") as h:
            h.write(f'entry = "micro_conflict_{name}"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\ndynamic_smem_bytes = 16384\n'
                    'args = [ { buffer = "out" } ]\n\n[buffer.out]\ndtype = "u32"\nshape = [32]\ninit = "zeros"\n')


def main():
    if sys.argv[1] == "--launch-files":
        return write_launch_files(sys.argv[2])
    from cuda_driver import Device, i32, u64
    dev = Device()
    out = dev.alloc(4096)
    if len(sys.argv) > 2:
        for k, sh, m, b in SHARE:
            dev.launch(dev.kernel(sys.argv[1], "micro_conflict_" + k), 1, 32, 16384, u64(out), i32(sh), i32(m), i32(b))
        return
    for name in CASES:
        dev.launch(dev.kernel(sys.argv[1], "micro_conflict_" + name), 1, 32, 16384, u64(out))


if __name__ == "__main__":
    main()
