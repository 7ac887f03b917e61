"""A and B as torch's CPU generator makes them (tma_launch.operand), without torch.

randn is Box-Muller over MT19937 with 24-bit uniforms, in blocks of 16; torch's vectorised log and sincos differ from libm's in the last bit
now and then, which shows in one of a thousand rounded values: those stand in bits/inputs.json as {"A_f16": {"index": bits}}.
"""
import json
import math
import os
import random
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def mt19937(seed):
    """init_genrand(seed), which torch uses and Python does not."""
    state = [seed]
    for i in range(1, 624):
        state.append(1812433253 * (state[-1] ^ state[-1] >> 30) + i & 0xFFFFFFFF)
    generator = random.Random()
    generator.setstate((3, (*state, 624), None))
    return lambda: generator.getrandbits(32)


def normal(seed, count):
    draw = mt19937(seed)
    values = [(draw() & 0xFFFFFF) * 2.0**-24 for _ in range(count)]
    for block in range(0, count, 16):
        for j in range(block, block + 8):
            radius, angle = math.sqrt(-2 * math.log(1 - values[j])), 2 * math.pi * values[j + 8]
            values[j], values[j + 8] = radius * math.cos(angle), radius * math.sin(angle)
    return [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]


def f32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def bf16_bits(value):
    u = f32_bits(value)
    return u + 0x7FFF + (u >> 16 & 1) >> 16


def f8_bits(value, mantissa, bias):
    """To nearest, ties to even; nothing here comes near the largest value."""
    sign, size = (0x80 if math.copysign(1, value) < 0 else 0), abs(value)
    exponent = max(math.frexp(size)[1] - 1, 1 - bias) if size else 1 - bias
    steps = round(size / 2.0**(exponent - mantissa))  # round: half to even
    if steps == 2 << mantissa:
        steps, exponent = 1 << mantissa, exponent + 1
    return sign | (steps if steps < 1 << mantissa else exponent + bias << mantissa | steps - (1 << mantissa))


FORMATS = {"f16": ("H", lambda v: struct.unpack("<H", struct.pack("<e", v))[0]), "bf16": ("H", bf16_bits), "tf32": ("I", lambda v: f32_bits(v) & ~0x1FFF),
           "e4m3": ("B", lambda v: f8_bits(v, 3, 7)), "e5m2": ("B", lambda v: f8_bits(v, 2, 15))}


def operand(name, dtype, count=512 * 512):
    """The bytes of A (seed 1) or B (seed 2) at 512^3."""
    seed = "AB".index(name) + 1
    if dtype == "s8":
        draw = mt19937(seed)
        return struct.pack(f"<{count}b", *(draw() % 17 - 8 for _ in range(count)))
    code, convert = FORMATS[dtype]
    bits = [convert(v) for v in normal(seed, count)]
    with open(os.path.join(HERE, "bits", "inputs.json")) as f:
        for index, value in json.load(f)[f"{name}_{dtype}"].items():
            bits[int(index)] = value
    return struct.pack(f"<{count}{code}", *bits)
