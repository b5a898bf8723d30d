#!/usr/bin/env python3
"""Tests of ropewalk-check, run as a program: what it accepts, what it rejects and at which step, and that no file
makes it crash or hang. Numbers are compared with mpmath.

    ROPEWALK_CHECK=build/release/bin/ropewalk-check python3 tests/checker/checker_test.py [Facts Hostile ...]
"""

import copy
import json
import math
import os
import random
import tempfile
import unittest
from fractions import Fraction

import mpmath

from certificates import *
from facts import entry_error, nearest, number, softmax_sums


def changed(fact, *path_and_value):
    """A copy of the fact with the value at a path replaced (None removes the key)."""
    *path, key, value = path_and_value
    out = copy.deepcopy(fact)
    at = out
    for step in path:
        at = at[step]
    if value is None:
        del at[key]
    else:
        at[key] = value
    return out


class Case(unittest.TestCase):
    def accepted(self, facts, verdict="proved", **changes):
        code, line = check(seal(facts, verdict, **changes))
        word = "fact" if len(facts) == 1 else "facts"
        self.assertEqual((code, line), (0, f"accepted: FILE: {verdict}, {len(facts)} {word}"), facts)

    def rejected(self, facts, reason, verdict="proved", code=1, **changes):
        got, line = check(seal(facts, verdict, **changes))
        self.assertTrue(line.startswith("rejected: FILE: "), (line, facts))
        self.assertIn(reason, line)
        self.assertEqual(got, code, line)


class Expressions(Case):
    def test_true_statements_hold(self):
        for statement in [
                "1 < 2", "1/3 + 1/6 = 1/2", "0.1 + 0.2 = 3e-1", "-2^2 = -4", "2^3^2 = 512", "2^-3 = 1/8", "2*-3 = -6",
                "cos(pi/3) = 1/2", "sin(7/6*pi) = -1/2", "cos(5*pi) = -1", "acos(-1/2) = 2*pi/3", "acos(1) = 0", "3*pi/(2*pi) = 3/2",
                "floor(-7/2) = -4", "floor(sqrt(2)) = 1", "floor(-sqrt(2)) = -2", "floor(100000000000000000000*pi) = 314159265358979323846",
                "distance(7/2) = 1/2", "distance(-1/4) = 1/4", "distance(-sqrt(2)) < 0.4143", "distance(3*sqrt(2)) < 0.2427",
                "abs(-pi) = pi", "abs(3 - pi) > 0.14", "max(1, 3, 2) = 3", "min(pi, 3) = 3", "max(sqrt(2), 1) > 1.4",
                "pi > 3.14159265358979323846", "pi < 3.14159265358979323847", "sqrt(2) != 3/2", "exp(log(2)) < 2.0000001",
                "log(10) > 2.302", "10000^(-1/4) < 0.100001", "2^0.5 > 1.414", "0^0 = 1", "0^2 = 0", "(-1)^41 = -1",
                "sum(i in 1..100: i) = 5050", "sum(i in 5..1: i) = 0", "min(i in -3..3: i^2) = 0", "max(i in 1..9 if i < 4: i) = 3",
                "all(i in 5..1: 1 > 2)", "all(i in 1..9, j in i..9 if i != j: i < j)", "all(x in 1..3: all(y in x..x: y = x))",
                "all(i in 1..3: i > 0 and i < 4)", "sum(i in 1..2, j in i..2: 10*i + j) = 11 + 12 + 22",
                "cos(1e22) > 0.5232 and cos(1e22) < 0.5233",
                " 1<2\tand 2 <3\n"]:
            self.accepted([relation(statement)])

    def test_false_statements_are_refutations(self):
        for statement in ["1 > 2", "1 = 2", "pi = 3", "sqrt(2) = 3/2", "all(i in 1..3: i != 2)", "1 < 2 and 2 < 1", "1 < 0 and cos(1) != cos(1)"]:
            self.accepted([relation(statement, holds=False)], verdict="refuted")
            self.rejected([relation(statement)], "facts[0] (relation): statement: does not hold")

    def test_open_statements_fail_either_way(self):
        for statement in ["sqrt(2)^2 = 2", "sqrt(2)^2 >= 2", "sqrt(2)^2 != 2", "all(i in 1..3 if sqrt(4) = 2: i < 0)"]:
            self.rejected([relation(statement)], "not decided")
            self.rejected([relation(statement, holds=False)], "not decided", verdict="refuted")

    def test_undefined_values_are_errors(self):
        for statement, reason in [
                ("1/0 < 1", "division by zero"), ("1/(1-1) < 1", "division by zero"), ("0^-1 < 1", "division by zero"),
                ("min(i in 1..0: i) < 1", "min or max of nothing"), ("log(0) < 1", "not decided"), ("sqrt(-1) < 1", "not decided"),
                ("acos(2) < 1", "not decided"), ("(-8)^(1/3) < 0", "not decided"), ("sum(i in 1..3/2: i) > 0", "is no integer"),
                ("a[3] = 1", "not in its table"), ("a[-1] = 1", "not in its table"), ("a[1/2] = 1", "not in its table"),
                ("1/sin(pi*sqrt(4)) > 0", "not decided")]:
            self.rejected([relation(statement, tables={"a": ["1", "2", "4"]})], reason)

    def test_names(self):
        self.accepted([relation("all(i in 0..2: a[i] = b^i)", where={"b": "2"}, tables={"a": ["1", "1 + 1", "16^(1/1)/4"]})])
        self.accepted([relation("min(s in 1..max(m, n-1-m): 1 - cos(s*theta)) <= 2*pi^2/n^2", holds=False,
                                where={"n": "4", "m": "1", "theta": "2"})], verdict="refuted")
        for statement, rest in [
                ("x > 1", {}), ("i > 1 and all(i in 1..2: i > 0)", {}), ("a > 1", {"tables": {"a": ["2"]}}),
                ("1 < 2", {"where": {"a": "1", "b": "a"}}), ("1 < 2", {"where": {"a": "1"}, "tables": {"a": ["1"]}}),
                ("all(i in 1..2: all(i in 1..2: i > 0))", {}), ("all(b in 1..2: b > 0)", {"where": {"b": "1"}}),
                ("1 < 2", {"where": {"cos": "1"}}), ("1 < 2", {"where": {"a b": "1"}}), ("all(pi in 1..2: 1 > 0)", {})]:
            self.rejected([relation(statement, **rest)], "facts[0] (relation)", code=2)

    def test_syntax_errors_name_the_place(self):
        for statement in ["", "1", "1 <", "(1 < 2)", "1 < 2 < 3", "1 == 1", "1 < 2)", "2 3 < 4", "cos 1 < 2", "sum(1, 2) > 0", "1. < 2",
                          "1e < 2", "1x < 2", "all(i in 1..2) < 1", "--1 < 0", "é < 1", "1 < 2;", "all(i in 1..2 1 > 0)"]:
            self.rejected([relation(statement)], "facts[0] (relation): statement: ", code=2)

    def test_random_expressions_agree_with_mpmath(self):
        rng = random.Random(7)
        mpmath.mp.dps = 60

        def grow(depth):
            if depth == 0:
                n, d = rng.randint(-9, 9), rng.randint(1, 9)
                return rng.choice([(f"({n}/{d})", mpmath.mpf(n) / d), ("pi", mpmath.pi + 0)])
            (a, x), (b, y) = grow(depth - 1), grow(depth - 1)
            return rng.choice([
                lambda: (f"({a} + {b})", x + y), lambda: (f"({a} - {b})", x - y), lambda: (f"{a}*{b}", x * y), lambda: (f"({a})^2", x ** 2),
                lambda: (f"cos({a})", mpmath.cos(x)), lambda: (f"sin({a})", mpmath.sin(x)), lambda: (f"exp(-abs({a}))", mpmath.exp(-abs(x))),
                lambda: (f"sqrt(1 + ({a})^2)", mpmath.sqrt(1 + x * x)), lambda: (f"log(2 + abs({a}))", mpmath.log(2 + abs(x))),
                lambda: (f"max({a}, {b})", max(x, y)), lambda: (f"abs({a})", abs(x)), lambda: (f"acos(cos({a}))", mpmath.acos(mpmath.cos(x))),
                lambda: (f"(3 + sin({a}))^({b}/4)", (3 + mpmath.sin(x)) ** (y / 4)),
                lambda: (f"sum(i{depth} in -1..2: i{depth}*({a}))", 2 * x),
            ])()

        facts, wrong = [], []
        while len(facts) < 200:
            text, value = grow(rng.randint(1, 4))
            if abs(value) > 1e12 or abs(value - mpmath.nint(value * 6) / 6) < 1e-20:
                continue
            lo, hi = (mpmath.nstr(value * (1 + s * mpmath.mpf(10) ** -40), 45, min_fixed=-10**6, max_fixed=10**6) for s in (-1, 1))
            lo, hi = sorted((lo, hi), key=mpmath.mpf)
            facts.append(enclosure(text, lo, hi))
            wrong.append((enclosure(text, hi, hi), enclosure(text, lo, lo)))
        self.accepted(facts)
        for below, above in wrong[:40]:
            self.rejected([below], "is below lo")
            self.rejected([above], "is above hi")


class Facts(Case):
    def test_enclosure(self):
        good = enclosure("exp(x)", "2.718", "2719/1000", where={"x": "1"})
        self.accepted([good, enclosure("1/2", "0.5", "1/2"), enclosure("-1/2", "-1/2", "-5e-1")])
        self.rejected([changed(good, "lo", "2.7183")], "facts[0] (enclosure): of: the value [2.71828")
        self.rejected([changed(good, "hi", "2.7182")], "is above hi")
        self.rejected([changed(good, "hi", "-2/-3")], "hi: ", code=2)
        self.rejected([changed(good, "hi", "pi")], "hi: ", code=2)

    def test_extremum_from_lag_zero(self):
        # cos(0) is 1 whatever the frequency is: its record may say so exactly.
        good = {"kind": "extremum", "which": "minimum",
                "sum": {"offset": "0", "terms": [{"amplitude": "1", "frequency": "10^(-1/3)", "phase": "0"}]},
                "first": "0", "last": "3", "excluded": [], "value": {"lo": "0.17", "hi": "0.18"},
                "lags": ["3"], "complete": True,
                "records": [{"lag": "0", "lo": "1", "hi": "1"}, {"lag": "1", "lo": "0.89", "hi": "0.9"},
                            {"lag": "2", "lo": "0.59", "hi": "0.6"}, {"lag": "3", "lo": "0.17", "hi": "0.18"}]}
        self.accepted([good])
        self.rejected([changed(good, "records", 0, "lo", "1.1")], "records[0]")

    def test_extremum_where_nothing_moves(self):
        # The same value at every lag: whoever lists one of two as all of them is wrong.
        for terms in [], [{"amplitude": "0", "frequency": "1", "phase": "0"}]:
            good = {"kind": "extremum", "which": "minimum", "sum": {"offset": "0", "terms": terms},
                    "first": "1", "last": "2", "excluded": [], "value": {"lo": "0", "hi": "0"},
                    "lags": ["1", "2"], "complete": True}
            self.accepted([good])
            self.accepted([{**good, "lags": ["1"], "complete": False}])
            self.accepted([{**good, "lags": ["1"], "excluded": ["2"]}])
            self.rejected([{**good, "lags": ["1"]}], "lag 2 has the value")
            self.rejected([{**good, "lags": ["2"]}], "lag 1 has the value")
            self.rejected([{**good, "records": []}], "records: none")

    def test_extremum_of_one_plane(self):
        good = ONE_PLANE
        self.accepted([good])
        self.accepted([changed(good, "records", None)])
        for bad, reason in [
                (changed(good, "lags", ["709"]), "lags: lag 709 has the value"),
                (changed(good, "lags", ["333", "710"]), "lags: lag 333"),
                (changed(good, "lags", []), "lags: none"),
                (changed(good, "lags", ["710", "710"]), "not increasing"),
                (changed(good, "lags", ["1001"]), "out of the range"),
                (changed(good, "value", "hi", "1.81e-9"), "lags: lag 710"),
                (changed(good, "value", "hi", "0.00004"), "lag 333 has the value"),
                (changed(good, "excluded", ["710"]), "is excluded"),
                (changed(good, "first", "711"), "out of the range"),
                (changed(good, "records", good["records"][:-1]), "records[5]: the last"),
                (changed(good, "records", good["records"][1:]), "records[0]: not the first lag"),
                (changed(good, "records", good["records"][:3] + good["records"][4:]), "records[2]: lag 25"),
                (changed(good, "records", 2, "lo", "0.01130"), "records[2]: lag 19"),
                (changed(good, "records", 5, "hi", "0.000038"), "records[5]: lag 333"),
                (changed(good, "records", 4, "lag", "43"), "records[4]: lag 43"),
                (changed(good, "records", [{**good["records"][0], "lo": "0", "hi": "1"}, good["records"][-1]]), "records[0]: not beaten"),
                (changed(good, "records", 2, "hi", "1"), "records[1]: not beaten by the next"),
                (changed(good, "records", 4, "lag", "45"), "records[3]: lag 44")]:
            self.rejected([bad], reason)
        # Beyond 2^64; and a maximum with a phase and a term that stands still.
        far = changed(changed(good, "records", None), "last", str(10**40))
        self.rejected([far], "not above ")
        turned = {**changed(good, "records", None), "which": "maximum", "sum": wave(("-1", "1", "pi"), ("2", "4*pi", "0")),
                  "value": {"lo": "2.999999998", "hi": "3"}}
        self.accepted([turned])
        self.rejected([changed(turned, "value", "lo", "2.9")], "not below ")
        self.rejected([changed(turned, "value", "hi", "2.999999998")], "lags: lag 710")

    def test_extremum_of_one_plane_far_away(self):
        # The least distance of t/(2 pi) to integers over 1..10^60 is at the last convergent's denominator.
        mpmath.mp.dps = 200
        alpha = 1 / (2 * mpmath.pi)
        q, x = (0, 1), alpha
        while q[0] <= 10**60:
            a = int(mpmath.floor(x))
            q, x = (a * q[0] + q[1], q[0]), 1 / (x - a)
        lag = q[1]
        value = 1 - mpmath.cos(lag)
        lo, hi = (mpmath.nstr(value * (1 + s * mpmath.mpf(10)**-30), 40) for s in (-1, 1))
        fact = {**changed(ONE_PLANE, "records", None), "last": str(10**60), "lags": [str(lag)], "value": {"lo": lo, "hi": hi}}
        self.accepted([fact])
        self.rejected([changed(fact, "last", str(q[0] + 1))], f"lag {q[0]} has the value")
        self.rejected([changed(fact, "lags", [str(lag - 1)])], "lags: lag")
        # Leave it out, and another lag is the least.
        self.rejected([{**fact, "excluded": [str(lag)], "lags": [str(q[1] - 1)]}], "lags: lag")

    def test_extremum_of_two_planes(self):
        good = TWO_PLANES
        self.accepted([good])
        self.rejected([changed(good, "last", "43")], "out of the range")
        self.rejected([changed(good, "value", "hi", "0.0007")], "lag 88 has the value [0.000677")
        self.rejected([changed(good, "sum", "terms", 1, "amplitude", "-0.9")], "lags: lag 44")
        self.rejected([changed(good, "sum", "terms", 1, "phase", "0.01")], "lags: lag 44")
        self.rejected([changed(good, "first", "0")], "lag 0 has the value 0")
        self.accepted([changed(changed(good, "first", "0"), "excluded", ["0"])])
        self.accepted([changed(good, "complete", False)])
        tied = {**good, "first": "-2000", "excluded": ["0"], "lags": ["-44", "44"]}
        self.accepted([tied])
        self.rejected([changed(tied, "lags", ["44"])], "lag -44 has the value")
        self.accepted([{**tied, "lags": ["44"], "complete": False}])
        self.rejected([{**tied, "lags": ["88"], "value": {"lo": "0.0006", "hi": "0.0007"}, "complete": False}], "lag -44")

    def test_extremum_with_a_period(self):
        good = PERIODIC
        self.accepted([good])
        self.rejected([changed(good, "complete", True)], "lag 28 has the value 1")
        self.rejected([changed(good, "value", "hi", "0.9")], "lags: lag 14")
        self.accepted([{**good, "last": "20", "lags": ["14"], "complete": True}])
        self.rejected([{**good, "last": "20", "lags": ["14"], "excluded": [], "complete": True}], "lag 7 has the value 1")
        two = {**good, "sum": wave(("1", "2*pi/7", "0"), ("1", "-2*pi/5", "pi/2")), "excluded": [], "lags": ["49", "84"]}
        self.rejected([two], "has the value")
        constant = {**good, "sum": wave(("1", "2*pi", "pi/3"), offset="1/2"), "value": {"lo": "1", "hi": "1"}}
        self.accepted([constant])
        self.rejected([changed(constant, "complete", True)], "lag 1 has the value 1")

    def test_random_extrema_agree_with_mpmath(self):
        rng = random.Random(11)
        mpmath.mp.dps = 40
        for planes in [1, 2, 3, 8]:
            for trial in range(6):
                terms = [(f"{rng.randint(-20, 20) or 7}/10", f"{rng.randint(1, 300)}/97", f"{rng.randint(0, 60)}/10") for _ in range(planes)]
                which, first, last = rng.choice(["minimum", "maximum"]), rng.randint(-50, 50), rng.randint(400, 700)
                excluded = sorted(rng.sample(range(first, last), 3))

                def number(text):
                    return mpmath.mpf(int(text.split("/")[0])) / int(text.split("/")[1])

                def value(t):
                    return sum(number(a) * mpmath.cos(number(f) * t + number(p)) for a, f, p in terms)

                sign = 1 if which == "minimum" else -1
                ranked = sorted((sign * value(t), t) for t in range(first, last + 1) if t not in excluded)
                best, lag = ranked[0]

                def bounds(x, width=mpmath.mpf(10)**-20):
                    x = sign * x
                    return {"lo": mpmath.nstr(x - width, 30, min_fixed=-99), "hi": mpmath.nstr(x + width, 30, min_fixed=-99)}

                records = []
                for t in range(first, last + 1):
                    v = sign * value(t)
                    if t not in excluded and (not records or v < records[-1][0]):
                        records.append((v, t))
                fact = {"kind": "extremum", "which": which, "sum": wave(*terms), "first": str(first), "last": str(last),
                        "excluded": [str(t) for t in excluded], "value": bounds(best), "lags": [str(lag)], "complete": True,
                        "records": [{"lag": str(t), **bounds(v)} for v, t in records]}
                self.accepted([fact])
                second, other = ranked[1]
                self.rejected([{**fact, "lags": [str(other)], "value": bounds(second)}], "facts[0] (extremum)")
                wide = bounds(best, second - best + mpmath.mpf(10)**-10)
                self.rejected([{**fact, "value": wide}], f"lag {other} has the value")

    def test_all_lags_below_a_bound(self):
        # The lags with values up to hi, all of them or all but one.
        rng = random.Random(13)
        for trial in range(60):
            planes, turns = rng.randint(1, 3), rng.random() < 0.3
            first = rng.choice([1, 0, -700, 10**6])
            last, excluded = first + rng.randint(300, 1500), [first + 17]
            terms = [(f"{rng.randint(1, 20)}/10", f"{rng.randint(1, 90)}*pi/90" if turns else f"{rng.randint(1, 300)}/97",
                      f"{rng.randint(0, 60)}/10") for _ in range(planes)]

            def number(text):
                a, _, b = text.replace("*pi", "").partition("/")
                return mpmath.mpf(int(a)) / int(b) * (mpmath.pi if "pi" in text else 1)

            mpmath.mp.dps = 30
            parts = [(number(a), number(f), number(p)) for a, f, p in terms]
            ranked = sorted((sum(a * mpmath.cos(f * t + p) for a, f, p in parts), t) for t in range(first, last + 1) if t not in excluded)
            count = rng.randint(1, 30)
            while ranked[count][0] - ranked[count - 1][0] < 1e-15:
                count += 1
            lags = sorted(t for _, t in ranked[:count])
            fact = {"kind": "extremum", "which": "minimum", "sum": wave(*terms), "first": str(first), "last": str(last),
                    "excluded": [str(t) for t in excluded], "lags": [str(t) for t in lags], "complete": True,
                    "value": {"lo": mpmath.nstr(ranked[0][0] - 1e-20, 28), "hi": mpmath.nstr((ranked[count - 1][0] + ranked[count][0]) / 2, 28)}}
            self.accepted([fact])
            mirrored = {**fact, "which": "maximum", "sum": wave(*[("-" + a, f, p) for a, f, p in terms]),
                        "value": {"lo": mpmath.nstr(-mpmath.mpf(fact["value"]["hi"]), 28), "hi": mpmath.nstr(1e-20 - ranked[0][0], 28)}}
            self.accepted([mirrored])
            gone = rng.choice(lags)
            if count > 1:
                self.rejected([{**fact, "lags": [str(t) for t in lags if t != gone]}], f"lag {gone} has the value")
            self.rejected([{**fact, "lags": [str(t) for t in sorted(lags + [ranked[count][1]])]}], f"lag {ranked[count][1]} has the value")

    def test_extremum_by_a_lattice(self):
        # Too long to walk; the checker lists the close vectors of a lattice.
        good = FAR
        self.accepted([good])
        self.rejected([changed(good, "lags", [str(int(good["lags"][0]) + 1)])], "lags: lag 902537965266708498")
        self.rejected([changed(good, "lags", ["44"])], "lags: lag 44")
        # Its own value is there; that of lag 902537965266708497, which is less, is not.
        second = {**good, "lags": ["44"], "value": {"lo": "0.0007", "hi": "0.08"}, "complete": False}
        self.rejected([second], "has the value")
        self.rejected([changed(good, "value", "lo", "5.158e-33")], "lags: lag 902537965266708497")
        self.rejected([changed(good, "value", "hi", "5.157e-33")], "lags: lag 902537965266708497")
        # Wide enough for others. Which is named is nobody's business.
        self.rejected([changed(good, "value", "hi", "1e-29")], "has the value")
        self.accepted([changed(changed(good, "value", "hi", "5.2e-33"), "value", "lo", "0")])
        # A tie: the sum is even in the lag.
        tied = {**good, "first": "-" + good["last"], "excluded": ["0"], "lags": ["-" + good["lags"][0], good["lags"][0]]}
        self.accepted([tied])
        self.rejected([changed(tied, "lags", good["lags"])], "lag -902537965266708497 has the value")
        self.accepted([{**tied, "lags": good["lags"], "complete": False}])
        self.rejected([{**tied, "excluded": []}], "lag 0 has the value 0")
        # All but the best lag left out: the next one is the best, wherever it is.
        self.rejected([{**good, "excluded": good["lags"], "lags": ["44"], "value": {"lo": "0.0001", "hi": "0.2"}, "complete": False}],
                      "has the value")

    def test_lattices_agree_with_a_walk(self):
        # Ranges that are short enough to look at every lag, and long enough for the checker to take a lattice.
        rng = random.Random(17)
        for planes in [1, 2, 2, 3, 4]:
            first, length = rng.choice([1, -30000, 10**6]), rng.randint(20000, 40000)
            parts = [(rng.randint(1, 20) / 8 * rng.choice([1, -1]), rng.randint(1, 3000) / 1024, rng.randint(0, 48) / 8) for _ in range(planes)]
            which = rng.choice(["minimum", "maximum"])
            sign = 1 if which == "minimum" else -1
            excluded = [first + 17]
            ranked = sorted((sign * sum(a * math.cos(w * t + p) for a, w, p in parts), t)
                            for t in range(first, first + length) if t not in excluded)
            count = rng.randint(1, 5)
            while ranked[count][0] - ranked[count - 1][0] < 1e-8:
                count += 1
            lags = sorted(t for _, t in ranked[:count])
            ends = sorted([sign * (ranked[0][0] - 1e-9), sign * (ranked[count][0] + ranked[count - 1][0]) / 2])
            records = []
            for v, t in sorted(ranked, key=lambda x: x[1]):
                if not records or v < records[-1][0] - 1e-9:
                    records.append((v, t))
            fact = {"kind": "extremum", "which": which, "sum": wave(*[(repr(a), repr(w), repr(p)) for a, w, p in parts]),
                    "first": str(first), "last": str(first + length - 1), "excluded": [str(t) for t in excluded],
                    "value": {"lo": f"{ends[0]:.12f}", "hi": f"{ends[1]:.12f}"}, "lags": [str(t) for t in lags], "complete": True,
                    "records": [{"lag": str(t), "lo": f"{sign * v - 1e-10:.12f}", "hi": f"{sign * v + 1e-10:.12f}"} for v, t in records]}
            self.accepted([fact])
            gone, other = rng.choice(lags), ranked[count][1]
            if count > 1:
                self.rejected([{**changed(fact, "records", None), "lags": [str(t) for t in lags if t != gone]}], f"lag {gone} has the value")
            self.rejected([{**fact, "lags": [str(t) for t in sorted(lags + [other])]}], f"lag {other} has the value")
            if len(records) > 2:
                self.rejected([changed(fact, "records", fact["records"][:-2] + fact["records"][-1:])], f"lag {records[-2][1]} has the value")

    def test_base_set(self):
        good = BASES
        self.accepted([good])
        self.accepted([changed(good, "infimum", {"lo": "1", "hi": "150"})])
        whole = {**good, "infimum": None, "dim": "128", "length": "4096", "cuts": ["26999", "27001"], "pieces": [["rejected", "4079"]]}
        self.accepted([whole])
        for bad, reason in [
                (changed(good, "pieces", 0, ["rejected", "1"]), "pieces[0]: B_1 has the other sign"),
                (changed(good, "pieces", 0, ["rejected", "3"]), "pieces[0]: lag 3"),
                (changed(good, "pieces", 1, ["rejected", "2"]), "pieces[1]: B_2 has the other sign"),
                (changed(good, "pieces", 1, ["admissible"]), "pieces[1]: B_2 has the other sign"),
                (changed(good, "pieces", 0, ["admissible"]), "pieces[0]: B_2 has the other sign"),
                (changed(good, "cuts", 1, "1"), "cuts[1]: not above"),
                (changed(good, "cuts", 0, "0"), "cuts[0]: not above"),
                (changed(good, "cuts", ["1", "2"]), "cuts: not one more"),
                (changed(good, "infimum", "hi", "1.5"), "infimum.hi: below lo"),
                (changed(good, "infimum", "hi", "2.26"), "infimum.hi: B_2 has the other sign"),
                (changed(good, "infimum", "lo", "5"), "infimum: lo is no cut"),
                (changed(good, "infimum", "lo", "2"), "infimum: lo is no cut"),
                (changed(good, "dim", "5"), "dim: not even"),
                (changed(good, "length", "16777217"), "length: not in"),
                (changed(whole, "pieces", 0, ["rejected", "4078"]), "pieces[0]: B_4078"),
                (changed(whole, "pieces", 0, ["admissible"]), "pieces[0]: B_4079")]:
            self.rejected([bad], reason)
        for piece in [["rejected"], ["rejected", "2", "3"], ["admissible", "2"], ["maybe"], [], "rejected", ["rejected", "x"]]:
            self.rejected([changed(good, "pieces", 0, piece)], "facts[0] (base-set)", code=2)

    def test_contradiction(self):
        self.accepted(CONTRADICTIONS)
        for fact in CONTRADICTIONS:
            self.rejected([changed(fact, "rows", 1, "times", "3")], "rows: the sum does not cancel")
            self.rejected([changed(fact, "rows", fact["rows"][:1])], "rows: the sum does not cancel")
            self.rejected([changed(fact, "rows", 0, "times", "0")], "rows[0]: times is not positive")
            self.rejected([changed(fact, "rows", [])], "rows: none")
            self.rejected([changed(fact, "task", "letters", "0")], "more letters")
            self.rejected([changed(fact, "task", "length", "9")], "the length of the task")
        index = CONTRADICTIONS[0]
        pairs, clean, position, symbol = CONTRADICTIONS[3:7]
        for fact, tokens, reason in [
                (index, "1 b 1", "reaches back"), (index, "a b 2", "'2' is no token"), (index, "a b ?1", "is no token"), (index, "a b 01", "no token"),
                (pairs, "AA BB BB", "rows[1]: another query"),
                (pairs, "AA BB AC", "more letters"), (pairs, "AB BB AB", "'AB' wants a letter that is not there"),
                (pairs, "AA A1 AB", "is no token"), (clean, "B1 B1 AB", "the sum"), (clean, "B1 A1 AB", "in two tokens"),
                (position, "a b ?3", "is no token"), (position, "a ?1 ?1", "before the last position"), (position, "a b b", "no query"),
                (symbol, "A:x A:y ?A", "two attributes"), (symbol, "B:x B:y ?A", "is not there"), (symbol, "A:x B:z ?A", "more attributes")]:
            self.rejected([changed(fact, "rows", 0, "input", tokens.split())], reason)
        self.rejected([changed(index, "rows", 1, "input", ["b", "b", "1"])], "rows[1]: another query or bag")
        proper = contradiction("positional", "retrieval-proper", 4, 2, 1, ("BB B1 AA AB", "AA", "1"))
        self.rejected([proper], "'AB' wants a letter of two tokens")
        self.rejected([changed(pairs, "task", "name", "retrieval-clean")], "in two tokens")
        self.rejected([changed(index, "rows", 0, "rival", "b")], "it is the right one")
        self.rejected([changed(index, "rows", 0, "rival", "?")], "is no token")
        self.rejected([changed(CONTRADICTIONS[1], "rows", 0, "rival", "c")], "no token of the input")
        self.rejected([changed(index, "head", "any")], "head", code=2)
        self.rejected([changed(index, "task", "name", "sort")], "name", code=2)

    def test_rounding(self):
        good = ROUNDING
        self.accepted([good])
        self.accepted([{**good, "last": "1", "records": good["records"][:1]}])
        self.accepted([{**good, "records": [{"lag": "1", "plane": "0", "lo": "0", "hi": "1/2"}]}])
        turned = {**good, "frequencies": ["-1"], "inv_freq": ["-1"]}  # cosines are even
        self.accepted([turned])
        still = {**good, "frequencies": ["0"], "inv_freq": ["0"], "records": [{"lag": "1", "plane": "0", "lo": "0", "hi": "0"}]}
        self.accepted([still])
        self.accepted([{**still, "inv_freq": [f"1/{2**1074}"]}])  # a cosine next to 1
        self.rejected([changed(still, "frequencies", 0, "1e-30")], "records[0]: lag 1, plane 0")
        for bad, reason in [
                (changed(good, "records", 0, "hi", "0.001239"), "records[0]: lag 1, plane 0: off by [0.0012398"),
                (changed(good, "records", 0, "lo", "0.001240"), "records[0]: lag 1, plane 0"),
                (changed(good, "records", 1, "lo", "0.001712"), "records[1]: lag 3, plane 0"),
                (changed(good, "records", 1, "lag", "4"), "records[1]: lag 3, plane 0"),
                (changed(good, "records", 1, "lag", "2"), "records[1]: lag 2, plane 0"),
                (changed(good, "records", good["records"][:1]), "(rounding): lag 3, plane 0: off by [0.0017"),
                (changed(good, "records", good["records"][1:]), "records[0]: lag: not in 1..1"),
                (changed(good, "records", good["records"][::-1]), "records[0]: lag: not in 1..1"),
                (changed(good, "records", 1, "lag", "1"), "records[1]: lag: not in 2..10"),
                (changed(good, "records", 0, "hi", "1"), "records[1]: hi: below that of the record before"),
                (changed(good, "records", []), "records: none"),
                (changed(good, "records", 0, "plane", "1"), "records[0]: plane: not in 0..0"),
                (changed(good, "records", 0, "plane", "-1"), "records[0]: plane: not in 0..0"),
                (changed(good, "last", "2"), "records[1]: lag: not in 2..2"),
                (changed(good, "last", "0"), "last: not in 1..16777216"),
                (changed(good, "last", "16777217"), "last: not in"),
                (changed(good, "last", "63"), "(rounding): lag 15, plane 0"),
                (changed(good, "inv_freq", 0, "1/3"), "plane 0: no double"),
                (changed(good, "inv_freq", 0, str(2**53 + 1)), "plane 0: no double"),
                (changed(good, "inv_freq", 0, str(2**1024)), "plane 0: no double"),
                (changed(good, "inv_freq", 0, f"1/{2**1075}"), "plane 0: no double"),
                (changed(good, "inv_freq", 0, "1.5"), "records[0]: lag 1"),
                (changed(good, "inv_freq", 0, str(2**126)), "plane 0: not finite"),
                (changed(good, "inv_freq", []), "inv_freq: not one per frequency"),
                ({**good, "inv_freq": [], "frequencies": []}, "inv_freq: not one per frequency"),
                (changed(good, "frequencies", 0, "1.0001"), "records[0]: lag 1"),
                (changed(good, "frequencies", 0, "log(0)"), "plane 0: not decided"),
                (changed(good, "factor", "0.1"), "factor: no double"),
                (changed(good, "factor", "-1"), "factor: not in (0, 256]"),
                (changed(good, "factor", "257"), "factor: not in (0, 256]"),
                (changed(good, "factor", "2"), "records[0]: lag 1"),
                (changed(good, "table", "limit", "0"), "table: limit: not in 1..1024"),
                (changed(good, "table", "precision", "54"), "table: precision: not in 1..53"),
                (changed(good, "table", "precision", "0"), "table: precision: not in 1..53"),
                (changed(good, "angles", "least", "1"), "angles: least: not in -1074..0"),
                (changed(good, "positions", "least", "-1075"), "positions: least: not in -1074..0"),
                (changed(good, "positions", "limit", "3"), "plane 0: not finite"),
                ({**good, "factor": "2", "table": {**BF16, "limit": "1"}}, "factor: not finite"),
                (changed(good, "size", "1.001"), "records[0]: lag 1"),
                (changed(good, "size", "0"), "size: not in (0, 256)"),
                (changed(good, "size", "1e9"), "size: not in (0, 256)")]:
            self.rejected([bad], reason)
        for path, value in [(("size",), "one"), (("frequencies", 0), "x"), (("inv_freq", 0), "pi"), (("factor",), "sqrt(2)"),
                            (("table", "base"), "2"), (("table", "limit"), None), (("records", 0, "hi"), None), (("records", 0, "sine"), "1"),
                            (("records",), {}), (("last",), "ten"), (("angles",), "fp32")]:
            self.rejected([changed(good, *path, value)], str(path[-1] if isinstance(path[-1], str) else "plane 0"), code=2)

    def rounding(self, last, formats, stored, frequencies, size="1", factor="1"):
        """The fact with its records by fractions and mpmath, to 25 digits, and a lag that beats each but the last."""
        formats = [dict(zip(("precision", "least", "limit"), map(str, f))) for f in formats]
        fact = {"kind": "rounding", "frequencies": frequencies, "size": size, "inv_freq": [str(w) for w in stored], "factor": str(factor),
                **dict(zip(("positions", "angles", "table"), formats)), "last": str(last), "records": []}
        best = -1
        for t in range(1, last + 1):
            error, plane = max((entry_error(fact, f, t), f) for f in range(len(stored)))
            if error > best:
                best = error
                lo, hi = (mpmath.nstr(error * (1 + s * mpmath.mpf(10) ** -24), 30, min_fixed=-99) for s in (-1, 1))
                fact["records"].append({"lag": str(t), "plane": str(plane), "lo": lo, "hi": hi})
        return fact

    def check_rounding(self, fact):
        self.accepted([fact])
        records = fact["records"]
        for i in {0, len(records) - 1}:
            lo, hi = number(records[i]["lo"]), number(records[i]["hi"])
            if lo == hi:  # 0
                continue
            self.rejected([changed(fact, "records", i, "hi", records[i]["lo"])], f"records[{i}]: lag {records[i]['lag']}, plane")
            self.rejected([changed(fact, "records", i, "lo", records[i]["hi"])], f"records[{i}]: lag {records[i]['lag']}, plane")
            if i > 0:
                self.rejected([changed(fact, "records", records[:i] + records[i + 1:])], f"lag {records[i]['lag']}, plane")
                self.rejected([{**fact, "records": records[:i]}], f"(rounding): lag {records[i]['lag']}, plane")
            if len(fact["inv_freq"]) > 1:
                other = (int(records[i]["plane"]) + 1) % len(fact["inv_freq"])
                self.rejected([changed(fact, "records", i, "plane", str(other))], f"records[{i}]: lag {records[i]['lag']}, plane {other}")

    def test_rounding_of_pipelines_agrees_with_fractions(self):
        mpmath.mp.dps = 60
        fp64, fp32, tf32, bf16, fp16 = (53, -1074, 1024), (24, -149, 128), (11, -136, 128), (8, -133, 128), (11, -24, 16)
        frequencies = ["1", "500000^(-1/64)", "500000^(-3/64)", "10000^(-1/2)"]
        exact = [mpmath.mpf(1), mpmath.mpf(500000) ** (mpmath.mpf(-1) / 64), mpmath.mpf(500000) ** (mpmath.mpf(-3) / 64), mpmath.mpf(1) / 100]

        def stored(*forms):
            out = [Fraction(float(x)) for x in exact]
            for precision, least, limit in forms:
                out = [nearest(x, {"precision": precision, "least": least, "limit": limit}) for x in out]
            return out

        for last, inv_freq, formats in [
                (90, (), (fp64, fp64, fp64)), (90, (fp32,), (fp32, fp32, fp32)), (60, (fp32, tf32), (tf32, fp32, fp32)),
                (60, (fp32, bf16), (fp32, fp32, fp32)), (280, (fp32,), (bf16, fp32, fp32)), (60, (fp32,), (fp32, fp16, fp16)),
                (60, (fp32,), (fp32, bf16, bf16)), (60, (fp32,), (fp32, fp32, bf16)), (60, (fp32, fp16), (fp16, fp16, fp16))]:
            self.check_rounding(self.rounding(last, formats, stored(*inv_freq), frequencies))
        # An attention factor: yarn's, and one that is stored as a power of two.
        yarn = nearest(Fraction(float(1 + mpmath.log(32) / 10)), dict(zip(("precision", "least", "limit"), fp32)))
        for formats in [(fp32, fp32, fp32), (fp32, fp32, bf16), (fp32, fp16, fp16)]:
            self.check_rounding(self.rounding(50, formats, stored(fp32), frequencies, size="0.1*log(32) + 1", factor=yarn))
        self.check_rounding(self.rounding(50, (fp32, bf16, bf16), stored(fp32), frequencies, size="255.9", factor=256))

    def test_rounding_to_few_digits_agrees_with_fractions(self):
        # Ties, carries, underflow and overflow are everywhere in formats of few digits.
        rng, accepted = random.Random(17), 0
        mpmath.mp.dps = 60
        for _ in range(30):
            formats = [(rng.randint(1, 5), rng.randint(-8, 0), rng.randint(3, 8)) for _ in range(3)]
            stored = [Fraction(rng.randint(0, 31), 2 ** rng.randint(2, 7)) for _ in range(2)]
            factor, last = Fraction(rng.randint(1, 31), 2 ** rng.randint(2, 6)), rng.randint(1, 20)
            fact = self.rounding(last, formats, stored, [str(x) for x in stored], str(factor), factor)
            if fact["records"][-1]["hi"] == "+inf":
                self.rejected([{**fact, "records": [{"lag": "1", "plane": "0", "lo": "0", "hi": "512"}]}], "not finite")
                continue
            accepted += 1
            self.check_rounding(fact)
        self.assertGreater(accepted, 15)

    def test_circle_cover(self):
        self.accepted([COVER, {**COVER, "reach": "1"}, {**COVER, "reach": "1000"}])
        self.rejected([{**COVER, "reach": "0"}], "reach: not positive")
        self.rejected([{**COVER, "reach": "-1"}], "reach: not positive")

    def softmax(self, fact, near=1e-9):
        """What is true by `near` is accepted, what is false by a hair is rejected: the partition, and the mass that is excluded."""
        def shown(x):
            return mpmath.nstr(x, 35, min_fixed=-40, max_fixed=40)

        with mpmath.workdps(60):
            partition, least = softmax_sums(fact)
            hair = mpmath.mpf(10) ** -30
            low, less, more, high = (shown(partition * (1 + x)) for x in (-near, -hair, hair, near))
            fact = {**fact, "partition": {"lo": low, "hi": high}}
            if least is not None:
                just, false = (shown(1 / (1 + mpmath.exp(least + x))) for x in (-near, hair))
                fact = changed(fact, "bound", "mass", just)
                self.rejected([changed(fact, "bound", "mass", false)], "facts[0] (softmax): bound: ")
        self.accepted([fact])
        self.rejected([changed(fact, "partition", {"lo": low, "hi": less})], "facts[0] (softmax): partition: ")
        self.rejected([changed(fact, "partition", {"lo": more, "hi": high})], "facts[0] (softmax): partition: ")

    def test_softmax(self):
        good = SOFTMAX
        self.accepted([good, changed(good, "bound", None)])
        self.softmax(good)
        for bad, reason in [
                (changed(good, "partition", "hi", "1.1667681920277"), "partition: [1.16676819202"),
                (changed(good, "partition", "lo", "1.1667681920278"), "partition: [1.16676819202"),
                (changed(good, "partition", {"lo": "2", "hi": "1"}), "partition: "),
                (changed(good, "bound", "mass", "0.99999996258"), "bound: [-17.10122"),
                (changed(good, "scale", "12.0000001"), "partition: "), (changed(good, "sum", "offset", "0.9000000001"), "partition: "),
                (changed(good, "last", "51"), "partition: "), (changed(good, "first", "-1"), "partition: "),
                (changed(good, "sum", "terms", 2, "phase", "pi/2"), "partition: "), (changed(good, "first", "0"), "partition: "),
                (changed(good, "scale", "0"), "scale: not in"), (changed(good, "scale", "1000000.1"), "scale: not in"),
                (changed(good, "first", "51"), "last: not 1 to 2^24 lags"), (changed(good, "last", "16777214"), "last: not 1 to 2^24 lags"),
                (changed(good, "last", "33554433"), "last: beyond 2^25"), (changed(good, "first", "-33554433"), "first: beyond 2^25"),
                (changed(good, "first", "1"), "bound: not lag 0 and another"), (changed(good, "last", "-1"), "bound: not lag 0 and another"),
                ({**good, "first": "0", "last": "0"}, "bound: not lag 0 and another"),
                (changed(good, "bound", "frequencies", []), "bound: frequencies: not 1 to"),
                *[(changed(good, "bound", "mass", p), "bound: mass: not in") for p in ["0", "1", "-1/2", "3/2"]]]:
            self.rejected([bad], reason)
        # A plane more in the bound, which these weights bring back less often than the others.
        more = changed(good, "bound", "frequencies", ["1", "3", "10^(-1/2)", "1/10"])
        self.rejected([changed(more, "sum", "terms", [])], "partition: ")
        self.softmax(more)

    def test_softmax_of_equal_weights(self):
        # Five weights of 1, exactly.
        five = {"kind": "softmax", "sum": wave(), "scale": "1", "first": "-1", "last": "3", "partition": {"lo": "5", "hi": "5"}}
        self.accepted([five, {**five, "sum": wave(("0", "1", "0"))}])
        self.rejected([changed(five, "partition", "lo", "5.000000000000000000001")], "partition: 5.0000")
        self.rejected([changed(five, "partition", "hi", "4.999999999999999999999")], "partition: 5.0000")
        # Equal keys have a mass of 1/5; planes that stand still can do no better, and the others' four weights are 4.
        still = {**five, "bound": {"frequencies": ["2*pi", "0"], "mass": "0.2000001"}}
        self.accepted([still])
        self.rejected([changed(still, "bound", "mass", "0.1999999")], "bound: [1.386294361")
        self.softmax(changed(still, "bound", "frequencies", ["2*pi", "1"]))
        for lags in range(1, 12):
            self.accepted([{**five, "last": str(lags - 2), "partition": {"lo": str(lags), "hi": str(lags)}}])

    def test_softmax_agrees_with_mpmath(self):
        rng = random.Random(19)
        for first, last in [(0, 1), (-1, 0), (-40, 30), (1, 9), (-1030, -5), (-1024, 1), (-1025, 1023), (0, 1024), (-1, 2050), (2**25 - 90, 2**25)]:
            planes = rng.randint(1, 4)
            frequencies = [rng.choice([f"{rng.randint(-300, 300)}/97", f"100^(-{i}/{planes})", f"{rng.randint(1, 9)}*pi/11"]) for i in range(planes)]
            terms = [(f"{rng.randint(-20, 20)}/{20 * planes}", w, rng.choice(["0", "pi/2", f"{rng.randint(-60, 60)}/10"])) for w in frequencies * 2]
            fact = {"kind": "softmax", "sum": wave(*terms, offset=f"{rng.randint(-9, 9)}/7"), "scale": f"{rng.randint(1, 200)}/8",
                    "first": str(first), "last": str(last)}
            if first <= 0 <= last:
                fact["bound"] = {"frequencies": frequencies + [f"{rng.randint(1, 300)}/97"], "mass": "1/2"}
            self.softmax(fact)

    def test_softmax_of_extreme_weights(self):
        # Weights beyond all doubles, large and tiny, alone and side by side.
        for offset, scale in [("0", "3000"), ("1", "9000"), ("-5", "3000"), ("200", "100"), ("-200", "100")]:
            fact = changed(SOFTMAX, "bound", "frequencies", ["1e-6"])  # a plane that hardly moves, lest the bound asks for a mass of 1
            self.softmax({**fact, "scale": scale, "sum": {**fact["sum"], "offset": offset}}, 1e-5)
        one = {**fact, "first": "0", "last": "1", "scale": "3000", "sum": wave(("-1", "3", "0"))}  # weight 1 at lag 1 of e^-6000
        self.softmax(one, 1e-6)
        self.softmax({**one, "sum": wave(("1", "3", "0"))}, 1e-6)
        # S is known to 2^-50 or so, which a large scale makes visible.
        large = {**one, "scale": "1000000", "partition": {"lo": "0", "hi": "1"}}
        self.rejected([large], "partition: [3.0332")



class File(Case):
    def test_verdicts(self):
        yes, no = relation("1 < 2"), relation("2 < 1", holds=False)
        self.accepted([yes, no], verdict="refuted")
        self.accepted([], verdict="undecided")
        self.accepted([yes], verdict="undecided")
        self.rejected([yes], "verdict: refuted without", verdict="refuted")
        self.rejected([yes, no], "verdict: proved with")
        self.rejected([no], "verdict: undecided with", verdict="undecided")
        self.rejected([], "verdict: proved without a fact")
        self.rejected([], "verdict: refuted without a fact", verdict="refuted")
        self.rejected([yes, relation("2 < 1")], "facts[1] (relation)")
        self.rejected([relation("2 < 1")], "facts[0]", verdict="undecided")
        self.rejected([yes], "verdict", verdict="certain", code=2)

    def test_hash(self):
        words = {"claim": "é \u2028 \U0001f600 \" \\ / \b\f\n\r\t \x01 \x7f", "b": {"z": "1", "a": ["x", None, True]}}
        self.accepted([relation("1 < 2")], words=words)
        good = seal([relation("1 < 2")], words=words)
        bad = copy.deepcopy(good)
        bad["words"]["claim"] = "something else"
        self.assertEqual(check(bad)[0], 1)
        self.assertIn("sha256", check(bad)[1])
        # Order of keys, spaces and escapes are no part of the contents.
        self.assertEqual(check_bytes(json.dumps(good, indent=3, ensure_ascii=True).encode())[0], 0)

    def test_keys(self):
        fact = relation("1 < 2")
        self.accepted([fact], words=None)
        self.rejected([fact], "extra: unknown key", code=2, extra="1")
        self.rejected([{**fact, "note": "x"}], "facts[0] (relation): note: unknown key", code=2)
        self.rejected([{**TWO_PLANES, "note": "x"}], "note: unknown key", code=2)
        self.rejected([changed(TWO_PLANES, "value", "mid", "x")], "mid: unknown key", code=2)
        self.rejected([changed(TWO_PLANES, "sum", "terms", 1, "mid", "x")], "mid: unknown key", code=2)
        self.rejected([changed(COVER, "reach", 16)], "a number without quotes", code=2)
        for path in [("sum",), ("sum", "terms", 1), ("partition",), ("bound",)]:
            self.rejected([changed(SOFTMAX, *path, "mid", "x")], "mid: unknown key", code=2)
        for path in [("sum", "terms"), ("sum", "terms", 1, "phase"), ("partition", "hi"), ("bound", "frequencies"), ("bound", "mass")]:
            self.rejected([changed(SOFTMAX, *path, None)], path[-1] + ": missing", code=2)
        for path, value in [(("bound",), []), (("bound", "frequencies"), "1"), (("bound", "frequencies"), [[]]), (("sum",), "0"),
                            (("sum", "terms"), {}), (("first",), "1/2"), (("last",), ""), (("last",), []), (("partition",), "1"), (("scale",), "pi")]:
            self.rejected([changed(SOFTMAX, *path, value)], "facts[0] (softmax)", code=2)
        self.rejected([changed(TWO_PLANES, "complete", "true")], "complete", code=2)
        for key in ["format", "version", "verdict", "facts"]:
            for value in [None, "2", True]:
                certificate = {**seal([fact]), key: value}
                code, line = check({k: v for k, v in certificate.items() if v is not None})
                self.assertEqual(code, 2)
                self.assertIn("rejected: FILE: " + key, line)
        for base in [fact, enclosure("1", "1", "1"), TWO_PLANES, BASES, CONTRADICTIONS[0], ROUNDING, COVER, changed(SOFTMAX, "bound", None)]:
            for key in base:
                self.rejected([changed(base, key, None)], key, code=2)
        text = json.dumps(seal([fact])).replace('"holds": true', '"holds": true, "holds": true')
        code, line = check_bytes(text.encode())
        self.assertEqual((code, line), (2, "rejected: FILE: the key 'holds' is repeated"))

    def test_command_line(self):
        self.assertEqual(run()[0], 2)
        self.assertEqual(run("--nonsense")[0], 2)
        self.assertIn("Examples:", run("--help")[1])
        self.assertRegex(run("--version")[1], r"^ropewalk-check \d+\.\d+\.\d+\n$")
        with tempfile.TemporaryDirectory() as folder:
            good, bad, odd = (os.path.join(folder, name) for name in ["good.json", "bad.json", "-odd.json"])
            for path, certificate in [(good, seal([COVER])), (odd, seal([COVER])), (bad, seal([relation("2 < 1")]))]:
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(certificate, file)
            self.assertEqual(run(good, good), (0, f"accepted: {good}: proved, 1 fact\n" * 2, ""))
            code, out, _ = run(good, bad)
            self.assertEqual((code, out.count("\n")), (1, 2))
            self.assertEqual(run(good, bad, os.path.join(folder, "none.json"))[0], 4)
            self.assertEqual(run(folder)[0], 4)
            code, out, _ = run("--json", good, bad)
            first, second = json.loads(out)
            self.assertEqual(code, 1)
            self.assertEqual(first, {"file": good, "accepted": True, "verdict": "proved, 1 fact"})
            self.assertEqual((second["accepted"], second["reason"]), (False, "facts[0] (relation): statement: does not hold"))


class Hostile(Case):
    """Every one of these ends quickly, with a line and a status of failure."""

    def fails(self, content, *codes):
        code, line = check_bytes(content)
        self.assertIn(code, codes or (2,), line[:300])
        self.assertTrue(line.startswith("rejected: FILE: "), line[:300])

    def test_no_json(self):
        good = json.dumps(seal([COVER])).encode()
        for content in [b"", b"\0", b"null", b"[]", b"1", b'"x"', b"{", b"\xff\xfe{}", good[:-1], good + b"x", good.replace(b"16", b"\xc3\x28"),
                        b'{"a": 1e999}', b'{"\\ud800": "x"}', b"[" * 1000000, b'{"a":' * 100000]:
            self.fails(content)

    def test_what_is_wrong_is_said_in_one_plain_line(self):
        for content, line in [
                (b'{\n "a": x}', "no JSON: line 2, column 7"), (b"", "no JSON: line 1, column 1"), (b"{}\0 {", "no JSON: a zero byte"), (b'{"a": 1e999}', "no JSON: a number beyond all bounds"),
                (b'{"claims": [{"seconds": 1.5}]}', "a number without quotes, which no certificate has"),
                (b"[]", "format: not 'ropewalk-certificate', so no certificate of ropewalk")]:
            self.assertEqual(check_bytes(content), (2, "rejected: FILE: " + line))
        code, line = check(seal([changed(TWO_PLANES, "complete", "true")]))
        self.assertEqual((code, line), (2, "rejected: FILE: facts[0] (extremum): complete: type must be boolean, but is string"))

    def test_a_file_cannot_print_a_verdict(self):
        for kind in ["x\naccepted: minimum.json: proved, 1 fact", "\x1b[2Jaccepted", "é" * 2000]:
            self.rejected([{"kind": kind}], "facts[0] (", code=2)

    def test_large_files(self):
        self.fails(b" " * (65 << 20))
        self.fails(json.dumps(seal([COVER], words={"x": "y" * (1 << 20)})).encode().replace(b"16", b"17"), 1)

    def test_deep_and_long_expressions(self):
        for statement in ["(" * 100000 + "1" + ")" * 100000 + " < 2", "-" * 1000 + "1 < 2", "2^" * 100000 + "1 < 2",
                          "cos(" * 5000 + "1" + ")" * 5000 + " < 2", "all(i in 1..2: " * 300 + "1 > 0" + ")" * 300, "1 < " + "1+" * 600000 + "1"]:
            self.rejected([relation(statement)], "facts[0]", code=2)
        names = [chr(ord("a") + i) for i in range(26)]
        nested = "".join(f"all({x} in 1..1: " for x in names) + "1 > 0" + ")" * len(names)
        self.rejected([relation(nested)], "too many names bound at once", code=2)
        self.accepted([relation("1+" * 100000 + "1 = 100001")])

    def test_huge_numbers(self):
        for number in ["1e999999999", "1e99999999999999999999", "1e-20000", "9" * 2001]:
            self.rejected([relation(f"{number} > 1")], "facts[0]", code=2)
            self.rejected([enclosure("1", "0", number)], "facts[0]", code=2)
            self.rejected([changed(ONE_PLANE, "last", number)], "facts[0]", code=2)
            for key in ["last", "factor"]:
                self.rejected([changed(ROUNDING, key, number)], "facts[0]", code=2)
            self.rejected([changed(ROUNDING, "records", 0, "lag", number)], "facts[0]", code=2)
        for statement in ["9^9^9^9 < 1", "(1/3)^(10^9) > 1", "(1+pi)^(10^1000) < 1", "exp(exp(exp(exp(9)))) < 1", "2^(2^(2^(2^(2^9)))) < 1",
                          "cos(9^9^9) > 1", "floor(9^9^9) = 1", "sum(i in 1..200000: 1/i) < 1", "1/exp(-exp(999)) < 1", "log(exp(-10^30)) > 0"]:
            self.rejected([relation(statement)], "facts[0]")

    def test_long_loops(self):
        for statement in ["sum(i in 1..10^18: i) > 0", "all(i in 1..10^5, j in 1..10^5: i > 0 and j > 10^4)", "all(i in 1..10^30: i > 0)"]:
            code, line = check(seal([relation(statement)]))
            self.assertEqual(code, 1)
            self.assertIn("facts[0]", line)

    def test_sums_out_of_reach(self):
        # More vectors of a lattice, and more lags, than the limits allow.
        many = {**TWO_PLANES, "last": str(10**30)}
        self.rejected([many], "has the value")
        loose = {**many, "sum": wave(("1", "1", "0"), ("1", "2/7", "0")), "value": {"lo": "-2.1", "hi": "-1.9"}, "lags": ["11"]}
        self.rejected([loose], "has the value")
        nothing = {**many, "sum": wave(("1", "1", "0"), ("1", "1", "pi")), "value": {"lo": "-1e-9", "hi": "1e-9"}, "lags": ["11"]}
        self.rejected([{**nothing, "complete": False}], "not decided: too many lags")
        self.rejected([{**many, "sum": wave(*[("-1", f"{n}^(1/2)", "0") for n in range(2, 30)], offset="28"), "value": {"lo": "0", "hi": "56"},
                        "complete": False}], "not decided")
        self.rejected([{**many, "last": "9" * 1900}], "facts[0]")
        flat = {**changed(ONE_PLANE, "records", None), "value": {"lo": "0", "hi": "3"}, "last": str(10**20)}
        self.rejected([flat], "has the value")
        self.rejected([{**flat, "complete": False, "value": {"lo": "1", "hi": "3"}, "lags": ["3"]}], "lag")
        huge = changed(flat, "sum", "terms", 0, "frequency", "10^1000")
        self.rejected([huge], "facts[0]")
        self.rejected([changed(TWO_PLANES, "sum", "terms", 0, "frequency", "1/0")], "division by zero")
        self.rejected([changed(TWO_PLANES, "sum", "terms", 0, "frequency", "10^100")], "lags: lag 44")
        self.rejected([changed(TWO_PLANES, "sum", "terms", 0, "amplitude", "1e9999")], "lags: lag 44")

    def test_softmax_out_of_reach(self):
        for path, value, reason in [
                (("sum", "terms", 0, "amplitude"), "1e300", "scale times the amplitudes is beyond"),
                (("sum", "terms", 0, "amplitude"), "1e10000", "scale times the amplitudes is beyond"),
                (("sum", "terms", 0, "amplitude"), "1e-10000", "partition: "),
                (("sum", "terms", 0, "amplitude"), "-8e6", "partition: "),
                (("sum", "terms", 0, "frequency"), "10^1000", "an angle is not known"),
                (("sum", "terms", 0, "frequency"), "exp(exp(50))", "not decided: "),
                (("sum", "terms", 0, "frequency"), "10^-1000", "partition: "),
                (("sum", "terms", 0, "phase"), "10^1000", "partition: "),
                (("sum", "terms", 0, "phase"), "1/0", "division by zero"),
                (("bound", "frequencies"), ["10^1000"], "bound: "),
                (("bound", "frequencies"), ["1"] * 4097, "frequencies: not 1 to 4096"),
                (("bound", "frequencies"), ["1", "sum(i in 1..10^9: i)"], "too long a loop"),
                (("sum", "offset"), "1e10000", "partition: "), (("sum", "offset"), "-1e10000", "not decided: "),
                (("sum", "offset"), "-" + "9" * 400, "facts[0]"),
                (("bound", "mass"), "1e-10000", "bound: "), (("scale",), "1e-10000", "partition: "),
                (("sum", "terms"), SOFTMAX["sum"]["terms"] * 1025, "sum: more than 4096 terms")]:
            self.rejected([changed(SOFTMAX, *path, value)], reason)
        self.rejected([{**SOFTMAX, "last": "16777213", "bound": {"frequencies": [f"1/{n}" for n in range(1, 600)], "mass": "1/2"}}],
                      "planes times lags are beyond 2^32")
        self.rejected([changed(SOFTMAX, "last", "9" * 1900)], "last: beyond 2^25")
        awkward = [{"amplitude": f"1/{10**1900 + n}", "frequency": f"1/{10**1900 + n}", "phase": f"1/{10**1900 + n}"} for n in range(400)]
        self.rejected([changed(SOFTMAX, "sum", "terms", awkward)], "partition: ")

    def test_random_damage(self):
        rng = random.Random(5)
        facts = [relation("all(i in 0..2: a[i] = 2^i)", tables={"a": ["1", "2", "4"]}), ONE_PLANE, TWO_PLANES, PERIODIC, BASES, ROUNDING, COVER, SOFTMAX, *CONTRADICTIONS]
        text = json.dumps(seal(facts))
        for _ in range(150):
            body = list(text)
            for _ in range(rng.randint(1, 4)):
                body[rng.randrange(len(body))] = rng.choice('0123456789"{}[]:,.-+*/()^ae \\')
            if "".join(body) == text:
                continue
            self.fails("".join(body).encode(), 1, 2)
            # The same damage under a right hash: any verdict, but an orderly one.
            try:
                damaged = json.loads("".join(body))
                again = seal(damaged["facts"], damaged["verdict"])
            except (ValueError, KeyError, TypeError):
                continue
            code, line = check(again)
            self.assertIn(code, (0, 1, 2), line)


if __name__ == "__main__":
    unittest.main()
