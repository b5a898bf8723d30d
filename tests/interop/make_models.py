#!/usr/bin/env python3
"""Writes tests/data/models: one tiny random model of each family with what transformers computes on it.

    python3 -m venv /tmp/hf && /tmp/hf/bin/pip install transformers==4.57.6 torch safetensors
    /tmp/hf/bin/python tests/interop/make_models.py [FOLDER]

Each folder holds config.json and model.safetensors as save_pretrained writes them, and
expected.safetensors: `tokens`, the logits at every position (eager attention, float32, dropout off) and
the hidden states entering every layer. The weights are drawn anew, larger than at initialisation, norms
and biases too, so that every part of the layer is seen in the logits.
"""

import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

llama = dict(vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=False)
small_windows = dict(sliding_window=5, layer_types=["sliding_attention", "full_attention"])
models = {
    "gptj": transformers.GPTJConfig(vocab_size=24, n_positions=64, n_embd=16, n_layer=2, n_head=2, rotary_dim=4),
    "gpt_neox": transformers.GPTNeoXConfig(vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                           num_attention_heads=2, rotary_pct=0.5, max_position_embeddings=64),
    "gpt_neox_sequential": transformers.GPTNeoXConfig(
        vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        rotary_pct=1.0, max_position_embeddings=64, use_parallel_residual=False),
    "llama": transformers.LlamaConfig(**llama, rope_theta=5000.0),
    "llama_scaled": transformers.LlamaConfig(
        **{**llama, "tie_word_embeddings": True}, head_dim=8, attention_bias=True, mlp_bias=True,
        rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)),
    "mistral": transformers.MistralConfig(**llama, sliding_window=5),
    "qwen2": transformers.Qwen2Config(**llama),
    "qwen3": transformers.Qwen3Config(**llama, head_dim=8),
    "phi3": transformers.Phi3Config(**llama, pad_token_id=0),
    "gemma2": transformers.Gemma2Config(**{**llama, "tie_word_embeddings": True}, head_dim=8,
                                        query_pre_attn_scalar=24, **small_windows),
    "gemma3": transformers.Gemma3TextConfig(
        **{**llama, "tie_word_embeddings": True}, head_dim=8, query_pre_attn_scalar=24,
        rope_scaling=dict(rope_type="linear", factor=8.0), **small_windows),
}


def write(name, config, folder):
    torch.manual_seed(sum(map(ord, name)))
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            base = 1.0 if parameter.dim() == 1 and parameter.mean() > 0.5 else 0.0
            parameter.copy_(base + 0.25 * torch.randn_like(parameter))
        tokens = torch.randint(0, config.vocab_size, (1, 14))
        out = model(tokens, output_hidden_states=True)
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tensors = {"tokens": tokens[0], "logits": out.logits[0].float().contiguous()}
    for i, hidden in enumerate(out.hidden_states[:-1]):
        tensors[f"entering.{i}"] = hidden[0].float().contiguous()
    save_file(tensors, folder / "expected.safetensors")
    print(name, sum(p.numel() for p in model.parameters()), float(out.logits.abs().max()))


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "data" / "models"
    print("transformers", transformers.__version__, "torch", torch.__version__)
    for name, config in models.items():
        write(name, config, root / name)
