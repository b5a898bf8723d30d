#!/usr/bin/env python3
"""Runs models that `ropewalk construct` wrote in PyTorch, as anyone would who knows nothing of ropewalk, and reports
accuracy and the smallest gap (logit of the answer minus the largest other one) by hops and added tokens.

    ropewalk construct letter-task --hops 2 --out letter-2
    python3 examples/run_constructed.py letter-2 --added 0,100                  # inputs that ropewalk draws
    ropewalk task letter --count 400 --hops 1-2 --format tokens --out inputs.safetensors
    python3 examples/run_constructed.py letter-2 --inputs inputs.safetensors    # the same for all models
    python3 examples/run_constructed.py letter-2 --text 'b0 a1 cb ac'               # what it answers

Drawn inputs are those of `ropewalk evaluate MODEL --task KIND`, number, letter or mixed, with the same count, seed and added tokens. --inputs reads what
`ropewalk task` writes: .jsonl lines, .safetensors or .npy arrays (the last column of .npy is the answer; it has no hops).

Needs PyTorch and transformers (4 or 5) with tokenizers and safetensors. Computes in float32, as the proofs assume.
Exit status: 0 where every answer is right, 1 where one is wrong, 2 for bad input.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

Samples = collections.namedtuple("Samples", "tokens answer hops added")  # tensors, but for added


def stop(message):
    print(f"run_constructed.py: {message}", file=sys.stderr)
    sys.exit(2)


def load(folder, device, attention=None):
    """The model in float32, whatever it is stored in, and its tokenizer."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_float32_matmul_precision("highest")  # no TF32
    config = pathlib.Path(folder) / "config.json"
    if not config.is_file():
        stop(f"{folder}: no config.json there")
    if json.loads(config.read_text()).get("model_type") == "ropewalk":
        stop(f"{folder}: of the format plain, which transformers does not know; take gptj or llama")
    how = {} if attention is None else {"attn_implementation": attention}
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, **how)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        stop(f"{folder}: {str(error).splitlines()[0]}")
    return model.float().to(device).eval(), tokenizer


def read(path):
    """The samples of a file that `ropewalk task` wrote, those of one length together."""
    import torch

    path = pathlib.Path(path)
    if not path.is_file():
        stop(f"{path}: not there")
    if path.suffix == ".safetensors":
        import safetensors

        with safetensors.safe_open(path, framework="pt") as file:
            added = int(file.metadata().get("added", 0))
            return [Samples(*(file.get_tensor(k).long() for k in ("tokens", "answer", "hops")), added)]
    if path.suffix == ".npy":
        import numpy

        array = torch.from_numpy(numpy.load(path)).long()
        return [Samples(array[:, :-1], array[:, -1], torch.zeros(len(array), dtype=torch.long), None)]
    groups = collections.defaultdict(list)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            sample = json.loads(line)
            groups[len(sample["tokens"]), sample["added"]].append(
                (sample["tokens"], sample["answer"], sample["hops"])
            )
        except (ValueError, KeyError, TypeError) as error:
            stop(f"{path}: line {number} is not a line of `ropewalk task`: {error}")
    return [Samples(*map(torch.tensor, zip(*rows)), added) for (_, added), rows in groups.items()]


def draw(config, added, options):
    """Samples of the task of a constructed model: those of `ropewalk evaluate`."""
    built = config.ropewalk
    letters, numbers, hops = (int(built[k]) for k in ("letters", "numbers", "hops"))
    command = {
        "lag": ["number", "--integers", numbers, "--window", max(16, numbers)],
        "token": ["letter", "--leaf-digits", numbers],
        "last": ["mixed", "--leaf-digits", numbers],
    }[built["rule"]] + ["--alphabet", letters, "--added", added, "--count", options.count, "--seed", options.seed]
    if built["rule"] != "last":
        command += ["--hops", f"1-{min(hops, 4)}"]
    binary = options.ropewalk or shutil.which("ropewalk")
    if not binary:
        stop("ropewalk is not on the PATH: name it with --ropewalk, or a file of inputs with --inputs")
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/inputs.safetensors"
        result = subprocess.run(
            [binary, "task", *map(str, command), "--format", "tokens", "--out", out], capture_output=True, text=True
        )
        if result.returncode != 0:
            stop(result.stderr.strip())
        return read(out)[0]


def gaps(model, samples, batch, device):
    """The gap at the last token of every sample."""
    import torch

    found = []
    with torch.inference_mode():
        for first in range(0, len(samples.tokens), batch):
            tokens = samples.tokens[first : first + batch].to(device)
            answer = samples.answer[first : first + batch, None].to(device)
            logits = model(input_ids=tokens, use_cache=False).logits[:, -1].double()
            own = logits.gather(1, answer)
            found.append((own - logits.scatter(1, answer, float("-inf")).amax(1, keepdim=True))[:, 0].cpu())
    return torch.cat(found)


def rows_of(model, samples, batch, device):
    """A row for each number of hops, and one for all."""
    gap = gaps(model, samples, batch, device)
    each = [(h, gap[samples.hops == h]) for h in sorted(set(samples.hops.tolist())) if h > 0]
    return [
        {
            "added": samples.added,
            "length": samples.tokens.shape[1],
            "hops": hops,
            "count": len(part),
            "right": int((part > 0).sum()),
            "accuracy": int((part > 0).sum()) / len(part),
            "min_gap": part.min().item(),
        }
        for hops, part in [*each, ("all", gap)]
    ]


def answer_to(model, tokenizer, text, device):
    """The model's answer to a text, and its lead over the second."""
    import torch

    try:
        tokens = tokenizer(text, return_tensors="pt")["input_ids"].to(device)
    except Exception:  # tokenizers has no type of its own for a word that it does not know
        words = set(tokenizer.get_vocab())
        strange = [word for word in text.split() if word not in words]
        stop(f"--text: {' '.join(strange[:1]) or text}: not a word of the model")
    if tokens.shape[1] == 0:
        stop("--text: no words in it")
    with torch.inference_mode():
        (first, second), (best, _) = model(input_ids=tokens, use_cache=False).logits[0, -1].topk(2)
    return {"text": text, "answer": tokenizer.convert_ids_to_tokens(best.item()), "lead": (first - second).item()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a folder that ropewalk construct wrote")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--inputs", metavar="FILE", help="inputs written by ropewalk task")
    what.add_argument("--text", metavar="WORDS", help="one input in words: print what each model answers")
    parser.add_argument("--count", type=int, default=400, metavar="N", help="inputs to draw, of each length (400)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the inputs drawn (0)")
    parser.add_argument("--added", default="0", metavar="K,K,...", help="symbols before the window, of inputs drawn (0)")
    parser.add_argument("--ropewalk", metavar="BINARY", help="the command that draws inputs (the one on the PATH)")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="inputs at once (64)")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda, ...")
    parser.add_argument("--attention", metavar="NAME", help="eager, sdpa, ...: what transformers computes it with")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    options = parser.parse_args()
    try:
        added = [int(k) for k in options.added.split(",")]
    except ValueError:
        stop(f"--added: {options.added}: not a list of counts")
    if min(options.count, options.batch) < 1:
        stop("--count and --batch are at least 1")
    try:
        import torch
        import transformers
    except ImportError as error:
        stop(f"{error.name} is not installed: pip install torch transformers")

    report = []
    for folder in options.models:
        model, tokenizer = load(folder, options.device, options.attention)
        if options.text is not None:
            report.append({"model": folder, **answer_to(model, tokenizer, options.text, options.device)})
            continue
        if options.inputs is None and not hasattr(model.config, "ropewalk"):
            stop(f"{folder}: config.json has no key ropewalk: name a file of inputs with --inputs")
        parts = read(options.inputs) if options.inputs else [draw(model.config, k, options) for k in added]
        for part in parts:
            if max(part.tokens.max(), part.answer.max()) >= model.config.vocab_size:
                stop(f"{folder}: has {model.config.vocab_size} tokens, the inputs have more")
            if model.config.model_type == "gptj" and part.tokens.shape[1] > model.config.n_positions:
                stop(f"{folder}: has positions for {model.config.n_positions} tokens, not {part.tokens.shape[1]}")
            proven = int(getattr(model.config, "ropewalk", {}).get("length", part.tokens.shape[1]))
            if part.tokens.shape[1] > proven:
                print(f"run_constructed.py: warning: {folder}: proven for inputs of up to {proven} tokens, "
                      f"not for {part.tokens.shape[1]}", file=sys.stderr)
        rows = [row for part in parts for row in rows_of(model, part, options.batch, options.device)]
        report.append({"model": folder, "rows": rows})

    if options.json:
        print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__, "models": report}, indent=2))
    for entry in [] if options.json else report:
        if "rows" not in entry:
            print(f"{entry['model']}: {entry['answer']}, ahead of the next by {entry['lead']:.4f}")
            continue
        print(f"{entry['model']} in PyTorch {torch.__version__}, transformers {transformers.__version__}")
        print("   added  length  hops  inputs  accuracy  smallest gap")
        for r in entry["rows"]:
            k = "-" if r["added"] is None else r["added"]
            print(f"  {k:>6} {r['length']:>7} {r['hops']:>5} {r['count']:>7} {r['accuracy']:>9.4f} {r['min_gap']:>13.6f}")
    return any(r["right"] < r["count"] for entry in report for r in entry.get("rows", []))


if __name__ == "__main__":
    sys.exit(main())
