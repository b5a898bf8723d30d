"""Runs a Llama of the data beside the checkout in PyTorch, written out here from the published formulas, and
holds `ropewalk inspect --tokens` against it: the loss per token under both layouts and without rotation.

Skipped, with the reason, where PyTorch or the data are absent.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

TOLERANCE = 1e-4


def skip(reason):
    print("ropewalk test skipped:", reason)
    sys.exit(0)


def safetensors(path, torch):
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}[entry["dtype"]]
        data = torch.frombuffer(bytearray(raw[8 + size + begin : 8 + size + end]), dtype=kind)
        tensors[name] = data.reshape(entry["shape"]).to(torch.float64)
    return tensors


def turned(x, base, layout, torch):
    """x: heads x tokens x features."""
    tokens, features = x.shape[1:]
    planes = features // 2
    frequency = base ** (-2.0 * torch.arange(planes, dtype=torch.float64) / features)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * frequency
    if layout == "interleaved":
        z = torch.view_as_complex(x.reshape(*x.shape[:2], planes, 2).contiguous())
        return torch.view_as_real(z * torch.exp(1j * angle)).reshape(x.shape)
    if layout == "half_split":
        z = torch.complex(x[..., :planes], x[..., planes:]) * torch.exp(1j * angle)
        return torch.cat([z.real, z.imag], dim=-1)
    return x


def loss(config, tensors, ids, layout, torch):
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    dim = config.get("head_dim") or config["hidden_size"] // heads
    eps = config["rms_norm_eps"]
    silu = torch.nn.functional.silu

    def norm(x, name):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * tensors[name]

    embedding = tensors.get("model.embed_tokens.weight", tensors.get("lm_head.weight"))
    x = embedding[ids]
    n = len(ids)
    past = torch.full((n, n), float("-inf"), dtype=torch.float64).triu(1)
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        h = norm(x, at + "input_layernorm.weight")

        def project(part, count):
            return (h @ tensors[f"{at}self_attn.{part}_proj.weight"].T).reshape(n, count, dim).transpose(0, 1)

        q = turned(project("q", heads), config.get("rope_theta", 10000.0), layout, torch)
        k = turned(project("k", kv_heads), config.get("rope_theta", 10000.0), layout, torch)
        v = project("v", kv_heads)
        k, v = (t.repeat_interleave(heads // kv_heads, dim=0) for t in (k, v))
        weights = torch.softmax(q @ k.transpose(1, 2) / dim**0.5 + past, dim=-1)
        x = x + (weights @ v).transpose(0, 1).reshape(n, heads * dim) @ tensors[at + "self_attn.o_proj.weight"].T
        h = norm(x, at + "post_attention_layernorm.weight")
        gate, up = (h @ tensors[f"{at}mlp.{part}_proj.weight"].T for part in ("gate", "up"))
        x = x + (silu(gate) * up) @ tensors[at + "mlp.down_proj.weight"].T
    logits = norm(x, "model.norm.weight") @ tensors.get("lm_head.weight", embedding).T
    return torch.nn.functional.cross_entropy(logits[:-1], ids[1:]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--shared", required=True)
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        skip("no PyTorch")
    model = pathlib.Path(args.shared) / "checkpoints" / "tinystories-656k"
    if not model.is_dir():
        skip("no trained models beside the checkout")
    config = json.loads((model / "config.json").read_text())
    tensors = safetensors(model / "model.safetensors", torch)
    ids = torch.tensor([(7 * i * i + 3 * i + 11) % 2048 for i in range(256)])
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "ids.txt"
        tokens.write_text(" ".join(str(i) for i in ids.tolist()))
        out = subprocess.run(
            [args.binary, "inspect", str(model), "--tokens", str(tokens), "--json"], capture_output=True, check=True
        )
    measured = json.loads(out.stdout)["layout"]["evidence"]["loss"]
    assert measured["tokens"] == 255, measured
    worst = 0.0
    for layout in ("interleaved", "half_split", "none"):
        expected = loss(config, tensors, ids, layout, torch)
        print(f"{layout:12} PyTorch {expected:.7f}  ropewalk {measured[layout]:.7f}")
        worst = max(worst, abs(expected - measured[layout]))
    if worst > TOLERANCE:
        sys.exit(f"off by {worst:.3g}, more than {TOLERANCE}")


if __name__ == "__main__":
    main()
