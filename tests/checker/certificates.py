"""Small certificates, written down by hand, and what seals and checks them."""

import hashlib
import json
import os
import subprocess
import tempfile

BINARY = os.environ.get("ROPEWALK_CHECK", "ropewalk-check")
PATIENCE = 600  # seconds: works to its limits with sanitizers on; a hang shows all the same


def seal(facts, verdict="proved", **changes):
    """A certificate of these facts. `changes` replaces keys of the file, or removes those given as None."""
    body = {"format": "ropewalk-certificate", "version": "1", "verdict": verdict, "facts": facts, "words": {}}
    body.update(changes)
    body = {key: value for key, value in body.items() if value is not None}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {"sha256": hashlib.sha256(canonical.encode()).hexdigest(), **body}


def run(*arguments, timeout=PATIENCE):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def check_bytes(content, timeout=PATIENCE):
    """Exit status and the line that is printed about a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.json")
        with open(path, "wb") as file:
            file.write(content)
        code, out, err = run(path, timeout=timeout)
        assert out.count("\n") == 1 and not err, (code, out, err)
        return code, out.strip().replace(path, "FILE")


def check(certificate, timeout=PATIENCE):
    return check_bytes(json.dumps(certificate, ensure_ascii=False).encode(), timeout)


def relation(statement, holds=True, **rest):
    return {"kind": "relation", "statement": statement, "holds": holds, **rest}


def enclosure(of, lo, hi, **rest):
    return {"kind": "enclosure", "of": of, "lo": lo, "hi": hi, **rest}


def wave(*terms, offset="0"):
    return {"offset": offset,
            "terms": [{"amplitude": a, "frequency": f, "phase": p} for a, f, p in terms]}


# The loss 1 - cos t of one plane at 1 radian; its records are the denominators of convergents of 2 pi.
ONE_PLANE = {
    "kind": "extremum", "which": "minimum", "sum": wave(("-1", "1", "0"), offset="1"),
    "first": "1", "last": "1000", "excluded": [],
    "value": {"lo": "1.81e-9", "hi": "1.82e-9"}, "lags": ["710"], "complete": True,
    "records": [{"lag": lag, "lo": lo, "hi": hi} for lag, lo, hi in [
        ("1", "0.459", "0.460"), ("6", "0.0398", "0.0399"), ("19", "0.0112", "0.0113"), ("25", "0.0087", "0.0088"),
        ("44", "0.000156", "0.000157"), ("333", "0.0000389", "0.0000390"), ("710", "1.817e-9", "1.818e-9")]]}

# 2 - cos t - cos 2t/7 over lags 1..2000: 44 is nearly 7 turns of the one and 2 of the other.
TWO_PLANES = {
    "kind": "extremum", "which": "minimum", "sum": wave(("-1", "1", "0"), ("-1", "2/7", "0"), offset="2"),
    "first": "1", "last": "2000", "excluded": [],
    "value": {"lo": "0.00016948", "hi": "0.00016949"}, "lags": ["44"], "complete": True}

# The planes 1 and 1/100 over a range that nobody walks: 902537965266708497 is nearly a whole number of turns of both.
FAR = {
    "kind": "extremum", "which": "minimum", "sum": wave(("-1/2", "1", "0"), ("-1/2", "1/100", "0"), offset="1"),
    "first": "1", "last": str(10**18), "excluded": [],
    "value": {"lo": "5.15788e-33", "hi": "5.15789e-33"}, "lags": ["902537965266708497"], "complete": True}

# cos(2 pi t/7) is 1 at all multiples of 7, exactly.
PERIODIC = {
    "kind": "extremum", "which": "maximum", "sum": wave(("1", "2*pi/7", "0")),
    "first": "1", "last": "1000000000000000000000", "excluded": ["7"],
    "value": {"lo": "1", "hi": "1"}, "lags": ["14", "21"], "complete": False}

# B_k(b) = cos k + cos(k b^(-1/2)) for dim 4. k = 2: near b = 1 both are cos 2 < 0.
BASES = {
    "kind": "base-set", "dim": "4", "length": "2",
    "cuts": ["1", "(3/2)^2", "5", "100", "200"],
    "pieces": [["rejected", "2"], ["undecided"], ["undecided"], ["admissible"]],
    "infimum": {"lo": "(3/2)^2", "hi": "100"}}


def contradiction(head, name, length, letters, others, *rows):
    return {"kind": "contradiction", "head": head,
            "task": {"name": name, "length": str(length), "letters": str(letters), "others": str(others)},
            "rows": [{"input": tokens.split(), "rival": rival, "times": times} for tokens, rival, times in rows]}


CONTRADICTIONS = [
    contradiction("symbolic decoder", "index", 3, 2, 1, ("a b 1", "a", "1"), ("b a 1", "b", "1")),
    contradiction("symbolic attention", "index", 3, 2, 1, ("a b 1", "a", "1"), ("b a 1", "b", "1")),
    contradiction("symbolic decoder", "index", 4, 1, 1, ("a a 1 1", "a", "2"), ("a 1 a 1", "1", "2")),
    contradiction("positional", "retrieval-proper", 3, 2, 0, ("AA BB AB", "AA", "1"), ("BB AA AB", "AA", "1")),
    contradiction("positional", "retrieval-clean", 3, 3, 1, ("B1 C1 AB", "C1", "1"), ("C1 B1 AB", "C1", "1")),
    contradiction("symbolic decoder", "position", 3, 2, 2, ("a b ?1", "b", "1"), ("b a ?1", "a", "1")),
    contradiction("positional", "symbol", 3, 2, 2, ("A:x B:y ?A", "y", "3/2"), ("B:y A:x ?A", "y", "1.5")),
    contradiction("symbolic attention", "mixed", 3, 1, 2, ("A:x A:y ?A", "A:x", "1"), ("A:y A:x ?A", "A:y", "1")),
]
# The cosines of 1 to 10 in eight bits: 138/256, -213/512, -253/256, ... are off by 0.00124, 0.00013, 0.00171, ...
BF16, FP32 = {"precision": "8", "least": "-133", "limit": "128"}, {"precision": "24", "least": "-149", "limit": "128"}
ROUNDING = {
    "kind": "rounding", "frequencies": ["1"], "size": "1", "inv_freq": ["1"], "factor": "1",
    "positions": {**FP32}, "angles": {**FP32}, "table": {**BF16}, "last": "10",
    "records": [{"lag": "1", "plane": "0", "lo": "0.001239", "hi": "0.001240"},
                {"lag": "3", "plane": "0", "lo": "0.001711", "hi": "0.001712"}]}
COVER = {"kind": "circle-cover", "reach": "16"}

# The weights exp(-12 S(t)) add up to 1.16676819202777285290..., and show that no head of these planes and this scale has
# more than 0.99999996258632809... of its mass at lag 0.
SOFTMAX = {
    "kind": "softmax", "scale": "12", "first": "-2", "last": "50",
    "sum": wave(("-3/5", "1", "0"), ("-1/5", "10^(-1/2)", "0"), ("1/10", "10^(-1/2)", "-pi/2"), ("-1/10", "1/10", "pi/3"), offset="9/10"),
    "partition": {"lo": "1.166768192027", "hi": "1.166768192028"},
    "bound": {"frequencies": ["1", "10^(-1/2)", "1/10"], "mass": "0.99999996259"}}
