"""Tiny Transformers that answer the tasks of docs/tasks.md, built by hand, with their facts of kind `stack`; and the
same models run in double precision on every input, to compare."""

import hashlib
import json
import math
import os
import random
import struct

BALLAST = 64.0


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def safetensors(tensors, dtype="F32", metadata=True):
    """The bytes of a file of these tensors: name -> rows (lists) or a list."""
    header, data = ({"__metadata__": {"format": "pt"}} if metadata else {}), b""
    for name, value in sorted(tensors.items()):
        rows = value if value and isinstance(value[0], list) else [value]
        flat = [x for row in rows for x in row]
        if dtype == "BF16":
            packed = b"".join(struct.pack("<f", x)[2:] for x in flat)
        else:
            packed = struct.pack(f"<{len(flat)}{ {'F64': 'd', 'F32': 'f', 'F16': 'e'}[dtype]}", *flat)
        header[name] = {"dtype": dtype, "shape": [len(value)] + ([len(value[0])] if rows is value else []),
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Task:
    def __init__(self, rule, letters, numbers, hops):
        self.rule, self.letters, self.numbers, self.hops = rule, letters, numbers, hops
        self.pairs = 0 if rule == "lag" else letters * numbers
        self.tokens = 1 + (letters + numbers if rule == "lag" else self.pairs + letters * letters)

    def leaf(self, v):
        return v > self.numbers if self.rule == "lag" else v <= self.pairs

    def parts(self, v):
        """Left letter, and right letter or (from `letters` on) digit."""
        if self.leaf(v):
            return (v - 1) // self.numbers, self.letters + (v - 1) % self.numbers
        return divmod(v - 1 - self.pairs, self.letters)

    def wanted(self, v):
        if self.rule == "lag":
            return 0 if self.leaf(v) else v
        return self.parts(v)[0 if self.leaf(v) else 1]

    def keys(self, tokens, i, v):
        """The positions that the query v at i wants; none where it is not defined."""
        w = self.wanted(v)
        if self.rule == "lag":
            return [i - w] if w <= i else []
        found = [j for j in range(i + 1) if self.parts(tokens[j])[0] == w]
        if self.rule == "last":
            return found[-1:]
        return found if len({tokens[j] for j in found}) == 1 else []

    def fact(self, **changes):
        words = {"rule": self.rule, "letters": str(self.letters), "numbers": str(self.numbers), "hops": str(self.hops)}
        fact = {"kind": "stack", "files": {}, "task": words, "length": "6", "arithmetic": "real",
                "mass": ["0.5"] * self.hops, "gap": "0.1"}
        fact.update(changes)
        return fact


class Stack:
    """One by its form, its task and about how far the logit of a right key is above others; `idle` layers write nothing.
    With `jitter` all weights are off by up to this part of themselves, so that no two tokens are alike. `slowed`: a llama
    whose planes are those of its base by factors (longrope)."""

    def __init__(self, form, task, sharp=12.0, idle=1, exact=False, length=8, planes=4, jitter=0.0, seed=1, slowed=False):
        rng = random.Random(seed)

        def about(x):
            return x * (1 + jitter * rng.uniform(-1, 1))

        self.form, self.task, self.length, h = form, task, length, task.hops
        self.round = (lambda x: x) if exact else f32
        self.factors = []
        places, lag = {}, task.rule == "lag"

        def place(*names):
            for name in names:
                places[name] = len(places)
            return [places[name] for name in names]

        place("ballast")
        if lag:
            classes, base = task.numbers + 1, 2
            heads = (task.letters + base - 1) // base
            copied = [("hi", x) for x in range(heads + 1)] + [("lo", x) for x in range(base + 1)]
            place(*[("class", m) for m in range(classes)])
        else:
            copied = [("hi", x) for x in range(task.letters)] + [("lo", x) for x in range(task.letters + task.numbers)]
            copied += [("want", x) for x in range(task.letters)]
        for k in range(h + 1):
            place(*[(k, *name) for name in copied])
        place("balance", "zero", "bias")
        while len(places) % 2 or (form == "gptj" and len(places) < 2 * planes):
            place(len(places))
        self.width = d = len(places)

        def code(v):
            if not lag:
                left, rest = task.parts(v)
                return [("hi", left), ("lo", rest), ("want", task.wanted(v))]
            n = v - 1 - task.numbers
            return [("hi", n // base), ("lo", n % base)] if task.leaf(v) else [("hi", heads), ("lo", base)]

        # The head: `turning` planes of these frequencies, and rows that stand (nearly) still.
        if form == "gptj":
            self.rotary = 2 * planes
            self.head, self.scale = d, 1 / math.sqrt(d)
            self.planes = [(2 * f, 2 * f + 1, 10000 ** (-2 * f / self.rotary)) for f in range(planes)]
            still = list(range(2 * planes, d))
        else:
            self.head = 2 * ((max(len(copied), 8 + 2 * task.letters) + 1) // 2)
            half = self.head // 2
            self.scale = 1 / math.sqrt(self.head) if form == "llama" else 1.0
            if form == "llama":
                self.base = 2.0 if slowed else 10.0 ** (2 * half)
                self.planes = [(f, f + half, 10.0 ** (-2 * f)) for f in range(half)]
                if slowed:
                    self.factors = [self.base ** (-f / half) / theta for f, (_, _, theta) in enumerate(self.planes)]
                still = [x for f in range(half - task.letters, half) for x in (f, f + half)]
            else:
                self.frequencies = ["1", "2*pi/31", "1/100", "10^(-3)"] + ["0"] * (half - 4)
                values = [1, 2 * math.pi / 31, 0.01, 0.001] + [0.0] * (half - 4)
                self.planes = [(2 * f, 2 * f + 1, t) for f, t in enumerate(values)]
                still = list(range(8, self.head))
        turning = self.planes[:2 if form == "llama" else planes]
        self.gain = [1.0] * d
        self.shift = [0.0] * d
        if form == "gptj":
            self.gain[places["bias"]], self.shift[places["bias"]] = 0.0, 1.0
        self.eps = 0 if form == "plain" else 1e-5

        # Tokens.
        self.embedding = [[0.0] * d for _ in range(task.tokens)]
        for v in range(1, task.tokens):
            row = self.embedding[v]
            row[0] = round(about(BALLAST) * 1024) / 1024  # sums stay exact
            names = [(0, *name) for name in code(v)] + ([("class", task.wanted(v))] if lag else [])
            for name in names:
                row[places[name]] = round(about(1.0) * 1024) / 1024
            row[places["balance"]] = -sum(row)
        square = sum(x * x for x in self.embedding[1])
        rho = [1.0] * (h + 1)
        if form != "plain":
            rho = [1 / math.sqrt((square + k * len(code(1))) / d + self.eps) for k in range(h + 1)]

        def matrix(rows, columns=d):
            return [[0.0] * columns for _ in range(rows)]

        def finish(rows):
            for row in rows:
                for c, x in enumerate(row):
                    row[c] = self.round(x)
                if form == "gptj" and len(row) == d:
                    row[places["zero"]] = self.round(-sum(x * g for x, g in zip(row, self.gain)))
            return rows

        self.layers = []
        for l in range(1, h + idle + 1):
            inner = d if form == "gptj" else self.head if form == "llama" else len(copied)
            q, k, v, o = matrix(self.head), matrix(self.head), matrix(inner), matrix(d, inner)
            bias = [0.0] * self.head
            if l <= h:
                r = rho[l - 1]
                source = 0 if lag else l - 1
                if lag or task.rule == "last":
                    for f, (x, y, _) in enumerate(turning):  # the phase of a plane is f + 1
                        for row, part in ((x, about(math.cos(f + 1))), (y, about(math.sin(f + 1)))):
                            if form == "gptj":
                                k[row][places["bias"]] = part
                            elif form == "llama":
                                bias[row] = self.round(part)
                            else:
                                k[row][0] = part / BALLAST
                if lag:
                    for f, (x, y, theta) in enumerate(turning):
                        for m in range(classes):
                            size = sharp / (1 - math.cos(1)) / (r * self.scale)
                            q[x][places["class", m]] = about(size * math.cos(f + 1 - m * theta))
                            q[y][places["class", m]] = about(size * math.sin(f + 1 - m * theta))
                else:
                    slope = sharp if task.rule == "last" else 0
                    for a in range(task.letters):
                        q[still[a]][places[source, "want", a]] = about((sharp + length * slope) / (r * self.scale))
                        k[still[a]][places[0, "hi", a]] = about(1 / r)
                    if slope:
                        f, (x, y, theta) = next((f, p) for f, p in enumerate(turning) if p[2] < 0.02)
                        for a in range(task.letters):
                            q[x][places[0, "want", a]] = -slope / theta / (r * self.scale) * math.sin(f + 1)
                            q[y][places[0, "want", a]] = slope / theta / (r * self.scale) * math.cos(f + 1)
                for i, name in enumerate(copied):
                    v[i][places[(l - 1 if lag else 0, *name)]] = about(1.0)
                    o[places[(l, *name)]][i] = self.round(about(1 / r))
                    o[places["balance"]][i] = -o[places[(l, *name)]][i]
            self.layers.append({"q": finish(q), "k": finish(k), "v": finish(v), "o": o, "bias": bias})
        u = matrix(task.tokens)
        for t in range(1, task.tokens):
            for name in code(t)[:2]:
                u[t][places[(h, *name)]] = about(1 / rho[h])
            if lag and not task.leaf(t):
                u[t][places["class", t]] = about(1 / rho[h])
        self.unembedding = finish(u)
        self.places = places

    def files(self, dtype="F32"):
        return {"config.json": json.dumps(self.config()).encode(), "model.safetensors": safetensors(self.tensors(), dtype)}

    def config(self):
        n = len(self.layers)
        common = {"vocab_size": self.task.tokens, "ropewalk": {"task": self.task.rule}}
        if self.form != "plain":
            common.update({"torch_dtype": "float32", "tie_word_embeddings": False, "use_cache": True, "bos_token_id": None,
                           "eos_token_id": None, "pad_token_id": 0, "initializer_range": 0.02, "transformers_version": "4.38.0"})
        if self.form == "gptj":
            return {"model_type": "gptj", "architectures": ["GPTJForCausalLM"], "n_positions": max(64, self.length), "n_embd": self.width, "n_layer": n,
                    "n_head": 1, "rotary_dim": self.rotary, "n_inner": 2, "activation_function": "gelu_new", "resid_pdrop": 0.0,
                    "embd_pdrop": 0.0, "attn_pdrop": 0.0, "layer_norm_epsilon": 1e-5, **common}
        if self.form == "llama":
            scaling = {"rope_type": "longrope", "factor": 1.0, "attention_factor": 1.0, "original_max_position_embeddings": 64,
                       "short_factor": self.factors, "long_factor": self.factors} if self.factors else None
            return {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": self.width, "num_hidden_layers": n,
                    "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": self.head, "intermediate_size": 2,
                    "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": self.base, "rope_scaling": scaling,
                    "rope_parameters": {**(scaling or {"rope_type": "default"}), "rope_theta": self.base}, "attention_bias": True, "mlp_bias": False,
                    "max_position_embeddings": max(64, self.length), "attention_dropout": 0.0, **common}
        return {"model_type": "ropewalk", "hidden_size": self.width, "num_hidden_layers": n, "head_dim": self.head,
                "frequencies": self.frequencies, **common}

    def tensors(self):
        d, out = self.width, {}
        if self.form == "plain":
            out.update({"embedding": self.embedding, "unembedding": self.unembedding})
            for l, layer in enumerate(self.layers):
                out.update({f"layers.{l}.W_{key.upper()}": layer[key] for key in "qkvo"})
            return out
        two = [[0.0] * d for _ in range(2)]
        if self.form == "gptj":
            out.update({"transformer.wte.weight": self.embedding, "transformer.ln_f.weight": self.gain, "transformer.ln_f.bias": self.shift,
                        "lm_head.weight": self.unembedding, "lm_head.bias": [-x for x in self.constant(self.unembedding)]})
            for l, layer in enumerate(self.layers):
                at = f"transformer.h.{l}."
                out.update({at + f"attn.{name}_proj.weight": layer[name[0]] for name in ["q", "k", "v", "out"]})
                out.update({at + "ln_1.weight": self.gain, at + "ln_1.bias": self.shift, at + "mlp.fc_in.weight": two,
                            at + "mlp.fc_in.bias": [0.0] * 2, at + "mlp.fc_out.weight": [[0.0] * 2 for _ in range(d)],
                            at + "mlp.fc_out.bias": [0.0] * d})
            return out
        out.update({"model.embed_tokens.weight": self.embedding, "model.norm.weight": self.gain, "lm_head.weight": self.unembedding})
        for l, layer in enumerate(self.layers):
            at = f"model.layers.{l}."
            for key in "qkvo":
                out[at + f"self_attn.{key}_proj.weight"] = layer[key]
                out[at + f"self_attn.{key}_proj.bias"] = layer["bias"] if key == "k" else [0.0] * len(layer[key])
            out.update({at + "input_layernorm.weight": self.gain, at + "post_attention_layernorm.weight": [1.0] * d,
                        at + "mlp.gate_proj.weight": two, at + "mlp.up_proj.weight": two,
                        at + "mlp.down_proj.weight": [[0.0] * 2 for _ in range(d)]})
        return out

    def constant(self, rows):
        return [sum(x * c for x, c in zip(row, self.shift)) for row in rows]

    # The model at work, in double precision.

    def norm(self, x):
        if self.form == "plain":
            return x
        mean = sum(x) / len(x) if self.form == "gptj" else 0.0
        rho = 1 / math.sqrt(sum((a - mean) ** 2 for a in x) / len(x) + self.eps)
        return [(a - mean) * rho * g + c for a, g, c in zip(x, self.gain, self.shift)]

    def turn(self, x, position):
        x = list(x)
        for a, b, theta in self.planes:
            c, s = math.cos(position * theta), math.sin(position * theta)
            x[a], x[b] = x[a] * c - x[b] * s, x[a] * s + x[b] * c
        return x

    def observed(self, length):
        """The least gap, and the least mass of each layer, over all valid positions of all inputs up to this length."""
        task, h = self.task, self.task.hops
        sparse = [{key: [[(c, x) for c, x in enumerate(row) if x] for row in layer[key]] for key in "qkvo"} for layer in self.layers]
        unembedding = [[(c, x) for c, x in enumerate(row) if x] for row in self.unembedding]
        away = self.constant(self.unembedding)

        def times(rows, x):
            return [sum(w * x[c] for c, w in row) for row in rows]

        gap, masses = math.inf, [math.inf] * h

        def extend(tokens, keys, values, weights):
            nonlocal gap
            i = len(tokens) - 1
            x = list(self.embedding[tokens[-1]])
            now_keys, now_values, now_weights = [], [], []
            for l in range(h):
                y = self.norm(x)
                k = times(sparse[l]["k"], y)
                if self.form == "llama":
                    k = [a + b for a, b in zip(k, self.layers[l]["bias"])]
                now_keys.append(self.turn(k, i))
                now_values.append(times(sparse[l]["v"], y))
                q = self.turn(times(sparse[l]["q"], y), i)
                logits = [self.scale * sum(a * b for a, b in zip(q, k)) for k in keys[l] + [now_keys[l]]]
                most = max(logits)
                parts = [math.exp(s - most) for s in logits]
                total = sum(parts)
                now_weights.append([p / total for p in parts])
                mixed = [sum(p * v[c] for p, v in zip(now_weights[l], values[l] + [now_values[l]])) for c in range(len(now_values[l]))]
                x = [a + b for a, b in zip(x, times(sparse[l]["o"], mixed))]
            keys = [a + [b] for a, b in zip(keys, now_keys)]
            values = [a + [b] for a, b in zip(values, now_values)]
            weights = weights + [now_weights]
            if (answer := self.follow(tokens, i, weights, masses)) is not None:
                logits = [a - b for a, b in zip(times(unembedding, self.norm(x)), away)]
                gap = min(gap, logits[answer] - max(z for o, z in enumerate(logits) if o != answer))
            if len(tokens) < length:
                for v in range(1, task.tokens):
                    extend(tokens + [v], keys, values, weights)

        for v in range(1, task.tokens):
            extend([v], [[]] * h, [[]] * h, [])
        return gap, masses

    def follow(self, tokens, i, weights, masses):
        """The answer at i, None where it is not valid; takes note of the masses on the way."""
        task, h = self.task, self.task.hops
        at, v, seen = i, tokens[i], []
        for hop in range(1, h + 1):
            keys = task.keys(tokens, at, v)
            if not keys:
                return None
            # By lags the first hop from i is the last layer's, for each position on the way that of its own hops left.
            l = h + 1 - hop if task.rule == "lag" else hop
            seen.append((l, sum(weights[at][l - 1][j] for j in keys)))
            v = tokens[keys[0]]
            at = keys[0] if task.rule == "lag" else i
        for l, mass in seen:
            masses[l - 1] = min(masses[l - 1], mass)
        return tokens[i] if task.rule == "lag" and not task.leaf(v) else v


def write(folder, files, fact):
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    fact = dict(fact)
    fact["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in ["config.json", "model.safetensors"] if name in files}
    return fact
