#!/usr/bin/env python3
"""Writes a small valid file or more for every fuzzer, as FOLDER/<reader>/<name>.

    python3 fuzz/make_seeds.py build/fuzz/seeds
"""

import io
import json
import pathlib
import struct
import sys
import zipfile

FLOATS = struct.pack("<4f", 1, -2, 3, 0.5)


def safetensors():
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "U16": 2, "BOOL": 1}
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for dtype, size in sizes.items():
        header[dtype] = {"dtype": dtype, "shape": [2, 1], "data_offsets": [offset, offset + 2 * size]}
        offset += 2 * size
    text = json.dumps(header).encode()
    yield "types", struct.pack("<Q", len(text)) + text + bytes(offset)


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def gguf():
    def file(keys, tensors):
        out, data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)), b""
        for key, (kind, value) in keys.items():
            out += text(key) + struct.pack("<I", kind) + value
        for name, (dimensions, kind, body) in tensors.items():
            data += bytes(-len(data) % 32)
            out += text(name) + struct.pack("<I", len(dimensions))
            out += struct.pack(f"<{len(dimensions)}QIQ", *dimensions, kind, len(data))
            data += body
        return out + bytes(-len(out) % 32) + data

    number = lambda n: (4, struct.pack("<I", n))
    real = lambda x: (6, struct.pack("<f", x))
    yield "types", file(
        {
            "a": (0, b"\x01"),
            "b": (11, struct.pack("<q", -1)),
            "c": (7, b"\x01"),
            "d": (12, struct.pack("<d", 0.1)),
            "words": (9, struct.pack("<IQ", 8, 2) + text("x") + text("yz")),
            "numbers": (9, struct.pack("<IQ3H", 2, 3, 7, 8, 9)),
        },
        {f"t{kind}": ([elements], kind, bytes(range(size)))
         for kind, elements, size in [(0, 1, 4), (1, 2, 4), (2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24),
                                      (8, 32, 34), (12, 256, 144), (14, 256, 210), (28, 1, 8), (30, 2, 4)]},
    )
    for name in ("llama", "gemma3", "phi3", "gptj", "gptneox"):
        key = lambda k: f"{name}.{k}"
        yield name, file(
            {
                "general.architecture": (8, text(name)),
                key("block_count"): number(2),
                key("embedding_length"): number(8),
                key("attention.head_count"): number(2),
                key("rope.dimension_count"): number(4),
                key("rope.freq_base"): real(1e6),
                key("rope.scaling.type"): (8, text("longrope" if name == "phi3" else "none")),
                key("rope.scaling.factor"): real(4),
                key("attention.sliding_window"): number(16),
            },
            {
                "token_embd.weight": ([4, 1], 0, FLOATS),
                "rope_freqs.weight": ([2], 0, FLOATS[:8]),
                "rope_factors_short.weight": ([2], 0, FLOATS[:8]),
                "rope_factors_long.weight": ([2], 0, FLOATS[:8]),
            },
        )


def word(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def tensor(key, elements, offset, shape, strides):
    sizes = lambda xs: b"(" + b"".join(b"K" + bytes([x]) for x in xs) + b"t"
    return (name("torch._utils", "_rebuild_tensor_v2") + b"((" + word("storage") + name("torch", "FloatStorage")
            + word(key) + word("cpu") + b"K" + bytes([elements]) + b"tQK" + bytes([offset]) + sizes(shape)
            + sizes(strides) + b"\x89" + name("collections", "OrderedDict") + b")RtR")


def pickles():
    matrix = tensor("0", 4, 0, [2, 2], [1, 2])
    yield "state", (b"\x80\x02" + name("collections", "OrderedDict") + b")Rq\x00(" + word("w") + matrix + b"q\x01"
                    + word("p") + name("torch._utils", "_rebuild_parameter") + b"(h\x01\x88}tRu}" + word("_metadata")
                    + b"}sb.")
    yield "nested", (b"\x80\x02}(" + word("model") + b"}(" + word("a") + matrix + word("b")
                     + tensor("0", 4, 1, [3], [1]) + b"u" + word("epoch") + b"M\x01\x02" + word("lr")
                     + b"G?\xb9\x99\x99\x99\x99\x99\x9a" + word("list") + b"](K\x01NJ\xff\xff\xff\xff\x8a\x02\x01\x80e"
                     + word("size") + name("torch", "Size") + b"](K\x01e\x85R" + b"u.")
    short = lambda s: b"\x8c" + bytes([len(s)]) + s.encode() + b"\x94"
    yield "protocol4", (b"\x80\x04\x95" + bytes(8) + b"}\x94" + short("device") + short("torch") + short("device")
                        + b"\x93" + short("cpu") + b"\x85R" + b"s.")


def pytorch():
    for title, pickle in pickles():
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                for member, data in (("data.pkl", pickle), ("data/0", FLOATS), ("version", b"3\n"),
                                     ("byteorder", b"little")):
                    archive.writestr(zipfile.ZipInfo("m/" + member), data, method)
            yield f"{title}{method}", out.getvalue()
        yield f"{title}_legacy", (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + b"\x80\x02M\xe9\x03."
                                  + b"\x80\x02}" + word("little_endian") + b"\x88s." + pickle + b"\x80\x02]("
                                  + word("0") + b"e." + struct.pack("<Q", 4) + FLOATS)


def llama2c():
    sizes = (4, 6, 1, 2, 1, 3, 5)
    yield "legacy", struct.pack("<7i", *sizes) + bytes(4 * 154)
    yield "version1", (struct.pack("<4si7iB", b"24ka", 1, *sizes, 1)).ljust(256, b"\0") + bytes(4 * 144)
    matrices = sum(n + n // 2 * 4 for n in (12, 16, 8, 8, 16, 24, 24, 24))
    yield "version2", (struct.pack("<4si7iBi", b"24ka", 2, *sizes, 1, 2)).ljust(256, b"\0") + bytes(48 + matrices)


def main():
    root = pathlib.Path(sys.argv[1])
    readers = {"safetensors": safetensors, "gguf": gguf, "pickle": pickles, "pytorch": pytorch, "llama2c": llama2c}
    for reader, seeds in readers.items():
        folder = root / reader
        folder.mkdir(parents=True, exist_ok=True)
        for title, data in seeds():
            (folder / title).write_bytes(data)


main()
