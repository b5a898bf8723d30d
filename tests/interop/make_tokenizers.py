"""Writes tests/data/tokenizers.json: small byte-level tokenizers of four kinds, and the ids that the
library `tokenizers` gives for some texts.

  pip install tokenizers
  python3 tests/interop/make_tokenizers.py > tests/data/tokenizers.json
"""

import json
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

CORPUS = [
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.",
    "One day, she saw a big, red ball. It's hers, isn't it? They've 123 balls and 4567 more; we'll see.",
    "the theory of the rotary head: the lag, the plane, the margin and the schedule\n\n  indented\tlines\n",
] * 3
TEXTS = [
    "Once upon a time, there was a little girl named Lily.",
    "It's what they'd have; WE'LL see 12345 and 67.",
    "  two spaces,   three   \n\n\tand a tab\r\n",
    "caf\u00e9 na\u00efve \u4e2d\u6587 \U0001f600 \u0661\u0662",
    "",
    " ",
    "x",
]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def trained(pre_tokenizer):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=340,
            special_tokens=["<|begin|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def main():
    gpt2 = trained(pre_tokenizers.ByteLevel(add_prefix_space=False))
    prefixed = trained(pre_tokenizers.ByteLevel(add_prefix_space=True))
    digits = trained(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    )
    llama3 = trained(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    )
    llama3.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 0)]),
        ]
    )
    cases = []
    for name, tokenizer in (("gpt2", gpt2), ("prefixed", prefixed), ("digits", digits), ("llama3", llama3)):
        content = json.loads(tokenizer.to_str())
        if name == "llama3":
            content["model"]["ignore_merges"] = True
            tokenizer = Tokenizer.from_str(json.dumps(content))
        cases.append(
            {
                "name": name,
                "tokenizer": content,
                "texts": [
                    {"text": text, "ids": tokenizer.encode(text).ids, "decoded": tokenizer.decode(tokenizer.encode(text).ids)}
                    for text in TEXTS
                ],
            }
        )
    json.dump({"tokenizers": tokenizers.__version__, "cases": cases}, sys.stdout, ensure_ascii=True)


if __name__ == "__main__":
    main()
