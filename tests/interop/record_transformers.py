#!/usr/bin/env python3
"""Records the rotary tables that Hugging Face transformers builds, for tests/data/schedule_cases.json.

    python3 -m venv /tmp/hf && /tmp/hf/bin/pip install transformers==5.24.0 torch
    /tmp/hf/bin/python tests/interop/record_transformers.py

writes tests/data/transformers-VERSION.json. For every case the model's own rotary module is built from the
config and run once at the wanted length, and the buffer it then holds is stored: floats as their 32 bits
in hexadecimal. Cases whose scaling type transformers does not have are left out.
"""

import inspect
import json
import pathlib
import struct
import sys

import torch
import transformers
from transformers import AutoConfig

here = pathlib.Path(__file__).resolve().parent
data = here.parent / "data"
configs = here.parent.parent / "examples" / "configs"
major = int(transformers.__version__.split(".")[0])


def bits(x):
    return "%08x" % struct.unpack("<I", struct.pack("<f", float(x)))[0]


def rotary_class(module, model_type):
    names = [n for n, c in inspect.getmembers(module, inspect.isclass) if n.endswith("RotaryEmbedding")]
    names = [n for n in names if "Vision" not in n and "Multimodal" not in n]
    if "Gemma4TextRotaryEmbedding" in names:
        names = ["Gemma4TextRotaryEmbedding"]
    if len(names) != 1:
        raise SystemExit(f"{model_type}: which rotary module? {names}")
    return getattr(module, names[0])


def gptj(module, config):
    """GPT-J keeps only sines; the angles of position 1 are the frequencies."""
    seen = []
    original = torch.sin
    torch.sin = lambda x: seen.append(x) or original(x)
    try:
        module.create_sinusoidal_positions(2, config.rotary_dim)
    finally:
        torch.sin = original
    return seen[0][1], 1.0


def table(case):
    spec = case["config"]
    raw = json.loads((configs / spec).read_text()) if isinstance(spec, str) else dict(spec)
    model_type = raw.pop("model_type", None)
    scaling = raw.get("rope_scaling") or {}
    if model_type is None or str(scaling.get("rope_type", "")).startswith("ropewalk."):
        return None
    try:
        config = AutoConfig.for_model(model_type, **raw)
    except (KeyError, ValueError):
        return None  # a model that this version does not have
    package = type(config).__module__.rsplit(".", 1)[0]
    module = __import__(f"{package}.modeling_{package.rsplit('.', 1)[1]}", fromlist=["x"])
    if model_type == "gptj":
        return gptj(module, config)
    kind = None
    if "layer" in case:
        kind = config.layer_types[case["layer"]]
    cls = rotary_class(module, model_type)
    if kind is not None and major == 4:  # two modules, the local one from a changed copy of the config
        if kind == "sliding_attention":
            config.rope_theta = config.rope_local_base_freq
            config.rope_scaling = {"rope_type": "default"}
        kind = None
    rotary = cls(config)
    length = case.get("length", 1)
    arguments = [torch.zeros(1, 1), torch.tensor([[length - 1]])]
    rotary(*arguments, **({"layer_type": kind} if kind else {}))
    prefix = f"{kind}_" if kind else ""
    return getattr(rotary, prefix + "inv_freq"), getattr(rotary, prefix + "attention_scaling")


result = {"transformers": transformers.__version__, "torch": torch.__version__,
          "python": sys.version.split()[0], "cases": {}}
for case in json.loads((data / "schedule_cases.json").read_text()):
    found = table(case)
    if found is None:
        print("left out:", case["name"])
        continue
    inv_freq, factor = found
    assert inv_freq.dtype == torch.float32
    result["cases"][case["name"]] = {"attention_factor": bits(factor),
                                     "inv_freq": [bits(x) for x in inv_freq.tolist()]}
text = json.dumps(result, indent=1)
(data / f"transformers-{transformers.__version__}.json").write_text(text + "\n")
print(len(result["cases"]), "tables")
