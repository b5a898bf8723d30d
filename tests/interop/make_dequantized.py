"""Writes tests/data/dequantized.json: random blocks of every quantised type of ggml that ropewalk
reads, and random codes of the short floating-point types, with their values.

    python3 tests/interop/make_dequantized.py > tests/data/dequantized.json

Only the standard library: blocks are packed here from numbers (the opposite direction of what the
reader does), and values are computed from those numbers in fractions, each operation rounded to
float32 as C does it.
"""

import json
import random
import struct
from fractions import Fraction

rng = random.Random(20240501)


def rounded(x):
    """The float32 nearest to a fraction, ties to even."""
    if x == 0:
        return Fraction(0)
    sign, x = (-1, -x) if x < 0 else (1, x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** exponent > x:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    count = x / unit
    whole = count.numerator // count.denominator
    rest = count - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1):
        whole += 1
    return sign * whole * unit


def times(a, b):
    return rounded(Fraction(a) * Fraction(b))


def plus(a, b):
    return rounded(Fraction(a) + Fraction(b))


def half():
    """A random float16: its two bytes and its value."""
    bits = rng.choice([rng.randrange(0, 0x7C00), rng.randrange(0x8000, 0xFC00), rng.randrange(1, 0x400)])
    packed = struct.pack("<H", bits)
    return packed, Fraction(struct.unpack("<e", packed)[0])


def nibbles(q):
    """32 numbers of 4 bits: element i in the low half of byte i, element i + 16 in the high half."""
    return bytes(q[i] | q[i + 16] << 4 for i in range(16))


def q4_0():
    d, scale = half()
    q = [rng.randrange(16) for _ in range(32)]
    return d + nibbles(q), [times(scale, x - 8) for x in q]


def q4_1():
    (d, scale), (m, offset) = half(), half()
    q = [rng.randrange(16) for _ in range(32)]
    return d + m + nibbles(q), [plus(times(scale, x), offset) for x in q]


def fifth_bits(q):
    return struct.pack("<I", sum((x >> 4) << i for i, x in enumerate(q)))


def q5_0():
    d, scale = half()
    q = [rng.randrange(32) for _ in range(32)]
    return d + fifth_bits(q) + nibbles([x & 15 for x in q]), [times(scale, x - 16) for x in q]


def q5_1():
    (d, scale), (m, offset) = half(), half()
    q = [rng.randrange(32) for _ in range(32)]
    values = [plus(times(scale, x), offset) for x in q]
    return d + m + fifth_bits(q) + nibbles([x & 15 for x in q]), values


def q8_0():
    d, scale = half()
    q = [rng.randrange(-128, 128) for _ in range(32)]
    return d + struct.pack("32b", *q), [times(scale, x) for x in q]


def q4_k():
    (d, scale), (m, offset) = half(), half()
    scales = [rng.randrange(64) for _ in range(8)]
    offsets = [rng.randrange(64) for _ in range(8)]
    packed = bytearray(12)
    for j in range(4):
        packed[j] = scales[j] | (scales[j + 4] >> 4) << 6
        packed[j + 4] = offsets[j] | (offsets[j + 4] >> 4) << 6
        packed[j + 8] = (scales[j + 4] & 15) | (offsets[j + 4] & 15) << 4
    q = [[rng.randrange(16) for _ in range(32)] for _ in range(8)]
    body = bytes(q[2 * pair][i] | q[2 * pair + 1][i] << 4 for pair in range(4) for i in range(32))
    values = []
    for j in range(8):
        ds, shift = times(scale, scales[j]), times(offset, offsets[j])
        values += [plus(times(ds, x), -shift) for x in q[j]]
    return d + m + bytes(packed) + body, values


def q6_k():
    d, scale = half()
    scales = [rng.randrange(-128, 128) for _ in range(16)]
    q = [rng.randrange(64) for _ in range(256)]
    low, high = bytearray(128), bytearray(64)
    for side in range(2):
        for i in range(32):
            a, b, c, e = (q[128 * side + 32 * run + i] for run in range(4))
            low[64 * side + i] = (a & 15) | (c & 15) << 4
            low[64 * side + 32 + i] = (b & 15) | (e & 15) << 4
            high[32 * side + i] = a >> 4 | (b >> 4) << 2 | (c >> 4) << 4 | (e >> 4) << 6
    values = [times(times(scale, scales[i // 16]), x - 32) for i, x in enumerate(q)]
    return bytes(low) + bytes(high) + struct.pack("16b", *scales) + d, values


def short(dtype):
    """One finite code of a short type and its value, from the definition of the type."""
    width, exponent_bits, fraction_bits, bias = {
        "F16": (16, 5, 10, 15),
        "BF16": (16, 8, 7, 127),
        "F8_E4M3": (8, 4, 3, 7),
        "F8_E5M2": (8, 5, 2, 15),
    }[dtype]
    while True:
        bits = rng.getrandbits(width)
        exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
        fraction = bits & ((1 << fraction_bits) - 1)
        all_ones = exponent == (1 << exponent_bits) - 1
        if not (all_ones and (dtype != "F8_E4M3" or fraction == 7)):
            break
    if exponent == 0:
        value = Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias)
    else:
        value = (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (exponent - bias)
    return bits.to_bytes(width // 8, "little"), [-value if bits >> (width - 1) else value]


def main():
    cases = []
    for dtype, make in {"Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0,
                        "Q4_K": q4_k, "Q6_K": q6_k}.items():
        blocks = [make() for _ in range(3)]
        cases.append((dtype, blocks))
    for dtype in ("F16", "BF16", "F8_E4M3", "F8_E5M2"):
        cases.append((dtype, [short(dtype) for _ in range(48)]))
    print("[")
    for i, (dtype, blocks) in enumerate(cases):
        data = b"".join(packed for packed, _ in blocks)
        values = [float(v) for _, block in blocks for v in block]
        line = json.dumps({"dtype": dtype, "bytes": data.hex(), "values": values})
        print(" " + line + ("," if i + 1 < len(cases) else ""))
    print("]")


main()
