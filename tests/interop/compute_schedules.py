#!/usr/bin/env python3
"""Computes the tables of tests/data/schedule_cases.json a second time, with mpmath and from the papers.

    pip install mpmath && python3 tests/interop/compute_schedules.py

writes tests/data/schedules-mpmath.json: every frequency and attention factor to 50 significant digits.
Shares no code with ropewalk; each scheme is written down from its published formula.
"""

import json
import pathlib
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

mp.dps = 80
here = pathlib.Path(__file__).resolve().parent
data = here.parent / "data"
configs = here.parent.parent / "examples" / "configs"


def exact(x):
    f = Fraction(str(x))
    return mpf(f.numerator) / f.denominator


def mscale(s, m=mpf(1)):
    return 1 + m * mpmath.log(s) / 10 if s > 1 else mpf(1)


def table(case):
    spec = case["config"]
    c = json.loads((configs / spec).read_text()) if isinstance(spec, str) else spec
    s = c.get("rope_scaling") or {}
    base = c.get("rope_theta", c.get("rotary_emb_base", 10000))
    head = c.get("head_dim") or c.get("hidden_size", c.get("n_embd")) // c.get("num_attention_heads", c.get("n_head"))
    if "rope_parameters" in c:
        kind = c["layer_types"][case["layer"]]
        s = c["rope_parameters"][kind]
        base = s["rope_theta"]
        head = c["global_head_dim"] if kind == "full_attention" else head
    elif "rope_local_base_freq" in c and (case["layer"] + 1) % c["sliding_window_pattern"] != 0:
        base, s = c["rope_local_base_freq"], {}
    kind = s.get("rope_type", s.get("type", "default"))
    dim = c.get("qk_rope_head_dim") or c.get("rotary_dim")
    if dim is None:
        share = c.get("partial_rotary_factor", c.get("rotary_pct", 1))
        dim = head if kind == "proportional" else int(Fraction(str(share)) * head)
    base, half = exact(base), dim // 2
    plain = [base ** (-mpf(2 * i) / dim) for i in range(half)]
    factor = exact(s.get("factor", 1))
    most = c.get("max_position_embeddings", 0)
    l0 = mpf(s.get("original_max_position_embeddings", c.get("original_max_position_embeddings", most)))
    length = case.get("length", 0)
    one = mpf(1)

    if kind == "default":
        return plain, one
    if kind == "linear":
        return [x / factor for x in plain], one
    if kind == "dynamic":
        by = exact(s["alpha"]) if "alpha" in s else factor * max(length, most) / most - (factor - 1)
        stretched = base * by ** (mpf(dim) / (dim - 2))
        return [stretched ** (-mpf(2 * i) / dim) for i in range(half)], one
    if kind == "ropewalk.ntk":
        stretched = base * factor ** (mpf(dim) / (dim - 2))
        return [stretched ** (-mpf(2 * i) / dim) for i in range(half)], one
    if kind == "yarn":
        def at(turns):
            return dim * mpmath.log(l0 / (2 * mp.pi * turns)) / (2 * mpmath.log(base))
        low, high = at(exact(s.get("beta_fast", 32))), at(exact(s.get("beta_slow", 1)))
        if s.get("truncate", True):
            low, high = mpmath.floor(low), mpmath.ceil(high)
        low, high = max(low, mpf(0)), min(high, mpf(dim - 1))
        if low == high:
            high += mpf(1) / 1000
        ramp = [min(max((i - low) / (high - low), mpf(0)), one) for i in range(half)]
        if "attention_factor" in s:
            attention = exact(s["attention_factor"])
        elif s.get("mscale") and s.get("mscale_all_dim"):
            attention = mscale(factor, exact(s["mscale"])) / mscale(factor, exact(s["mscale_all_dim"]))
        else:
            attention = mscale(factor)
        return [x / factor * r + x * (1 - r) for x, r in zip(plain, ramp)], attention
    if kind == "ropewalk.yarn_paper":
        gamma = [min(max((l0 * x / (2 * mp.pi) - 1) / 31, mpf(0)), one) for x in plain]
        return [(1 - g) * x / factor + g * x for x, g in zip(plain, gamma)], mscale(factor)
    if kind == "llama3":
        low, high = exact(s["low_freq_factor"]), exact(s["high_freq_factor"])
        result = []
        for x in plain:
            wavelength = 2 * mp.pi / x
            if wavelength > l0 / low:
                result.append(x / factor)
            elif wavelength < l0 / high:
                result.append(x)
            else:
                smooth = (l0 / wavelength - low) / (high - low)
                result.append((1 - smooth) * x / factor + smooth * x)
        return result, one
    if kind == "longrope":
        factors = s["long_factor"] if length > l0 else s["short_factor"]
        stretch = mpf(most) / l0
        return ([x / exact(f) for x, f in zip(plain, factors)],
                mpmath.sqrt(1 + mpmath.log(stretch) / mpmath.log(l0)) if stretch > 1 else one)
    if kind == "proportional":
        kept = int(Fraction(str(s["partial_rotary_factor"])) * half)
        return [x / factor if i < kept else mpf(0) for i, x in enumerate(plain)], one
    if kind == "ropewalk.p_rope":
        kept = int(Fraction(str(s["p"])) * half)
        return [x if i < kept else mpf(0) for i, x in enumerate(plain)], one
    if kind == "ropewalk.resonance":
        return [2 * mp.pi / mpmath.floor(2 * mp.pi / x + mpf(1) / 2) for x in plain], one
    if kind == "ropewalk.custom":  # the four of the one case there is
        return [one, 2 * mp.pi / 7, mpmath.acos(mpf(3) / 5), mpf(10000) ** (-one / 3) / 8], exact(s["attention_factor"])
    raise SystemExit(f"no formula for {kind}")


result = {"mpmath": mpmath.__version__, "digits": 50, "cases": {}}
for case in json.loads((data / "schedule_cases.json").read_text()):
    frequencies, attention = table(case)
    result["cases"][case["name"]] = {"attention_factor": mpmath.nstr(attention, 50),
                                     "inv_freq": [mpmath.nstr(x, 50) for x in frequencies]}
(data / "schedules-mpmath.json").write_text(json.dumps(result, indent=1) + "\n")
print(len(result["cases"]), "tables")
