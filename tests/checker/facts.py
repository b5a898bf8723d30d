"""An independent opinion on certificate facts, in mpmath and fractions, from docs/certificates.md alone.

judge(fact) says True (holds as stated), False (false or unsupported) or None (too costly to say). It is slow, uses
120 digits where the checker uses enclosures, and shares nothing with it: where the two differ, one of them is wrong.
"""

import json
import math
import re
from fractions import Fraction

import mpmath

mpmath.mp.dps = 120
SAME = mpmath.mpf(10) ** -90  # what 120 digits call equal
COST = 200_000  # operations, then None


class Costly(Exception):
    pass


class Bad(Exception):
    pass


TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\.\.|<=|>=|!=|[-+*/^()\[\],:<>=]))")


def tokens(text):
    out, at = [], 0
    text = text.rstrip()
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise Bad(f"unreadable at {at}: {text[at:at + 20]}")
        out.append(m.group(1) or m.group(2) or m.group(3))
        # "1..5": a number must not swallow the dots; the pattern needs digits after its dot, so it does not.
        at = m.end()
    return out


def number(text):
    return Fraction(text)


class Evaluator:
    """Parses once into closures over an environment of names."""

    def __init__(self, fact):
        self.cost = 0
        self.names = {}
        self.tables = {}
        where = fact.get("where", {})
        tables = fact.get("tables", {})
        for name, text in where.items():
            self.names[name] = self.value(text, {})
        for name, entries in tables.items():
            self.tables[name] = [self.value(e, {}) for e in entries]

    # entry points
    def value(self, text, env=None):
        self.toks, self.at = tokens(text), 0
        f = self.sum()
        self.end()
        return f(env or {})

    def truth(self, text):
        self.toks, self.at = tokens(text), 0
        f = self.statement()
        self.end()
        return f({})

    def end(self):
        if self.at != len(self.toks):
            raise Bad(f"left over: {self.toks[self.at:]}")

    # tokens
    def peek(self, k=0):
        return self.toks[self.at + k] if self.at + k < len(self.toks) else None

    def take(self, what=None):
        t = self.peek()
        if t is None or (what is not None and t != what):
            raise Bad(f"expected {what}, found {t}")
        self.at += 1
        return t

    def tick(self):
        self.cost += 1
        if self.cost > COST:
            raise Costly()

    # grammar
    def statement(self):
        parts = [self.clause()]
        while self.peek() == "and":
            self.take()
            parts.append(self.clause())
        return lambda env: all(p(env) for p in parts)

    def clause(self):
        if self.peek() == "all":
            self.take()
            self.take("(")
            run = self.binders()
            self.take(":")
            body = self.statement()
            self.take(")")
            return lambda env: all(body(e) for e in run(env))
        left = self.sum()
        op = self.take()
        right = self.sum()

        def decide(env):
            self.tick()
            x, y = left(env), right(env)
            d = add(x, -y)
            if isinstance(d, Fraction):
                s = (d > 0) - (d < 0)
            else:
                scale = max(abs(mpf(x)), abs(mpf(y)), mpmath.mpf(10) ** -300)
                s = 0 if abs(d) <= SAME * scale else (1 if d > 0 else -1)
            if op not in ("<", "<=", ">", ">=", "=", "!="):
                raise Bad(op)
            return {"<": s < 0, "<=": s <= 0, ">": s > 0, ">=": s >= 0, "=": s == 0, "!=": s != 0}[op]

        return decide

    def binders(self):
        parts = []
        while True:
            name = self.take()
            self.take("in")
            lo = self.sum()
            self.take("..")
            hi = self.sum()
            parts.append((name, lo, hi))
            if self.peek() != ",":
                break
            self.take()
        condition = None
        if self.peek() == "if":
            self.take()
            condition = self.statement()

        def run(env, i=0):
            if i == len(parts):
                self.tick()
                if condition is None or condition(env):
                    yield env
                return
            name, lo, hi = parts[i]
            first, last = integer(lo(env)), integer(hi(env))
            if last - first > 10 * COST:
                raise Costly()
            for v in range(first, last + 1):
                yield from run({**env, name: Fraction(v)}, i + 1)

        return run

    def sum(self):
        f = self.term()
        while self.peek() in ("+", "-"):
            op, a, b = self.take(), f, self.term()
            f = (lambda a, b: lambda env: add(a(env), b(env)))(a, b) if op == "+" else (
                lambda a, b: lambda env: add(a(env), -b(env)))(a, b)
        return f

    def term(self):
        f = self.factor()
        while self.peek() in ("*", "/"):
            op, a, b = self.take(), f, self.factor()
            f = (lambda a, b: lambda env: mul(a(env), b(env)))(a, b) if op == "*" else (
                lambda a, b: lambda env: div(a(env), b(env)))(a, b)
        return f

    def factor(self):
        if self.peek() == "-":
            self.take()
            f = self.power()
            return lambda env: -f(env)
        return self.power()

    def power(self):
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        exponent = self.factor()
        return lambda env: power(base(env), exponent(env))

    def atom(self):
        t = self.take()
        if t[0].isdigit():
            v = number(t)
            return lambda env: v
        if t == "(":
            f = self.sum()
            self.take(")")
            return f
        if t == "pi":
            return lambda env: +mpmath.pi
        if t in FUNCTIONS and self.peek() == "(" and not (t in ("min", "max", "sum") and self.peek(2) == "in"):
            self.take("(")
            args = [self.sum()]
            while self.peek() == ",":
                self.take()
                args.append(self.sum())
            self.take(")")
            return lambda env: (self.tick(), FUNCTIONS[t](*[a(env) for a in args]))[1]
        if t in ("min", "max", "sum"):
            self.take("(")
            run = self.binders()
            self.take(":")
            body = self.sum()
            self.take(")")

            def fold(env):
                values = [body(e) for e in run(env)]
                if t == "sum":
                    total = Fraction(0)
                    for v in values:
                        total = add(total, v)
                    return total
                if not values:
                    raise Bad(f"empty {t}")
                best = values[0]
                for v in values[1:]:
                    if (mpf(v) < mpf(best)) == (t == "min"):
                        best = v
                return best

            return fold
        if not re.match(r"[A-Za-z_]", t):
            raise Bad(f"unexpected {t}")
        if self.peek() == "[":
            self.take()
            index = self.sum()
            self.take("]")

            def entry(env):
                i = integer(index(env))
                table = self.tables.get(t)
                if table is None or not 0 <= i < len(table):
                    raise Bad(f"{t}[{i}]")
                return table[i]

            return entry

        def name(env):
            if t in env:
                return env[t]
            if t in self.names:
                return self.names[t]
            raise Bad(f"no {t}")

        return name


def mpf(x):
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def pair(x, y):
    return (x, y) if isinstance(x, Fraction) and isinstance(y, Fraction) else (mpf(x), mpf(y))


def add(x, y):
    x, y = pair(x, y)
    return x + y


def mul(x, y):
    x, y = pair(x, y)
    return x * y


def div(x, y):
    x, y = pair(x, y)
    if y == 0:
        raise Bad("division by 0")
    return x / y


def power(x, e):
    if isinstance(e, Fraction) and e.denominator == 1:
        if isinstance(x, Fraction) and abs(e) <= 5000:
            if x == 0 and e < 0:
                raise Bad("0^-1")
            return x ** int(e)
        return mpf(x) ** int(e)
    if mpf(x) <= 0:
        raise Bad("power of a number <= 0")
    return mpmath.power(mpf(x), mpf(e))


def integer(x):
    if isinstance(x, Fraction) and x.denominator == 1:
        return int(x)
    near = mpmath.nint(mpf(x))
    if abs(mpf(x) - near) > SAME:
        raise Bad("not an integer")
    return int(near)


def distance(x):
    if isinstance(x, Fraction):
        return abs(x - round(x))
    return abs(x - mpmath.nint(x))


def least(*xs):
    return min(xs, key=mpf)


def most(*xs):
    return max(xs, key=mpf)


def checked(f, ok):
    def g(x):
        if not ok(mpf(x)):
            raise Bad("outside the domain")
        return f(mpf(x))
    return g


FUNCTIONS = {
    "cos": lambda x: mpmath.cos(mpf(x)),
    "sin": lambda x: mpmath.sin(mpf(x)),
    "acos": checked(mpmath.acos, lambda x: abs(x) <= 1),
    "exp": lambda x: mpmath.exp(mpf(x)),
    "log": checked(mpmath.log, lambda x: x > 0),
    "sqrt": checked(mpmath.sqrt, lambda x: x >= 0),
    "abs": abs,
    "floor": lambda x: Fraction(math.floor(x)) if isinstance(x, Fraction) else Fraction(int(mpmath.floor(x))),
    "distance": distance,
    "min": least,
    "max": most,
    "sum": None,
}


def closed(text):
    return Evaluator({}).value(text)


# ------------------------------------------------------------------------------------------------ extremum

def judge_extremum(fact, truth=None):
    """truth: the same fact before it was changed, believed; used where the range is too long to walk."""
    low = fact["which"] == "minimum"
    if not low and fact["which"] != "maximum":
        return False
    terms = [(number(t["amplitude"]), closed(t["frequency"]), closed(t.get("phase", "0")))
             for t in fact["sum"]["terms"]]
    offset = number(fact["sum"]["offset"])
    first, last = int(fact["first"]), int(fact["last"])
    excluded = {int(t) for t in fact.get("excluded", [])}
    lo, hi = number(fact["value"]["lo"]), number(fact["value"]["hi"])
    lags = [int(t) for t in fact["lags"]]
    digits = len(str(last)) + 2 * 60

    def value(t):
        with mpmath.workdps(120 + digits if last > 10**20 else 120):
            return mpf(offset) + mpmath.fsum(mpf(a) * mpmath.cos(mpf(w) * t + mpf(p)) for a, w, p in terms)

    def inside(v, a, b):
        tiny = SAME * max(abs(v), mpmath.mpf(10) ** -30)
        return mpf(a) - tiny <= v <= mpf(b) + tiny

    if lo > hi or not lags or lags != sorted(set(lags)):
        return False
    if any(t < first or t > last or t in excluded for t in lags):
        return False
    if any(not inside(value(t), lo, hi) for t in lags):
        return False
    records = [(int(r["lag"]), number(r["lo"]), number(r["hi"])) for r in fact.get("records", [])]
    for t, a, b in records:
        if a > b or not first <= t <= last or t in excluded or not inside(value(t), a, b):
            return False
    if last - first > 3000:
        same = truth and all(truth.get(k) == fact.get(k) for k in ("which", "sum", "first", "last", "excluded"))
        if not same:
            return None
        if fact["complete"] and not truth["complete"]:
            return None
        if fact["complete"] and [int(t) for t in truth["lags"]] != lags:
            return False
        best = value(int(truth["lags"][0]))
        if not inside(best, lo, hi):
            return False
        if "records" in fact and "records" in truth:
            if [r[0] for r in records] != [int(r["lag"]) for r in truth["records"]]:
                return False
        elif "records" in fact:
            return None
        return True
    if (last - first) * len(terms) > 20_000:
        return None
    values = {t: value(t) for t in range(first, last + 1) if t not in excluded}
    if not values:
        return False
    sign = 1 if low else -1
    best = min(sign * v for v in values.values())
    if not inside(sign * best, lo, hi):
        return False
    end = sign * mpf(hi if low else lo)
    tiny = SAME
    for t, v in values.items():
        if t in lags:
            continue
        if fact["complete"] and sign * v <= end - tiny:
            return False
        if not fact["complete"] and sign * v < sign * mpf(lo if low else hi) - tiny:
            return False
    if "records" in fact:
        if not records or records[0][0] != min(values):
            return False
        seen = [r[0] for r in records]
        if seen != sorted(set(seen)):
            return False
        for i, (t, a, b) in enumerate(records):
            stop = records[i + 1][0] if i + 1 < len(records) else last + 1
            outer = sign * mpf(a if low else b)
            if any(sign * v < outer - tiny for u, v in values.items() if u < stop):
                return False
            if i and not sign * values[t] < sign * values[records[i - 1][0]] - tiny:
                return False
        if abs(sign * values[records[-1][0]] - best) > SAME and not inside(sign * best, *records[-1][1:]):
            return False
    return True


# ------------------------------------------------------------------------------------------------ base-set

def base_sum(base, dim, k):
    return mpmath.fsum(mpmath.cos(k * mpmath.power(base, mpmath.mpf(-2 * i) / dim)) for i in range(dim // 2))


def judge_base_set(fact, truth=None):
    dim, length = int(fact["dim"]), int(fact["length"])
    if dim < 2 or dim % 2 or length < 1:
        return False
    if dim * length > 40_000:
        return None
    with mpmath.workdps(40):
        cuts = [mpf(closed(c)) for c in fact["cuts"]]
        pieces = fact["pieces"]
        if len(cuts) != len(pieces) + 1 or any(not a < b for a, b in zip(cuts, cuts[1:])) or cuts[0] < 1:
            return False
        spent = 0
        for i, piece in enumerate(pieces):
            if piece[0] == "undecided":
                if len(piece) != 1:
                    return False
                continue
            a, b = cuts[i], cuts[i + 1]
            points = [a, b] + [a + (b - a) * j / 8 for j in range(1, 8)]
            if piece[0] == "rejected":
                k = int(piece[1])
                if not 1 <= k <= length or len(piece) != 2:
                    return False
                spent += len(points) * dim
                if any(base_sum(p, dim, k) >= 0 for p in points):
                    return False
            elif piece[0] == "admissible":
                if len(piece) != 1:
                    return False
                for p in points[:4]:
                    spent += length * dim
                    if spent > 3_000_000:
                        return None
                    if any(base_sum(p, dim, k) < -mpmath.mpf(10) ** -25 for k in range(1, length + 1)):
                        return False
            else:
                return False
        infimum = fact["infimum"]
        if infimum is not None:
            lo, hi = mpf(closed(infimum["lo"])), mpf(closed(infimum["hi"]))
            if lo > hi:
                return False
            at = [i for i, c in enumerate(cuts) if abs(c - lo) <= mpmath.mpf(10) ** -30 * lo]
            if not at or any(p[0] != "rejected" for p in pieces[:at[0]]):
                return False
            if any(base_sum(hi, dim, k) < 0 for k in range(1, length + 1)):
                return False
    return True


# ------------------------------------------------------------------------------------------------ softmax

def softmax_sums(fact):
    """The partition, and the left side of the bound at these weights, or None if no bound is asked for."""
    scale, offset = mpf(number(fact["scale"])), mpf(number(fact["sum"]["offset"]))
    terms = [(mpf(number(t["amplitude"])), mpf(closed(t["frequency"])), mpf(closed(t["phase"]))) for t in fact["sum"]["terms"]]
    lags = range(int(fact["first"]), int(fact["last"]) + 1)
    at = {t: offset + mpmath.fsum(a * mpmath.cos(w * t + p) for a, w, p in terms) for t in lags}
    weight = {t: mpmath.exp(-scale * at[t]) for t in lags}
    partition = mpmath.fsum(weight.values())
    if "bound" not in fact:
        return partition, None
    others = [t for t in lags if t != 0]
    total = mpmath.fsum(weight[t] for t in others)
    share = {t: weight[t] / total for t in others}
    entropy = -mpmath.fsum(mu * mpmath.log(mu) for mu in share.values())
    farthest = max(abs(mpmath.fsum(share[t] * (1 - mpmath.expj(mpf(closed(w)) * t)) for t in others))
                   for w in fact["bound"]["frequencies"])
    return partition, entropy - scale * farthest


def judge_softmax(fact, truth=None):
    first, last, scale = int(fact["first"]), int(fact["last"]), number(fact["scale"])
    lo, hi = number(fact["partition"]["lo"]), number(fact["partition"]["hi"])
    bound = fact.get("bound", {"frequencies": []})
    if last < first or scale <= 0 or lo > hi:
        return False
    if "bound" in fact and (first > 0 or last < 0 or first == last or not bound["frequencies"]
                            or not 0 < number(bound["mass"]) < 1):
        return False
    if (last - first) * (1 + len(fact["sum"]["terms"]) + len(bound["frequencies"])) > 3000:
        return None
    with mpmath.workdps(60):
        partition, least = softmax_sums(fact)
        return bool(mpf(lo) <= partition <= mpf(hi) and
                    (least is None or least > mpmath.log(1 / mpf(number(bound["mass"])) - 1)))


# ------------------------------------------------------------------------------------------------ contradiction

def split_pair(token):
    m = re.fullmatch(r"([A-Z]\d*?)([A-Z]\d*|\d+)", token)
    if not m:
        raise Bad(token)
    return m.group(1), m.group(2)


def letters(count, first):
    """a, b, ..., z, a1, ...; capitals likewise; x, y, z, a1... for attributes start at x."""
    start = ord("A") if first < "a" else ord("a")
    names = []
    for i in range(count):
        name = chr(start + (ord(first) - start + i) % 26)
        names.append(name + (str(i // 26) if i >= 26 else ""))
    return names


def understand(task, tokens_):
    """(answer, right key position) of a valid input; Bad for an invalid one."""
    n, many, others = int(task["length"]), int(task["letters"]), int(task["others"])
    if len(tokens_) != n or n < 1:
        raise Bad("length")
    name = task["name"]
    last = tokens_[-1]
    if name == "index":
        alphabet = letters(many, "a")
        for i, t in enumerate(tokens_, 1):
            if t.isdigit():
                if t != str(int(t)) or not 1 <= int(t) <= others or int(t) > i - 1:
                    raise Bad(t)
            elif t not in alphabet:
                raise Bad(t)
        if last.isdigit() and not tokens_[n - 1 - int(last)].isdigit():
            key = n - 1 - int(last)
        else:
            key = n - 1
        return tokens_[key], key
    if name in ("retrieval-proper", "retrieval-clean"):
        alphabet = letters(many, "A")
        pairs = [split_pair(t) for t in tokens_]
        for left, right in pairs:
            if left not in alphabet:
                raise Bad(left)
            if right.isdigit():
                if not 1 <= int(right) <= others or right != str(int(right)):
                    raise Bad(right)
            elif right not in alphabet:
                raise Bad(right)
        for i, (left, right) in enumerate(pairs):
            if right.isdigit():
                continue
            holders = {tokens_[j] for j in range(i + 1) if pairs[j][0] == right}
            if len(holders) != 1:
                raise Bad("improper")
        if name == "retrieval-clean":
            for left in alphabet:
                if len({t for t, p in zip(tokens_, pairs) if p[0] == left}) > 1:
                    raise Bad("unclean")
        if pairs[-1][1].isdigit():
            return last, max(j for j in range(n) if tokens_[j] == last)
        key = max(j for j in range(n) if pairs[j][0] == pairs[-1][1])
        return tokens_[key], key
    if name == "position":
        alphabet = letters(many, "a")
        if any(t not in alphabet for t in tokens_[:-1]) or not re.fullmatch(r"\?[1-9]\d*", last):
            raise Bad("tokens")
        j = int(last[1:])
        if j > n - 1:
            raise Bad(last)
        return tokens_[j - 1], j - 1
    if name in ("symbol", "mixed"):
        symbols, attributes = letters(many, "A"), letters(others, "x")
        bound = []
        for t in tokens_[:-1]:
            s, _, a = t.partition(":")
            if s not in symbols or a not in attributes:
                raise Bad(t)
            bound.append((s, a))
        if not last.startswith("?") or last[1:] not in symbols:
            raise Bad(last)
        mine = [(j, a) for j, (s, a) in enumerate(bound) if s == last[1:]]
        if not mine or (name == "symbol" and len({a for _, a in mine}) > 1):
            raise Bad("binding")
        return mine[-1][1], mine[-1][0]
    raise Bad(name)


def answers_of(task):
    many, others, name = int(task["letters"]), int(task["others"]), task["name"]
    if name == "index":
        return set(letters(many, "a")) | {str(i) for i in range(1, others + 1)}
    if name.startswith("retrieval"):
        alphabet = letters(many, "A")
        return {a + b for a in alphabet for b in alphabet + [str(i) for i in range(1, others + 1)]}
    if name == "position":
        return set(letters(many, "a")) | {f"?{j}" for j in range(1, int(task["length"]))}
    return set(letters(others, "x"))


def writes(task, token):
    if task["name"] in ("symbol", "mixed"):
        return token.partition(":")[2] if ":" in token else None
    if task["name"] == "position":
        return None if token.startswith("?") else token
    return token


def judge_contradiction(fact, truth=None):
    task, head = fact["task"], fact["head"]
    total, right_side, same = {}, 0, None
    if not fact["rows"]:
        return False
    for row in fact["rows"]:
        times = number(row["times"])
        if times <= 0:
            return False
        answer, key = understand(task, row["input"])
        rival = row["rival"]
        query = row["input"][-1]
        group = query if head != "symbolic decoder" else (query, tuple(sorted(row["input"][:-1])))
        if same is not None and same != group:
            return False
        same = group
        if head == "symbolic attention":
            if rival not in row["input"] or rival == row["input"][key]:
                return False
            coefficients = [(row["input"][key], 1), (rival, -1)]
        elif head == "symbolic decoder":
            if rival not in answers_of(task) or rival == answer:
                return False
            coefficients = [(answer, 1), (rival, -1)]
        elif head == "positional":
            if rival not in answers_of(task) or rival == answer:
                return False
            written = [writes(task, t) for t in row["input"]]
            coefficients = [(j, 1) for j, w in enumerate(written) if w == answer]
            coefficients += [(j, -1) for j, w in enumerate(written) if w == rival]
        else:
            return False
        for unknown, c in coefficients:
            total[unknown] = total.get(unknown, 0) + c * times
        right_side += times
    if head == "positional":
        return right_side > 0 and all(c <= 0 for c in total.values())
    return right_side > 0 and all(c == 0 for c in total.values())


# ------------------------------------------------------------------------------------------------ rounding

def nearest(x, form):
    """The number of the format nearest to the rational x, ties to even; infinity beyond."""
    if x in (0, math.inf):
        return x
    top = abs(x.numerator).bit_length() - x.denominator.bit_length()
    top += Fraction(2) ** top <= abs(x)
    step = Fraction(2) ** max(top - int(form["precision"]), int(form["least"]))
    value = round(x / step) * step  # a Fraction is rounded to even
    return value if abs(value) < Fraction(2) ** int(form["limit"]) else math.inf


def entry_error(fact, plane, lag):
    """|entry - A cos(theta t)|; infinity where the entry is none."""
    angle = nearest(number(fact["inv_freq"][plane]) * nearest(Fraction(lag), fact["positions"]), fact["angles"])
    if angle == math.inf:
        return angle
    cosine = Fraction(*mpmath.libmp.to_rational(mpmath.cos(mpf(angle))._mpf_))
    entry = nearest(nearest(cosine, fact["angles"]) * number(fact["factor"]), fact["angles"])
    entry = nearest(entry, fact["table"])
    if entry == math.inf:
        return entry
    return abs(mpf(entry) - mpf(closed(fact["size"])) * mpmath.cos(mpf(closed(fact["frequencies"][plane])) * lag))


def judge_rounding(fact, truth=None):
    planes, last = len(fact["frequencies"]), int(fact["last"])
    for form in (fact["positions"], fact["angles"], fact["table"]):
        if not (1 <= int(form["precision"]) <= 53 and -1074 <= int(form["least"]) <= 0 < int(form["limit"]) <= 1024):
            return False
    if not planes or len(fact["inv_freq"]) != planes or not 1 <= last <= 2**24:
        return False
    if any(Fraction(float(number(x))) != number(x) for x in [*fact["inv_freq"], fact["factor"]]):
        return False
    records = [(int(r["lag"]), int(r["plane"]), mpf(number(r["lo"])), mpf(number(r["hi"]))) for r in fact["records"]]
    lags = [r[0] for r in records]
    if not records or lags[0] != 1 or lags != sorted(set(lags)) or lags[-1] > last:
        return False
    if planes * last > 2000:
        return None
    best = -1
    for t in range(1, last + 1):
        errors = [entry_error(fact, f, t) for f in range(planes)]
        if records and records[0][0] == t:
            _, plane, lo, hi = records.pop(0)
            if not 0 <= plane < planes or hi < best or not lo - SAME <= errors[plane] <= hi + SAME:
                return False
            best = hi
        if max(errors) > best + SAME:
            return False
    return True


def judge_cover(fact, truth=None):
    reach = int(fact["reach"])
    if reach < 1:
        return False
    return True if reach <= 10**6 else None  # Dirichlet's theorem: true for every reach


def judge(fact, truth=None):
    longest = max((len(m) for m in re.findall(r"\d+", json.dumps(fact))), default=1)
    with mpmath.workdps(120 + (4 * longest if longest > 30 else 0)):
        return opinion(fact, truth)


def opinion(fact, truth):
    try:
        kind = fact["kind"]
        if kind == "relation":
            return Evaluator(fact).truth(fact["statement"]) == fact["holds"]
        if kind == "enclosure":
            e = Evaluator(fact)
            v = mpf(e.value(fact["of"]))
            lo, hi = mpf(number(fact["lo"])), mpf(number(fact["hi"]))
            tiny = SAME * abs(v)
            return lo - tiny <= v <= hi + tiny and lo <= hi
        return {"extremum": judge_extremum, "base-set": judge_base_set, "contradiction": judge_contradiction,
                "rounding": judge_rounding, "circle-cover": judge_cover, "softmax": judge_softmax}[kind](fact, truth)
    except Costly:
        return None
    except (Bad, KeyError, ValueError, ZeroDivisionError, IndexError, TypeError, OverflowError):
        return False
