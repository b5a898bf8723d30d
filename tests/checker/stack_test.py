#!/usr/bin/env python3
"""Tests of ropewalk-check on facts of kind `stack`: tiny Transformers of all forms and tasks are accepted with bounds that
hold on every input and are close; whatever changes a model, its files or the claim is rejected.

    ROPEWALK_CHECK=build/release/bin/ropewalk-check python3 tests/checker/stack_test.py [Stacks Models Claims]
"""

import copy
import json
import os
import random
import re
import subprocess
import tempfile
import unittest
from fractions import Fraction

from certificates import BINARY, run, seal
from stacks import Stack, Task, safetensors, write

TASKS = [Task("lag", 3, 2, 1), Task("lag", 3, 2, 2), Task("token", 2, 2, 1), Task("token", 2, 2, 2), Task("last", 2, 2, 1)]
LENGTHS = {"lag": 4, "token": 3, "last": 3}
MODES = [("gptj", "real"), ("gptj", "float32"), ("llama", "real"), ("llama", "float32"), ("plain", "real")]


class Case(unittest.TestCase):
    def check(self, files, fact, before=None):
        """Status and line about this fact beside these files."""
        with tempfile.TemporaryDirectory() as folder:
            fact = write(folder, files, fact)
            if before:
                before(folder, fact)
            path = os.path.join(folder, "c.json")
            with open(path, "w") as file:
                json.dump(seal([fact]), file)
            code, out, err = run(path)
            self.assertEqual((out.count("\n"), err), (1, ""), out)
            return code, out.strip().replace(path, "FILE")

    def accepted(self, files, fact, before=None):
        self.assertEqual(self.check(files, fact, before), (0, "accepted: FILE: proved, 1 fact"))

    def rejected(self, files, fact, reason, code=1, before=None):
        got, line = self.check(files, fact, before)
        self.assertTrue(line.startswith("rejected: FILE: "), line)
        self.assertIn(reason, line)
        self.assertEqual(got, code, line)

    def bounds(self, files, task, **claim):
        """The gap and the masses that the checker finds, from what it says of claims that are too high."""
        def least(what, **claims):
            line = self.check(files, task.fact(**{**claim, **claims}))[1]
            return float(re.search(what + r": at least (\S+), no more$", line).group(1))
        low = ["1e-9"] * task.hops
        masses = [least("mass", mass=low[:l] + [str(1 - Fraction(1, 10**18))] + low[l + 1:]) for l in range(task.hops)]
        return least("gap", mass=low, gap="1e9"), masses


class Stacks(Case):
    def test_bounds_hold_on_every_input_and_are_close(self):
        for task in TASKS:
            for form, arithmetic in MODES:
                with self.subTest(form=form, arithmetic=arithmetic, task=vars(task)):
                    stack, length = Stack(form, task), LENGTHS[task.rule]
                    claim = {"length": str(length), "arithmetic": arithmetic}
                    gap, masses = self.bounds(stack.files(), task, **claim)
                    if arithmetic == "real":
                        seen_gap, seen_masses = stack.observed(length)
                    for bound, seen in [(gap, seen_gap), *zip(masses, seen_masses)]:
                        self.assertLessEqual(bound, seen + 1e-12)
                        self.assertGreater(bound, seen * 0.998)
                    down = [str(Fraction(x)) for x in [gap, *masses]]
                    up = [str(Fraction(x) + Fraction(1, 10**15)) for x in [gap, *masses]]
                    self.accepted(stack.files(), task.fact(**claim, gap=down[0], mass=down[1:]))
                    self.rejected(stack.files(), task.fact(**claim, gap=up[0], mass=down[1:]), "gap: at least ")
                    self.rejected(stack.files(), task.fact(**claim, gap=down[0], mass=up[1:]), "hop 1: mass: at least ")

    def test_bounds_hold_where_no_two_weights_are_alike(self):
        close = 0
        for seed in range(2):
            for task in TASKS:
                for form in ["gptj", "llama", "plain"]:
                    length = 3
                    stack = Stack(form, task, sharp=9, jitter=0.03, seed=seed)
                    gap, masses = self.bounds(stack.files(), task, length=str(length))
                    seen_gap, seen_masses = stack.observed(length)
                    for bound, seen in [(gap, seen_gap), *zip(masses, seen_masses)]:
                        self.assertLessEqual(bound, seen + 1e-12, (form, vars(task), seed))
                    close += gap > 0.8 * seen_gap > 0
        self.assertGreater(close, 20)  # of 30

    def test_tables_by_factors(self):
        for task in [TASKS[1], TASKS[4]]:
            plain, slowed = Stack("llama", task), Stack("llama", task, slowed=True)
            for arithmetic in ["real", "float32"]:
                claim = {"length": "3", "arithmetic": arithmetic}
                (gap, masses), (same, alike) = (self.bounds(s.files(), task, **claim) for s in [plain, slowed])
                seen_gap, seen_masses = slowed.observed(3)
                for bound, other, seen in [(gap, same, seen_gap), *zip(masses, alike, seen_masses)]:
                    self.assertLessEqual(other, seen + 1e-12)
                    self.assertAlmostEqual(bound, other, delta=1e-6 if arithmetic == "float32" else 1e-12)
                if arithmetic == "float32" and task.rule == "lag":
                    self.assertLess(same, gap)  # the factors are rounded too

        stack = Stack("llama", TASKS[1], slowed=True)
        scaling, parameters = stack.config()["rope_scaling"], stack.config()["rope_parameters"]
        several = len(stack.factors)

        def files(**changes):
            config = {**stack.config(), "rope_parameters": None, "rope_scaling": {**scaling, **changes}}
            return {**stack.files(), "config.json": json.dumps(config).encode()}
        self.accepted(files(), stack.task.fact())
        self.accepted(files(factor=8, original_max_position_embeddings=2), stack.task.fact())
        for changes, reason, code in [
                ({"attention_factor": 1.1}, "attention_factor: not 1", 1), ({"attention_factor": None}, "attention_factor: not 1", 1),
                ({"rope_type": "yarn"}, "rope_type: not longrope", 1), ({"beta_fast": 32}, "beta_fast: unknown key", 2),
                ({"long_factor": scaling["long_factor"][:-1] + [3]}, "long_factor: not the short_factor", 1),
                ({"short_factor": [1.0], "long_factor": [1.0]}, "short_factor: not half as many", 1),
                ({"short_factor": 1, "long_factor": 1}, "short_factor: not half as many", 1),
                *[({"short_factor": [x] * several, "long_factor": [x] * several}, "short_factor: no numbers from", 1)
                  for x in [0, -1, 1e-19, 1e37, "1", None, [1]]],
                ({"short_factor": [1e36] * several, "long_factor": [1e36] * several}, "a frequency not above 2^-120", 1),
                # All planes alike tell no lag from another.
                ({"short_factor": [1e36 / 2] * several, "long_factor": [1e36 / 2] * several}, "hop 1: ", 1)]:
            with self.subTest(changes=changes):
                self.rejected(files(**changes), stack.task.fact(), reason, code)
        for changes in [{"rope_theta": 3.0}, {"rope_type": "default"}, {"factor": 2.0}]:
            config = {**stack.config(), "rope_parameters": {**parameters, **changes}}
            self.rejected({**stack.files(), "config.json": json.dumps(config).encode()}, stack.task.fact(), "rope_parameters: not rope_scaling")

    def test_weak_heads_are_known_to_be_weak(self):
        for form in ["gptj", "llama", "plain"]:
            stack = Stack(form, TASKS[0], sharp=2)
            gap, (mass,) = self.bounds(stack.files(), stack.task, length="5")
            seen_gap, (seen,) = stack.observed(5)
            self.assertTrue(seen - 1e-5 < mass <= seen < 0.9, (form, mass, seen))
            self.assertTrue(seen_gap - 1e-3 < gap <= seen_gap, (form, gap, seen_gap))

    def test_longer_inputs_weaken_the_bounds(self):
        # Blocks of lags begin at 1024.
        stack = Stack("gptj", Task("lag", 3, 2, 1), sharp=1, length=5000)
        masses = [self.bounds(stack.files(), stack.task, length=n)[1][0] for n in ["1", "3", "8", "1023", "1024", "1025", "5000"]]
        self.assertEqual(masses, sorted(masses, reverse=True))
        self.assertEqual(len(set(masses)), len(masses))
        # One query alone, a letter: all its mass is right.
        self.assertGreater(masses[0], 1 - 1e-6)

    def test_dtypes(self):
        stack = Stack("gptj", TASKS[1], exact=True)
        for dtype in ["F64", "F32", "F16", "BF16"]:
            self.accepted(stack.files(dtype), stack.task.fact())
        self.rejected(stack.files("F64"), stack.task.fact(arithmetic="float32"), "a number that is no float32")
        self.accepted(stack.files("F16"), stack.task.fact(arithmetic="float32"))

    def test_blocks_and_long_inputs_agree_with_a_plain_sum(self):
        # One hop by lag, plain: the mass is known in closed form from the weights alone.
        import mpmath
        stack = Stack("plain", Task("lag", 3, 2, 1), sharp=1, length=3000)
        q, k = stack.layers[0]["q"], stack.layers[0]["k"]
        thetas = [mpmath.mpf(1), 2 * mpmath.pi / 31, mpmath.mpf(1) / 100, mpmath.mpf(10) ** -3]
        worst = 1
        for m in range(3):
            column = stack.places["class", m]
            logits = []
            for t in range(3000):
                logits.append(sum((q[2 * f][column] * k[2 * f][0] + q[2 * f + 1][column] * k[2 * f + 1][0]) * 64 * mpmath.cos(t * theta)
                                  + (q[2 * f][column] * k[2 * f + 1][0] - q[2 * f + 1][column] * k[2 * f][0]) * 64 * mpmath.sin(t * theta)
                                  for f, theta in enumerate(thetas)))
            worst = min(worst, 1 / sum(mpmath.exp(x - logits[m]) for x in logits))
        _, (mass,) = self.bounds(stack.files(), stack.task, length="3000")
        self.assertLessEqual(mass, worst)
        self.assertGreater(mass, worst * (1 - mpmath.mpf(10) ** -5))


class Models(Case):
    """One change each to a model that is accepted."""

    def setUp(self):
        self.stacks = {form: Stack(form, TASKS[1]) for form in ["gptj", "llama", "plain"]}

    def change_weights(self, form, reason, change, code=1, arithmetic="real"):
        stack = self.stacks[form]
        tensors = copy.deepcopy(stack.tensors())
        change(tensors, stack.places)
        files = stack.files()
        files["model.safetensors"] = safetensors(tensors)
        self.rejected(files, stack.task.fact(arithmetic=arithmetic), reason, code)

    def change_config(self, form, reason, code=1, arithmetic="real", **keys):
        stack = self.stacks[form]
        config = {**stack.config(), **keys}
        config = {key: value for key, value in config.items() if value != "absent"}
        files = stack.files()
        files["config.json"] = json.dumps(config).encode()
        self.rejected(files, stack.task.fact(arithmetic=arithmetic), reason, code)

    def test_unchanged(self):
        for form, arithmetic in MODES:
            self.accepted(self.stacks[form].files(), self.stacks[form].task.fact(arithmetic=arithmetic))

    def test_single_weights(self):
        at = "transformer.h.0."

        def put(name, row, column, value):
            def change(tensors, places):
                i, j = (places[x] if x in places else x for x in (row, column))
                tensors[name] = [row[:] for row in tensors[name]]  # zeros are shared
                tensors[name][i][j] = value
            return change

        def put_in(name, place, value):
            def change(tensors, places):
                tensors[name][places[place] if place in places else place] = value
            return change

        q, k, v, o = (at + f"attn.{name}_proj.weight" for name in ["q", "k", "v", "out"])
        for change, reason in [
                (put(q, 0, ("class", 1), -100.0), "hop 1: mass: at least "),
                (put(q, 0, ("class", 1), -1e4), "hop 1: wrong keys may outweigh the right ones"),
                (put("transformer.h.1.attn.q_proj.weight", 0, (1, "hi", 0), 1e-30), "hop 2: queries read source 1 (token "),
                (put(k, 1, (0, "hi", 0), 1e3), "hop 1: wrong keys may outweigh"),
                (put("transformer.h.1.attn.k_proj.weight", 0, (1, "hi", 0), 1e-30), "hop 2: keys read source 1"),
                (put("transformer.h.1.attn.v_proj.weight", 0, (0, "hi", 0), 1e-30), "hop 2: values read source 0"),
                (put(v, 0, (0, "hi", 0), 0.0), "gap: "),
                (put(v, 0, (0, "hi", 0), -1.0), "gap: at least -"),
                (put(o, "balance", 0, -12.0), "hop 1: source 1: the mean of token "),
                (put(o, "bias", 0, 1e-30), "the mean of token "),
                (put("transformer.h.2.attn.out_proj.weight", 0, 0, 1e-30), "layer 2: above the hops, but it writes"),
                (put("transformer.h.2.mlp.fc_in.weight", 1, 0, 1e-30), "transformer.h.2.mlp.fc_in.weight: not all 0"),
                (put(at + "mlp.fc_out.weight", 0, 1, 1e-30), "fc_out.weight: not all 0"),
                (put_in(at + "mlp.fc_in.bias", 0, 1.0), "fc_in.bias: not all 0"),
                (put_in(at + "mlp.fc_out.bias", 0, 1.0), "fc_out.bias: not all 0"),
                (put("transformer.wte.weight", 3, "balance", -66.0), "source 0: the mean of token 3"),
                (put("transformer.wte.weight", 3, ("class", 0), 0.0), "the mean of token 3"),
                (put("lm_head.weight", 3, (1, "hi", 0), 1e-30), "gap: the unembedding reads source 1"),
                (put("lm_head.weight", 4, (2, "hi", 0), 0.0), "gap: "),
                (put("lm_head.weight", 4, "bias", 1e-30), "gap: the logits have a constant"),
                (put_in("lm_head.bias", 4, 1e-30), "gap: the logits have a constant"),
                (put_in(at + "ln_1.bias", ("class", 0), 1e-30), "hop 1: queries have a constant"),
                (put_in(at + "ln_1.bias", (0, "hi", 1), 1e-30), "hop 1: values have a constant"),
                (put_in(at + "ln_1.weight", ("class", 1), -1.0), "hop 1: wrong keys"),
                (put_in("transformer.ln_f.bias", (2, "hi", 1), 1e-30), "gap: the logits have a constant"),
                (put_in("transformer.ln_f.weight", (2, "hi", 1), 0.0), "gap: "),
                (put(q, 0, 0, float("nan")), "q_proj.weight: a number that is not finite"),
                (put(q, 0, 0, float("inf")), "q_proj.weight: a number that is not finite"),
                (put("transformer.h.2.attn.v_proj.weight", 0, 0, float("-inf")), "a number that is not finite")]:
            with self.subTest(reason=reason):
                self.change_weights("gptj", reason, change)
        at = "model.layers.0."
        for change, reason in [
                (put_in(at + "self_attn.q_proj.bias", 0, 1e-30), "hop 1: queries have a constant"),
                (put_in(at + "self_attn.v_proj.bias", 0, 1e-30), "hop 1: values have a constant"),
                (put_in(at + "self_attn.o_proj.bias", 0, 1e-30), "hop 1: the bias of what it writes is not 0"),
                (put_in("model.layers.2.self_attn.o_proj.bias", 0, 1e-30), "layer 2: the bias of what it writes is not 0"),
                (put_in(at + "self_attn.k_proj.bias", 0, 0.0), "hop 1: "),
                (put_in(at + "post_attention_layernorm.weight", 0, 1e30), "post_attention_layernorm: beyond 2^64"),
                (put(at + "mlp.gate_proj.weight", 0, 0, 1.0), "gate_proj.weight: not all 0"),
                (put(at + "mlp.up_proj.weight", 0, 0, 1.0), "up_proj.weight: not all 0"),
                (put(at + "mlp.down_proj.weight", 0, 0, 1.0), "down_proj.weight: not all 0")]:
            self.change_weights("llama", reason, change)
        for change, reason in [
                (put("layers.0.W_K", 0, 0, 0.0), "hop 1: "),
                (put("layers.1.W_V", 0, (0, "hi", 0), 1e-30), "hop 2: values read source 0"),
                (put("layers.2.W_O", 0, 0, 1e-30), "layer 2: above the hops, but it writes"),
                (put("unembedding", 1, ("class", 1), 0.0), "gap: at least "),
                (put("unembedding", 0, 0, 1.0), "gap: at least -")]:  # padding never answers
            self.change_weights("plain", reason, change)

    def test_float32_can_overflow(self):
        def change(tensors, places):
            for name in ["q", "k"]:
                tensors[f"transformer.h.2.attn.{name}_proj.weight"][0][0] = 1e18
        self.change_weights("gptj", "float32 may overflow", change, arithmetic="float32")

    def test_float32_feels_rows_that_do_not_take_the_mean_out(self):
        # Behind weights of 10^5 each the computed mean counts; in real arithmetic there is none.
        def change(tensors, places):
            for row in tensors["transformer.h.0.attn.q_proj.weight"][:8]:
                row[places["zero"]] = 1e9
        stack = self.stacks["gptj"]
        tensors = copy.deepcopy(stack.tensors())
        change(tensors, stack.places)
        self.accepted({**stack.files(), "model.safetensors": safetensors(tensors)}, stack.task.fact())
        self.change_weights("gptj", "hop 1: wrong keys may outweigh", change, arithmetic="float32")

    def test_tensors(self):
        self.change_weights("gptj", "a tensor that is not of this form", lambda t, _: t.update(extra=[1.0]))
        self.change_weights("gptj", "a tensor that is not of this form", lambda t, _: t.update({"transformer.h.0.attn.q_proj.bias": [0.0]}))
        self.change_weights("gptj", "transformer.ln_f.bias: missing", lambda t, _: t.pop("transformer.ln_f.bias"))
        self.change_weights("gptj", "transformer.ln_f.bias: not of the shape", lambda t, _: t.update({"transformer.ln_f.bias": [0.0]}))
        self.change_weights("llama", "lm_head.weight: not of the shape", lambda t, _: t["lm_head.weight"].pop())
        self.change_weights("plain", "layers.1.W_O: not of the shape", lambda t, _: [row.append(0.0) for row in t["layers.1.W_O"]])

    def test_configs(self):
        for form, keys, reason, code in [
                ("gptj", {"scale_attn_by_inverse_layer_idx": True}, "unknown key", 2), ("gptj", {"n_head": 2}, "n_head: not 1", 1),
                ("gptj", {"n_positions": 5}, "n_positions: below the length", 1), ("gptj", {"n_positions": "absent"}, "n_positions: missing", 2),
                ("gptj", {"tie_word_embeddings": True}, "tie_word_embeddings: not false", 1), ("gptj", {"vocab_size": 7}, "wte.weight: not of the shape", 1),
                ("gptj", {"vocab_size": True}, "vocab_size: no integer", 1), ("gptj", {"n_layer": 2}, "a tensor that is not", 1),
                ("gptj", {"n_layer": 4}, "missing", 1), ("gptj", {"n_layer": -1}, "n_layer: no integer", 1), ("gptj", {"n_layer": 3.0}, "n_layer: no integer", 1),
                ("gptj", {"rotary_dim": 7}, "rotary_dim: odd", 1), ("gptj", {"rotary_dim": 200}, "rotary_dim: odd, or above", 1),
                ("gptj", {"rotary_dim": None}, "rotary_dim", 1), ("gptj", {"layer_norm_epsilon": -1e-5}, "layer_norm_epsilon: no number", 1),
                ("gptj", {"layer_norm_epsilon": "1e-5"}, "layer_norm_epsilon: no number", 1), 
                ("gptj", {"architectures": ["GPTJForSequenceClassification"]}, "architectures: not GPTJ", 1), ("gptj", {"n_embd": 28}, "shape", 1),
                ("gptj", {"activation_function": 1}, "activation_function", 2), ("gptj", {"model_type": "gpt2"}, "model_type: not gptj", 1),
                ("gptj", {"model_type": "llama"}, "missing", 2), ("gptj", {"rope_scaling": None}, "rope_scaling: unknown key", 2),
                ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "rope_scaling: rope_type: not longrope", 1),
                ("llama", {"rope_scaling": "longrope"}, "rope_scaling: rope_type: not longrope", 1),
                ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e8, "factor": 2}}, "rope_parameters: not rope_scaling", 1),
                ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e7}}, "rope_parameters: not rope_scaling", 1),
                ("llama", {"rope_theta": 0.5, "rope_parameters": None}, "rope_theta: no number", 1), ("llama", {"rope_theta": 1e39, "rope_parameters": None}, "rope_theta: no number", 1),
                ("llama", {"rope_theta": 4, "rope_parameters": None}, "hop 1: ", 1), ("llama", {"attention_bias": False}, "attention_bias: not true", 1),
                ("llama", {"mlp_bias": True}, "mlp_bias: not false", 1), ("llama", {"mlp_bias": 0}, "mlp_bias: not false", 1),
                ("llama", {"num_key_value_heads": 2}, "num_key_value_heads: not 1", 1), ("llama", {"pretraining_tp": 2}, "unknown key", 2),
                ("llama", {"head_dim": 7}, "head_dim: odd", 1), ("llama", {"max_position_embeddings": 1}, "below the length", 1),
                ("plain", {"frequencies": ["1", "2"]}, "frequencies: not half as many", 1), ("plain", {"architectures": []}, "unknown key", 2),
                ("plain", {"frequencies": ["x"] * (self.stacks["plain"].head // 2)}, "frequencies: 'x' is not bound", 2),
                ("plain", {"frequencies": ["log(0)"] * (self.stacks["plain"].head // 2)}, "frequencies: not decided", 1),
                ("plain", {"frequencies": [1] * (self.stacks["plain"].head // 2)}, "frequencies", 2),
                ("plain", {"frequencies": ["0"] * (self.stacks["plain"].head // 2)}, "hop 1: ", 1)]:
            with self.subTest(form=form, keys=keys):
                self.change_config(form, reason, code, **keys)
        self.change_config("gptj", "torch_dtype: not float32", torch_dtype="float16", arithmetic="float32")
        self.change_config("llama", "dtype: not float32", dtype="bfloat16", arithmetic="float32")
        stack = self.stacks["gptj"]
        for content, reason, code in [(b'{"n_head": 1, "n_head": 1}', "the key 'n_head' is repeated", 2), (b"[]", "no object", 2), (b"{", "no JSON", 2),
                                      (b"", "no JSON", 2), (b'{"model_type": "gptj", "n_head": 1e999}', "no JSON: a number beyond all bounds", 2)]:
            self.rejected({**stack.files(), "config.json": content}, stack.task.fact(), "facts[0] (stack): files: config.json: " + reason, code)

    def test_headers(self):
        stack = self.stacks["plain"]
        whole = stack.files()["model.safetensors"]
        size = int.from_bytes(whole[:8], "little")
        header, data = json.loads(whole[8:8 + size]), whole[8 + size:]

        def file(head, body=data):
            text = head if isinstance(head, bytes) else json.dumps(head).encode()
            return len(text).to_bytes(8, "little") + text + body

        def with_entry(**changes):
            return file({**header, "embedding": {**header["embedding"], **changes}})

        first = min((entry["data_offsets"], name) for name, entry in header.items() if name != "__metadata__")[1]
        offsets = header["embedding"]["data_offsets"]
        for content, reason, code in [
                (b"", "the header does not fit", 2), (whole[:7], "the header does not fit", 2), (b"\xff" * 8 + whole[8:], "the header does not fit", 2),
                ((len(whole) - 7).to_bytes(8, "little") + whole[8:], "the header does not fit", 2), (whole[:8 + size], "data_offsets: not inside", 2),
                (whole[:-1], "data_offsets: not inside the file", 2), (whole + b"\0", "tensors do not fill the file", 2), (file(b"[]"), "no object", 2),
                (file(b'{"a": 1, "a": 2}'), "the key 'a' is repeated", 2), (file(b"{"), "no JSON", 2), (file({"a": 1}), "a: dtype: missing", 2),
                (with_entry(dtype="I64"), "dtype: not F64", 2), (with_entry(dtype="F64"), "data_offsets: not what shape needs", 2),
                (with_entry(dtype=1), "dtype", 2), (with_entry(shape=[2**32 - 1, 2**32 - 1]), "shape: larger than the file", 2),
                (with_entry(shape=[2**31] * 64), "shape: larger than the file", 2), (with_entry(shape=[-1, 2]), "shape: not integers", 2),
                (with_entry(shape=[1.5]), "shape: not integers", 2), (with_entry(shape=2), "shape", 2), (with_entry(more=1), "more: unknown key", 2),
                (with_entry(data_offsets=[offsets[1], offsets[0]]), "data_offsets: not inside", 2),
                (with_entry(data_offsets=[0, 2**40]), "data_offsets: not integers", 2), (with_entry(data_offsets=[0]), "data_offsets: not inside", 2),
                (with_entry(data_offsets=[offsets[0] - 4, offsets[1] - 4]) if first != "embedding" else with_entry(data_offsets=[4, offsets[1] + 4]),
                 "overlap or leave a gap", 2),
                (file({name: entry for name, entry in header.items() if name != first}), "overlap or leave a gap", 2)]:
            with self.subTest(reason=reason):
                self.rejected({**stack.files(), "model.safetensors": content}, stack.task.fact(), "facts[0] (stack): files: model.safetensors: ", code)
                self.rejected({**stack.files(), "model.safetensors": content}, stack.task.fact(), reason, code)

    def test_random_damage_is_one_line(self):
        rng = random.Random(5)
        stack = Stack("plain", TASKS[0])
        for _ in range(60):
            files = stack.files()
            name = rng.choice(list(files))
            content = bytearray(files[name])
            end = len(content) if name == "config.json" else 8 + int.from_bytes(content[:8], "little")
            for _ in range(rng.randint(1, 3)):
                content[rng.randrange(end)] = rng.choice(b'\x00"{}[]0189,:-eE. abF\xff')
            files[name] = bytes(content)
            code, line = self.check(files, stack.task.fact())
            self.assertIn(code, (0, 1, 2), line)


class Claims(Case):
    """One change each to a fact that is accepted, and to where its files are."""

    def setUp(self):
        self.stack = Stack("gptj", TASKS[1])

    def test_facts(self):
        good, files = self.stack.task.fact(), self.stack.files()
        self.accepted(files, good)
        task = good["task"]
        for key, value, reason, code in [
                ("mass", ["0.5", "0.99999999"], "hop 2: mass: at least 0.99", 1), ("mass", ["0.5"], "mass: not one per hop", 1),
                ("mass", ["0.5", "1"], "hop 2: mass: not in (0, 1)", 1), ("mass", ["0", "0.5"], "hop 1: mass: not in (0, 1)", 1),
                ("mass", ["0.5", "x"], "hop 2: mass: 'x' is no number", 2), ("mass", "0.5", "mass", 2),
                ("gap", "2", "gap: at least 0.9", 1), ("gap", "0", "gap: not above 0", 1), ("gap", "-1", "gap: not above 0", 1),
                ("length", "65", "n_positions: below the length", 1), ("length", "0", "length: not in 1..16777216", 1),
                ("length", "1.5", "length: '1.5' is no integer", 2),
                ("arithmetic", "float16", "arithmetic: neither", 2), ("task", {**task, "rule": "first"}, "task: rule: neither", 2),
                ("task", {**task, "rule": "token"}, "task: it has 16 tokens, the model 6", 1),
                ("task", {**task, "letters": "4"}, "task: it has 7 tokens, the model 6", 1), ("task", {**task, "letters": "0"}, "letters: not in 1..65536", 1),
                ("task", {**task, "letters": "2", "numbers": "3"}, "hop 1: ", 1), ("task", {**task, "more": "1"}, "task: more: unknown key", 2),
                ("task", {**task, "hops": "65"}, "task: hops: not in 1..64", 1), ("files", {}, "files: config.json: missing", 2)]:
            with self.subTest(key=key, value=value):
                if key == "files":
                    self.rejected(files, good, reason, code, before=lambda folder, fact: fact.update(files={}))
                else:
                    self.rejected(files, {**good, key: value}, reason, code)
        three = {**self.stack.task.fact(), "task": {**task, "hops": "4"}, "mass": ["0.5"] * 4}
        self.rejected(files, three, "task: more hops than layers")
        self.rejected(files, {**three, "task": {**task, "hops": "3"}, "mass": ["0.5"] * 3}, "hop 3: ")
        self.rejected(files, {**good, "task": {**task, "hops": "1"}, "mass": ["0.5"]}, "layer 1: above the hops, but it writes")
        self.rejected(files, {**good, "more": "1"}, "more: unknown key", 2)
        two = Stack("plain", TASKS[3])
        self.rejected(two.files(), {**two.task.fact(), "task": {**two.task.fact()["task"], "rule": "last"}}, "the rule last has one")
        self.rejected(two.files(), two.task.fact(arithmetic="float32"), "model_type: ropewalk is for real arithmetic")
        # A head for the one token with its letter is not one for the last such token.
        one = Stack("plain", TASKS[2])
        self.accepted(one.files(), one.task.fact())
        self.rejected(one.files(), {**one.task.fact(), "task": {**one.task.fact()["task"], "rule": "last"}}, "hop 1: ")

    def test_files(self):
        files, fact = self.stack.files(), self.stack.task.fact()
        other = Stack("gptj", TASKS[1], sharp=11).files()

        def swap(name):
            def change(folder, _):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(other[name] if other[name] != files[name] else files[name] + b" ")
            return change

        def rename(names):
            return lambda folder, fact: fact.update(files=dict(zip(names, fact["files"].values())))

        def remove(name):
            return lambda folder, _: os.remove(os.path.join(folder, name))

        def folder_instead(folder, _):
            os.remove(os.path.join(folder, "config.json"))
            os.mkdir(os.path.join(folder, "config.json"))

        for before, reason, code in [
                (swap("model.safetensors"), "model.safetensors: the contents hash to ", 1), (swap("config.json"), "config.json: the contents hash to ", 1),
                (rename(["../config.json", "model.safetensors"]), "config.json: missing", 2), (rename(["config.json", "./model.safetensors"]), "missing", 2),
                (rename(["config.json"]), "model.safetensors: missing", 2), (remove("config.json"), "config.json: cannot be read", 4),
                (remove("model.safetensors"), "model.safetensors: cannot be read", 4), (folder_instead, "config.json: no regular file", 1),
                (lambda folder, fact: fact["files"].update({"other.json": "0"}), "other.json: unknown key", 2)]:
            self.rejected(files, fact, reason, code, before)

        # The folder is that of the certificate, whatever the working folder is.
        with tempfile.TemporaryDirectory() as folder:
            sealed = seal([write(folder, files, fact)])
            with open(os.path.join(folder, "c.json"), "w") as file:
                json.dump(sealed, file)
            for path, cwd in [("c.json", folder), ("./c.json", folder), (os.path.basename(folder) + "/c.json", os.path.dirname(folder))]:
                done = subprocess.run([os.path.abspath(BINARY), path], capture_output=True, text=True, cwd=cwd)
                self.assertEqual(done.stdout, f"accepted: {path}: proved, 1 fact\n")

    def test_work_is_limited(self):
        stack = Stack("plain", TASKS[0])
        stack.head, stack.frequencies = 2000, ["1"] * 1000
        for layer in stack.layers:
            layer["q"] += [[0.0] * stack.width for _ in range(2000 - len(layer["q"]))]
            layer["k"] = [row[:] for row in layer["q"]]
        self.rejected(stack.files(), stack.task.fact(length=str(2**24)), "not decided: more than 10^7 cosines")


if __name__ == "__main__":
    unittest.main()
