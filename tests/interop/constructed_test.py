"""Loads what `ropewalk construct` writes in stock transformers: small models of both forms, every task and every type.

- Every weight of the file is one that the model has, and none is missing.
- Logits at all positions are those of the published formulas, computed here in double from the file.
- Every answer is right, with the smallest gap that `ropewalk evaluate` finds on the same inputs, and above the proven one.
- The tokenizer of the folder turns the words of the task into its ids, and refuses others.
- examples/run_constructed.py says the same as a program.

Skipped, with the reason, where PyTorch or transformers are absent.
"""

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-4
YARN = {"model_type": "qwen2", "head_dim": 32, "rope_theta": 1e6, "max_position_embeddings": 256,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}
COUNT = 24
LENGTH = 24
TASKS = {  # of evaluate: the task of construct, its vocabulary, the rest of the model, hops of the inputs
    "number": ("number-task", "--alphabet 6 --integers 4", "--hops 2 --layers 3 --head-dim 16", "1-2"),
    "letter": ("letter-task", "--alphabet 5 --leaf-digits 3", "--hops 2 --layers 3", "1-2"),
    "index": ("index", "--alphabet 5 --integers 5", "--head-dim 12", "1"),
    "index 2": ("index", "--alphabet 5 --integers 5", "--schedule {folder}/yarn.json", "1"),  # of llama, as the next
    "index 3": ("index", "--alphabet 5 --integers 5", "--theta 5/4", "1"),
    "retrieval": ("retrieval", "--alphabet 4 --leaf-digits 3", "", "1"),
    "mixed": ("mixed", "--alphabet 4 --leaf-digits 3", "", "1"),
}


def skip(reason):
    print("ropewalk test skipped:", reason)
    sys.exit(0)


def weights(path, np):
    """Tensors of a safetensors file in double."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        data = raw[8 + size + entry["data_offsets"][0] : 8 + size + entry["data_offsets"][1]]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(data, {"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = values.astype(np.float64).reshape(entry["shape"])
    return tensors


def logits_of(config, w, tokens, np):
    """At every position, of a model with one head and MLPs of zeros."""
    gptj = config["model_type"] == "gptj"
    assert all(not v.any() for k, v in w.items() if ".mlp." in k), "an MLP does something"
    head = config["n_embd"] if gptj else config["head_dim"]
    turning = config["rotary_dim"] if gptj else head
    base = 10000.0 if gptj else config["rope_theta"]
    n = len(tokens)
    factors = (config.get("rope_scaling") or {"short_factor": 1.0})["short_factor"]
    angle = np.outer(np.arange(n), base ** (-np.arange(0, turning, 2) / turning) / factors)
    # The two coordinates of plane f.
    first = np.arange(0, turning, 2) if gptj else np.arange(turning // 2)
    second = first + (1 if gptj else turning // 2)
    past = np.triu(np.full((n, n), -np.inf), 1)

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True) if gptj else x
        eps = config["layer_norm_epsilon" if gptj else "rms_norm_eps"]
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]
        return y + w[name + ".bias"] if gptj else y

    def times(x, name):
        y = x @ w[name + ".weight"].T
        return y + w[name + ".bias"] if name + ".bias" in w else y

    def turned(x):
        y = x.copy()
        y[:, first] = np.cos(angle) * x[:, first] - np.sin(angle) * x[:, second]
        y[:, second] = np.sin(angle) * x[:, first] + np.cos(angle) * x[:, second]
        return y

    stem = "transformer." if gptj else "model."
    x = w[stem + ("wte" if gptj else "embed_tokens") + ".weight"][tokens]
    for layer in range(config["n_layer" if gptj else "num_hidden_layers"]):
        at = f"{stem}{'h' if gptj else 'layers'}.{layer}."
        attention = at + ("attn." if gptj else "self_attn.")
        h = norm(x, at + ("ln_1" if gptj else "input_layernorm"))
        q, k = (turned(times(h, f"{attention}{part}_proj")) for part in "qk")
        scores = q @ k.T / np.sqrt(head) + past
        weight = np.exp(scores - scores.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        x = x + times(weight @ times(h, attention + "v_proj"), attention + ("out_proj" if gptj else "o_proj"))
    return times(norm(x, stem + ("ln_f" if gptj else "norm")), "lm_head")


def refuses(tokenizer, text):
    try:
        tokenizer(text)
    except Exception as error:
        return "vocab" in str(error).lower() or "unk" in str(error).lower()
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--example", required=True, help="examples/run_constructed.py")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        skip("no PyTorch")
    try:
        import transformers
    except ImportError:
        skip("no transformers")
    import numpy as np

    spec = importlib.util.spec_from_file_location("run_constructed", args.example)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    transformers.utils.logging.set_verbosity_error()

    def ropewalk(*words):
        result = subprocess.run([args.binary, *map(str, words)], capture_output=True, text=True)
        assert result.returncode == 0, f"{words}: {result.stderr}"
        return result.stdout

    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}")
    print("task       form   type  proven gap  smallest gap  ropewalk's  off by   logits off by")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "yarn.json").write_text(json.dumps(YARN))
        for title, (what, words, rest, hops) in TASKS.items():
            task = title.split()[0]
            for form in ("gptj", "llama") if task == title else ("llama",):
                for dtype in ("f32", "bf16", "f16"):
                    out = folder / f"{title}-{form}-{dtype}"
                    made = json.loads(
                        ropewalk("construct", what, *words.split(), *rest.format(folder=folder).split(), "--length", LENGTH, "--format", form,
                                 "--dtype", dtype, "--out", out, "--json")
                    )
                    assert made["proven"], made
                    config = json.loads((out / "config.json").read_text())
                    model, tokenizer = example.load(out, "cpu")
                    assert [type(model).__name__] == config["architectures"], type(model)
                    w = weights(out / "model.safetensors", np)
                    # Buffers apart, the model's names and numbers are those of the file.
                    state = dict(model.named_parameters())
                    assert set(state) == set(w), set(state) ^ set(w)
                    for name, value in state.items():
                        assert np.array_equal(value.detach().numpy(), w[name]), name

                    text = ropewalk("task", task, *words.split(), "--window", 16, "--hops", hops, "--count", COUNT,
                                    "--added", LENGTH - 17)
                    lines = [json.loads(line) for line in text.splitlines()]
                    for line in lines:
                        assert tokenizer(line["text"])["input_ids"] == line["tokens"], line
                        assert tokenizer.convert_ids_to_tokens(line["answer"]) == line["answer_text"], line
                    assert refuses(tokenizer, lines[0]["text"] + " zz9"), "a word that is none was taken"

                    tokens = torch.tensor([line["tokens"] for line in lines])
                    with torch.inference_mode():
                        logits = model(input_ids=tokens).logits.double().numpy()
                    assert logits.shape[:2] == (COUNT, LENGTH), logits.shape
                    off = max(
                        np.abs(seen - logits_of(config, w, row, np)).max()
                        for seen, row in zip(logits[:8], tokens.numpy())
                    )
                    answers = np.array([line["answer"] for line in lines])
                    own = logits[np.arange(COUNT), -1, answers].copy()
                    logits[np.arange(COUNT), -1, answers] = -np.inf
                    gap = (own - logits[:, -1].max(-1)).min()

                    rows = json.loads(
                        ropewalk("evaluate", out, "--task", task, "--count", COUNT, "--added", LENGTH - 17, "--json")
                    )["rows"]
                    theirs = next(row for row in rows if row["hops"] == "all")
                    proven = made["float32"]["gap"]
                    print(f"{title:10} {form:6} {dtype:5} {proven:10.6f} {gap:13.6f} {theirs['min_gap']:11.6f}"
                          f" {abs(gap - theirs['min_gap']):8.1e} {off:14.1e}")
                    assert theirs["count"] == COUNT and theirs["accuracy"]["value"] == 1, theirs
                    assert gap >= proven, "below what is proven"
                    assert abs(gap - theirs["min_gap"]) <= TOLERANCE, "ropewalk evaluate has another gap"
                    assert off <= TOLERANCE, "other logits than by the formulas"

        # The example as a program, and the same inputs from a file. It prints its report alone.
        model = folder / "letter-llama-bf16"
        seen = subprocess.run(
            [sys.executable, "-B", args.example, model, "--count", str(COUNT), "--ropewalk", args.binary, "--json"],
            capture_output=True, text=True,
        )
        assert seen.returncode == 0 and seen.stderr == "", seen
        drawn = json.loads(seen.stdout)["models"][0]["rows"]
        assert [row["hops"] for row in drawn] == [1, 2, "all"], drawn
        theirs = json.loads(ropewalk("evaluate", model, "--task", "letter", "--count", COUNT, "--json"))["rows"]
        for mine, row in zip(drawn, theirs, strict=True):
            assert mine["count"] == row["count"] and abs(mine["min_gap"] - row["min_gap"]) <= TOLERANCE, (mine, row)
        loaded, tokenizer = example.load(model, "cpu")
        _, words, _, hops = TASKS["letter"]
        for name in ("inputs.safetensors", "inputs.npy", "inputs.jsonl"):
            ropewalk("task", "letter", *words.split(), "--hops", hops, "--count", COUNT, "--out", folder / name,
                     "--format", "jsonl" if name.endswith("jsonl") else "tokens")
            (part,) = example.read(folder / name)
            rows = example.rows_of(loaded, part, 5, "cpu")
            assert len(rows) == (1 if name.endswith("npy") else 3), rows
            for mine, row in zip(reversed(rows), reversed(drawn)):
                assert mine["right"] == row["count"] and abs(mine["min_gap"] - row["min_gap"]) <= TOLERANCE, (mine, row)
        assert example.answer_to(loaded, tokenizer, "b0 a1 cb ac", "cpu")["answer"] == "b0"


if __name__ == "__main__":
    main()
