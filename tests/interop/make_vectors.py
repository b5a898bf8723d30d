#!/usr/bin/env python3
"""Writes tests/data/vectors.json: inputs and expected values for every scalar of the theory.

Nothing here comes from ropewalk. Decimals are mpmath at 120 digits, printed to 60; exact values are
Python fractions. Each expected value is an object
  {"value": 60 digits, "exact": "p/q" or null, "double": the error allowed to double precision}
where `exact` is null if the rational scalar must refuse (Error not_exact).

  make_vectors.py            write the file
  make_vectors.py --check    exit 1 if the file differs from what would be written
"""
import json
import pathlib
import re
import sys
from fractions import Fraction
from itertools import permutations
from math import isqrt

from mpmath import mp, mpf, nstr

mp.dps = 120
UNIT = 2.0**-53
PATH = pathlib.Path(__file__).resolve().parent.parent / "data" / "vectors.json"


def number(formula):
    """The value of a formula, in the grammar of theory/formula.hpp."""
    python = re.sub(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", lambda m: f"mpf('{m.group(0)}')", formula)
    names = {"mpf": mpf, "pi": mp.pi, "acos": mp.acos, "log": mp.log, "sqrt": mp.sqrt}
    return mpf(eval(python.replace("^", "**"), names))


def real(x):
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def expected(value, exact=None, scale=1.0):
    """`scale` times 2^-53 is the error allowed to doubles, with a floor that covers a few roundings."""
    if exact is not None:
        assert value is None or abs(mpf(value) - real(exact)) < mpf(10) ** -100 * (1 + abs(real(exact)))
        value = real(exact)
    return {
        "value": nstr(value, 60, strip_zeros=False, min_fixed=-5, max_fixed=40),
        "exact": None if exact is None else str(exact),
        "double": float(f"{UNIT * (8 * scale + 8 * abs(float(value))):.3e}"),
    }


def chebyshev(c, t):
    low, high = Fraction(1), c
    for _ in range(abs(t)):
        low, high = high, 2 * c * high - low
    return low


def power(c, t):
    """(c + i s)^t for a rational point of the circle, s = sin acos c >= 0."""
    square = 1 - c * c
    s = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert s * s == square
    x, y = Fraction(1), Fraction(0)
    for _ in range(abs(t)):
        x, y = x * c - y * s, x * s + y * c
    return (x, y) if t >= 0 else (x, -y)


NIVEN = {Fraction(0): Fraction(1), Fraction(1, 6): Fraction(1, 2), Fraction(1, 4): Fraction(0),
         Fraction(1, 3): Fraction(-1, 2), Fraction(1, 2): Fraction(-1)}  # fmt: skip


def cosine_of_turns(turns):
    part = turns % 1
    return NIVEN.get(min(part, 1 - part))


# Angles: formula, what is known exactly about it.
ANGLES = [
    ("1", None),
    ("0.0027", None),
    ("10000^(-2/64)", None),
    ("500000^(-126/128)/32", None),
    ("-0.8", None),
    ("acos(3/5)", ("cos", Fraction(3, 5))),
    ("acos(-5/13)", ("cos", Fraction(-5, 13))),
    ("acos(1/3)", ("cos", Fraction(1, 3))),
    ("acos(1/2)", ("turns", Fraction(1, 6))),
    ("pi*2/7", ("turns", Fraction(1, 7))),
    ("pi/2", ("turns", Fraction(1, 4))),
    ("-pi*3/2", ("turns", Fraction(-3, 4))),
    ("0", ("turns", Fraction(0))),
]


def angle_terms(theta, known, t):
    """cos and sin of t theta: decimals and exact values where the rational scalar has them."""
    phase = number(theta) * t
    cos, sin, exact_cos, exact_sin = mp.cos(phase), mp.sin(phase), None, None
    if known and known[0] == "turns" or t == 0:
        turns = known[1] * t if known and known[0] == "turns" else Fraction(0)
        exact_cos = cosine_of_turns(turns)
        exact_sin = cosine_of_turns(turns - Fraction(1, 4))
        phase = mpf(1)
    elif known:
        exact_cos = chebyshev(known[1], t)
        square = 1 - known[1] ** 2
        if isqrt(square.numerator) ** 2 == square.numerator and isqrt(square.denominator) ** 2 == square.denominator:
            exact_sin = power(known[1], t)[1]
    return cos, sin, exact_cos, exact_sin, 1 + abs(float(phase))


def formulas():
    rows = [("0.1", Fraction(1, 10)), ("-2^2", Fraction(-4)), ("2^3^2", Fraction(512)),
            ("(1/2)^-3", Fraction(8)), ("1e-3*(7-2)/4", Fraction(1, 800)), ("8-3-2", Fraction(3)),
            ("8/4/2", Fraction(1)), (".5", Fraction(1, 2)),
            ("10000^(-2/64)/8", None), ("1000000^(-0.875)", None), ("pi*2/7", None), ("acos(1/2)", None),
            ("acos(3/5)", None), ("log(10000)/pi", None), ("sqrt(2)", None), ("0.1*log(40)+1", None),
            ("pi^2-acos(-1/3)*3", None), ("-sqrt(3)/(1+sqrt(5))", None)]  # fmt: skip
    return [{"formula": f, "expect": expected(number(f), exact, 4)} for f, exact in rows]


def circle():
    rows = []
    for theta, known in ANGLES:
        for t in (0, 1, -1, 6, 7, 44, 333, 710):
            if t > 100 and known and known[0] == "cos":
                continue
            cos, sin, exact_cos, exact_sin, scale = angle_terms(theta, known, t)
            both = exact_cos is not None and exact_sin is not None
            rows.append({"theta": theta, "lag": str(t), "cos": expected(cos, exact_cos, scale),
                         "sin": expected(sin, exact_sin, scale), "rotation_exact": both})  # fmt: skip
    # Exact reduction of huge lags needs rational turns.
    for theta, turns in (("pi*2/7", Fraction(1, 7)), ("pi/2", Fraction(1, 4)), ("pi/3", Fraction(1, 6))):
        t = 10**100 + 3
        part = (turns * t) % 1
        exact_cos, exact_sin = cosine_of_turns(turns * t), cosine_of_turns(turns * t - Fraction(1, 4))
        rows.append({"theta": theta, "lag": str(t), "cos": expected(mp.cos(2 * mp.pi * real(part)), exact_cos),
                     "sin": expected(mp.sin(2 * mp.pi * real(part)), exact_sin),
                     "rotation_exact": exact_cos is not None and exact_sin is not None})  # fmt: skip
    return rows


def phases():
    rows = []
    for theta, t, phase in (("1", 5, "0.3"), ("0.0027", 146, "pi/8"), ("pi/3", 4, "pi/3"), ("pi*2/7", 3, "pi/7")):
        exact = Fraction(1, 2) if theta == "pi/3" else Fraction(-1) if theta == "pi*2/7" else None
        value = mp.cos(number(theta) * t + number(phase))
        rows.append({"theta": theta, "lag": str(t), "phase": phase, "cos": expected(value, exact, 4)})
    return rows


def sums():
    rows = []
    cases = [
        ("0", [("1", "1", "0"), ("-1", "0.1", "0")], 7, None),
        ("1/2", [("1/3", "acos(3/5)", "0"), ("1/6", "pi/2", "pi")], 5, "exact"),
        ("1", [("-1/4", f"500000^(-{2 * f}/8)", "0") for f in range(4)], 1000, None),
        ("0", [("1", f"10000^(-{2 * f}/16)", "0.25") for f in range(8)], 4095, None),
    ]
    for offset, terms, t, kind in cases:
        value = real(Fraction(offset))
        for a, theta, phase in terms:
            value += real(Fraction(a)) * mp.cos(number(theta) * t + number(phase))
        exact = None
        if kind:
            exact = Fraction(1, 2) + Fraction(1, 3) * chebyshev(Fraction(3, 5), 5)
            exact += Fraction(1, 6) * cosine_of_turns(Fraction(5, 4) + Fraction(1, 2))
        rows.append({"offset": offset, "lag": str(t), "sum": expected(value, exact, len(terms) * (t + 1)),
                     "terms": [dict(zip(("amplitude", "frequency", "phase"), x)) for x in terms]})  # fmt: skip
    return rows


def rows_of_logits():
    rows = []
    cases = [
        (["3/2", "1/3", "-2", "1"], [1, 0, 0, 0]),
        (["1", "1", "0"], [1, 1, 0]),
        (["0", "5/7", "5/7"], [1, 0, 1]),
        (["-3", "-1/2"], [1, 0]),
        (["2", "2"], [1, 0]),
    ]
    for text, marks in cases:
        logits = [Fraction(x) for x in text]
        ordered = sorted(logits, reverse=True)
        below = [x for x in logits if x < ordered[0]]
        right = [x for x, m in zip(logits, marks) if m]
        wrong = [x for x, m in zip(logits, marks) if not m]
        rows.append({"logits": text, "correct": marks, "gap": expected(None, ordered[0] - ordered[1]),
                     "strict_gap": expected(None, ordered[0] - max(below) if below else Fraction(0)),
                     "margin": expected(None, min(right) - max(wrong)),
                     "loose_margin": expected(None, max(right) - max(wrong))})  # fmt: skip
    return rows


def softmaxes():
    rows = []
    for text, beta in ((["1", "1/2", "-3"], "1"), (["0", "1000", "999"], "2"), (["1/3"], "7"),
                       (["-1", "1", "0", "1"], "10"), (["1", "1", "1"], "0")):  # fmt: skip
        terms = [mp.exp(real(Fraction(beta)) * real(Fraction(x))) for x in text]
        weights = [expected(w / mp.fsum(terms), None, 40) for w in terms]
        rows.append({"logits": text, "beta": beta, "weights": weights})
    return rows


def index_logits():
    """Logit of the Index head: cos((t - m) theta)."""
    rows = []
    for theta, known in ANGLES:
        for m, t in ((0, 0), (0, 3), (2, 0), (4, 4), (1, 8)):
            cos, _, exact_cos, exact_sin, scale = angle_terms(theta, known, t - m)
            # The head needs rational rotations by -m and t, not only their quotient.
            if any(angle_terms(theta, known, k)[i] is None for k in (1, t, m) for i in (2, 3)):
                exact_cos = None
            rows.append({"theta": theta, "offset": m, "lag": t, "logit": expected(cos, exact_cos, 3 * scale + 20)})
    return rows


def retrieval_logits():
    """Logit of the Retrieval head: cos((left - wanted) 2 pi / A + t theta - centre)."""
    rows = []
    for theta, letters, left, wanted, t, n0 in (
        ("0.0027", 8, 3, 3, 15, None), ("0.0027", 8, 2, 3, 145, None), ("0.0027", 8, 7, 0, 145, None),
        ("0", 4, 1, 3, 2, None), ("0", 5, 1, 3, 2, None), ("acos(4/5)", 4, 1, 0, 3, None),
        ("acos(15/17)", 2, 1, 0, 2, None), ("0.0027", 8, 2, 3, 290, 291), ("0.0027", 8, 5, 5, 0, 290),
        ("acos(4/5)", 4, 2, 3, 2, 3), ("acos(4/5)", 4, 2, 3, 2, 4)):  # fmt: skip
        centre = Fraction(n0 - 1, 2) if n0 else Fraction(0)
        phase = (real(t - centre)) * number(theta) + real(Fraction(left - wanted, letters)) * 2 * mp.pi
        exact = None
        if letters in (2, 4) and theta != "0.0027" and centre.denominator == 1:
            c = {"0": Fraction(1), "acos(4/5)": Fraction(4, 5), "acos(15/17)": Fraction(15, 17)}[theta]
            x, y = power(c, t - int(centre))
            turns = Fraction(left - wanted, letters)
            exact = x * cosine_of_turns(turns) - y * cosine_of_turns(turns - Fraction(1, 4))
        rows.append({"theta": theta, "letters": letters, "left": left, "wanted": wanted, "lag": t,
                     "centred_for": n0, "logit": expected(mp.cos(phase), exact, 40)})  # fmt: skip
    return rows


MATRICES = [
    [["1", "1/2", "0"], ["1/3", "2", "-1"], ["0", "1", "1/2"]],
    [["2", "3", "4", "0"], ["3", "4", "5", "0"], ["4", "5", "6", "0"], ["0", "0", "0", "1"]],
    [["1/7", "-2", "1/2", "5/3", "1"], ["0", "3/4", "-1/5", "2", "1"], ["1", "1", "-1", "0", "1/9"],
     ["-1/3", "2/5", "1/8", "3/2", "0"], ["1", "0", "1", "0", "3/7"]],
    [["0", "40000", "0"], ["-40000", "0", "0"], ["0", "0", "60000"]],
]  # fmt: skip


def exclusions():
    """Both sides of the exclusion inequality, by the definition: all permutations."""
    rows = []
    for matrix in MATRICES:
        m = [[Fraction(x) for x in row] for row in matrix]
        n = len(m) - 1
        diagonal = [m[j][j] for j in range(n)]
        mean = sum(diagonal) / n
        variance = sum((x - mean) ** 2 for x in diagonal) / n
        orders = list(permutations(range(n)))
        pos = sum((m[p[j]][j] - m[j][j]) ** 2 for p in orders for j in range(n)) / (len(orders) * n)
        sym = sum((m[j][p[j]] - m[j][j]) ** 2 for p in orders for j in range(n)) / (len(orders) * n)
        rows.append({"matrix": matrix, "variance": expected(None, variance, 50), "positional": expected(None, pos, 50),
                     "symbolic": expected(None, sym, 50)})  # fmt: skip
    return rows


def head_scores():
    """s_POS and s_SYM by the definition: swap, softmax again, compare the pairs of weights."""
    rows = []
    for matrix in MATRICES:
        for tau in ("1/10000", "1/10"):
            m = [[real(Fraction(x)) for x in row] for row in matrix]
            n = len(m)

            def weights(tokens):
                row = [m[a][b] for b, a in enumerate(tokens)]
                top = max(row)
                terms = [mp.exp(x - top) for x in row]
                return [w / mp.fsum(terms) for w in terms]

            before = weights(list(range(n)))
            total, s_pos, s_sym = mpf(0), mpf(0), mpf(0)
            for i in range(n - 1):
                for j in range(i + 1, n - 1):
                    tokens = list(range(n))
                    tokens[i], tokens[j] = j, i
                    after = weights(tokens)
                    v, w = (before[i], before[j]), (after[i], after[j])
                    norm = mp.hypot(*v) * mp.hypot(*w)
                    alpha = mp.exp(abs(v[0] - v[1]) / real(Fraction(tau)))
                    total += alpha
                    s_pos += alpha * (v[0] * w[0] + v[1] * w[1]) / norm
                    s_sym += alpha * (v[1] * w[0] + v[0] * w[1]) / norm
            scale = 100 / float(Fraction(tau))
            rows.append({"matrix": matrix, "tau": tau, "positional": expected(s_pos / total, None, scale),
                         "symbolic": expected(s_sym / total, None, scale)})  # fmt: skip
    return rows


def main():
    vectors = {"formula": formulas(), "circle": circle(), "phase": phases(), "trig_sum": sums(),
               "discrepancy": rows_of_logits(), "softmax": softmaxes(), "index_logit": index_logits(),
               "retrieval_logit": retrieval_logits(), "exclusion": exclusions(),
               "head_scores": head_scores()}  # fmt: skip
    lines = []
    for name, rows in vectors.items():
        body = ",\n    ".join(json.dumps(row) for row in rows)
        lines.append(f'  "{name}": [\n    {body}\n  ]')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PATH.read_text() == text else "tests/data/vectors.json is stale")
    PATH.write_text(text)


if __name__ == "__main__":
    main()
