#!/usr/bin/env python3
"""Changes certificates at random and asks ropewalk-check.

Without a new hash every change must be rejected. With the hash recomputed every change that facts.py, which computes
independently, calls false or unsupported must be rejected.

  corruptions.py --checker build/release/bin/ropewalk-check --count 1000 CERTIFICATE.json...
  corruptions.py --checker build/release/bin/ropewalk-check --prover build/release/bin/ropewalk --count 1000
"""

import argparse
import copy
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import facts
from certificates import SOFTMAX


def sealed(body):
    body = {k: v for k, v in body.items() if k != "sha256"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**body, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def of_fact(fact):
    verdict = "refuted" if fact.get("holds") is False else "proved"
    return {"format": "ropewalk-certificate", "version": "1", "verdict": verdict, "facts": [fact], "words": {}}


def check(checker, bodies):
    """What the checker says of each: (accepted, line)."""
    result = []
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, body in enumerate(bodies):
            path = pathlib.Path(folder) / f"{i}.json"
            path.write_text(json.dumps(body))
            names.append(str(path))
        for at in range(0, len(names), 100):
            run = subprocess.run([checker, *names[at:at + 100]], capture_output=True, text=True, check=False)
            said = {}
            for line in (run.stdout + run.stderr).splitlines():
                for name in re.findall(re.escape(folder) + r"/\d+\.json", line):
                    said[name] = line
            for name in names[at:at + 100]:
                line = said.get(name)
                if line is None:
                    sys.exit(f"{checker} says nothing of {name} (status {run.returncode}): {run.stderr[-500:]}")
                result.append((line.startswith("accepted"), line))
            if all(said[n].startswith("accepted") for n in names[at:at + 100]) != (run.returncode == 0):
                sys.exit(f"{checker}: status {run.returncode} does not fit what it says")
    return result


SAMPLES = {
    "base-64": ["base", "--length", "64", "--dim", "16"],
    "base-24": ["base", "--length", "24", "--dim", "32", "--from", "1", "--to", "3000"],
    "extremum-records": ["extremum", "--base", "5e5", "--planes", "6", "--reach", "700", "--records"],
    "extremum-two-planes": ["extremum", "--base", "1e4", "--planes", "2", "--reach", "1e9"],
    "extremum-lattice": ["extremum", "--base", "1e4", "--planes", "2", "--reach", "1e18", "--records"],
    "extremum-signs": ["extremum", "{folder}/sum.json", "--reach", "300", "--records"],
    "optimal": ["optimal", "--base", "1e4", "--planes", "8", "--reach", "200"],
    "optimal-offset": ["optimal", "--base", "1e4", "--planes", "4", "--reach", "30", "--offset", "0"],
}
SUM = {"offset": "1/3", "excluded": [4, 9],
       "terms": [{"amplitude": -2, "frequency": "2*pi/7", "phase": "pi/5"}, {"amplitude": "1/2", "frequency": 0.3}]}


def prove(prover, folder):
    """Certificates of the quick ledger and of sample commands, and one of a kind that is in none of them."""
    subprocess.run([prover, "verify", "--out", f"{folder}/claims"], check=True, capture_output=True)
    (pathlib.Path(folder) / "sum.json").write_text(json.dumps(SUM))
    (pathlib.Path(folder) / "softmax.json").write_text(json.dumps(sealed(of_fact(SOFTMAX))))
    names = [f"{folder}/softmax.json", *(str(p) for p in sorted(pathlib.Path(folder, "claims").glob("*.json")))]
    for name, arguments in SAMPLES.items():
        path = f"{folder}/{name}.json"
        subprocess.run([prover, *[a.format(folder=folder) for a in arguments], "--certificate", path], check=True,
                       capture_output=True)
        names.append(path)
    return names


# ------------------------------------------------------------------------------------------------ changes

def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from leaves(value, (*path, i))
    else:
        yield path, node


def lists(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from lists(value, (*path, key))
    elif isinstance(node, list):
        if node:
            yield path, node
        for i, value in enumerate(node):
            yield from lists(value, (*path, i))


def at(node, path):
    for key in path:
        node = node[key]
    return node


def put(node, path, value):
    at(node, path[:-1])[path[-1]] = value


def change_digit(draw, fact):
    places = [(p, v) for p, v in leaves(fact) if isinstance(v, str) and p[-1] != "kind" and re.search(r"\d", v)]
    path, text = draw.choice(places)
    where = draw.choice([m.start() for m in re.finditer(r"\d", text)])
    digit = draw.choice([d for d in "0123456789" if d != text[where]])
    put(fact, path, text[:where] + digit + text[where + 1:])


def change_sign(draw, fact):
    places = [(p, v) for p, v in leaves(fact) if isinstance(v, str) and p[-1] != "kind" and re.search(r"\d", v)]
    path, text = draw.choice(places)
    spots = [m.start() for m in re.finditer(r"[-+]", text)]
    if spots and draw.random() < 0.7:
        where = draw.choice(spots)
        put(fact, path, text[:where] + ("+" if text[where] == "-" else "-") + text[where + 1:])
    else:
        put(fact, path, text[1:] if text.startswith("-") else "-" + text)


def change_lag(draw, fact):
    names = {"lags", "first", "last", "excluded", "lag", "length", "reach", "dim", "n", "m", "s", "k", "T", "times"}
    places = [(p, v) for p, v in leaves(fact)
              if isinstance(v, str) and re.fullmatch(r"-?\d+", v) and names & {str(q) for q in p}]
    if not places:
        return change_digit(draw, fact)
    path, text = draw.choice(places)
    put(fact, path, str(int(text) + draw.choice([-2, -1, 1, 2, 7, 100])))


def change_interval(draw, fact):
    places = [p for p, v in leaves(fact) if p[-1] in ("lo", "hi") and isinstance(v, str)]
    if not places:
        return change_digit(draw, fact)
    path = draw.choice(places)
    holder = at(fact, path[:-1])
    try:
        lo, hi = facts.number(holder["lo"]), facts.number(holder["hi"])
    except (ValueError, KeyError):
        return change_digit(draw, fact)
    width = max(hi - lo, abs(hi) / 10**12, facts.Fraction(1, 10**40))
    way = draw.randrange(4)
    if way == 0:
        holder["lo"], holder["hi"] = str(hi + width), str(hi + 2 * width)
    elif way == 1:
        holder["lo"], holder["hi"] = str(lo - 2 * width), str(lo - width)
    elif way == 2:
        holder["lo"], holder["hi"] = holder["hi"], holder["lo"]
    else:
        holder[path[-1]] = str(-facts.number(holder[path[-1]]))


def drop_piece(draw, fact):
    places = list(lists(fact))
    if not places or draw.random() < 0.1:
        key = draw.choice([k for k in fact if k != "kind"])
        del fact[key]
        return
    path, items = draw.choice(places)
    i = draw.randrange(len(items))
    del items[i]
    if path == ("pieces",) and draw.random() < 0.7:  # a cover that still fits its cuts
        cuts = fact["cuts"]
        if len(cuts) > 2:
            del cuts[i if draw.random() < 0.5 else i + 1]


def turn_around(draw, fact):
    if fact["kind"] in ("relation", "enclosure") and draw.random() < 0.5:
        key = "statement" if "statement" in fact else "of"
        spots = [m.span() for m in re.finditer(r"<=|>=|!=|[<>=]", fact[key])]
        if spots:
            a, b = draw.choice(spots)
            other = draw.choice([o for o in ("<", "<=", ">", ">=", "=", "!=") if o != fact[key][a:b]])
            fact[key] = fact[key][:a] + other + fact[key][b:]
            return
    if "holds" in fact:
        fact["holds"] = not fact["holds"]
    elif "which" in fact and draw.random() < 0.5:
        fact["which"] = "maximum" if fact["which"] == "minimum" else "minimum"
    elif "complete" in fact and not fact["complete"]:
        fact["complete"] = True
    elif "pieces" in fact:
        piece = draw.choice(fact["pieces"])
        piece[:] = ["admissible"] if piece[0] != "admissible" else ["rejected", "1"]
    elif "head" in fact:
        fact["head"] = draw.choice([h for h in ("symbolic attention", "symbolic decoder", "positional")
                                    if h != fact["head"]])
    else:
        change_digit(draw, fact)


CHANGES = [change_digit, change_digit, change_sign, change_lag, change_interval, change_interval, drop_piece, turn_around]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checker", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="also print the true changes that are rejected")
    parser.add_argument("--prover", help="ropewalk: also take the certificates that it writes of its ledger and of samples")
    parser.add_argument("certificates", nargs="*")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        certificates = args.certificates + (prove(args.prover, folder) if args.prover else [])
        bodies_of = {name: json.loads(pathlib.Path(name).read_text()) for name in certificates}

    pool, disputed = [], 0
    for name, body in bodies_of.items():
        if body != sealed(body):
            sys.exit(f"{name}: the hash is not that of the canonical body")
        for number_, fact in enumerate(body["facts"]):
            start = time.monotonic()
            opinion = facts.judge(fact, fact)
            spent = time.monotonic() - start
            if opinion is False:
                disputed += 1
                print(f"{name}: facts[{number_}] is false by independent computation: {json.dumps(fact)[:300]}")
            if opinion and spent < 0.3 and len(json.dumps(fact)) < 200_000:
                pool.append(fact)
    if disputed:
        sys.exit(1)
    if not pool:
        sys.exit("no fact here is cheap enough to judge independently")
    by_kind = {}
    for fact in pool:
        by_kind.setdefault(fact["kind"], []).append(fact)
    print("facts by kind:", {k: len(v) for k, v in by_kind.items()}, flush=True)
    for (accepted, line) in check(args.checker, [sealed(of_fact(f)) for f in pool]):
        if not accepted:
            sys.exit(f"a true fact is rejected: {line}")

    def changed():
        fact = copy.deepcopy(draw.choice(by_kind[draw.choice(list(by_kind))]))
        before = copy.deepcopy(fact)
        body = of_fact(before)
        draw.choice(CHANGES)(draw, fact)
        if fact == before:
            return None
        body["facts"] = [fact]
        return before, body

    # Without a new hash.
    bodies = []
    while len(bodies) < args.count:
        pair = changed()
        if pair:
            bodies.append({**pair[1], "sha256": sealed(of_fact(pair[0]))["sha256"]})
    for (accepted, line), body in zip(check(args.checker, bodies), bodies):
        if accepted:
            sys.exit(f"accepted with a wrong hash: {json.dumps(body)[:2000]}")
    print(f"{len(bodies)} changes under the old hash: all rejected", flush=True)

    # With a new one: of those that are false or unsupported, none may pass.
    wrong, right, unknown = [], [], 0
    while len(wrong) < args.count:
        pair = changed()
        if not pair:
            continue
        before, body = pair
        fact = body["facts"][0]
        opinion = facts.judge(fact, before)
        if opinion and (fact.get("holds") is False) != (body["verdict"] == "refuted"):
            opinion = False  # the verdict does not follow
        if opinion is None:
            unknown += 1
        elif opinion:
            right.append(sealed(body))
        else:
            wrong.append(sealed(body))
    failures = 0
    for (accepted, line), body in zip(check(args.checker, wrong), wrong):
        if accepted:
            failures += 1
            print(f"accepted though false or unsupported: {json.dumps(body)[:3000]}")
    said = check(args.checker, right)
    print(f"{len(wrong)} false or unsupported changes with a new hash: {len(wrong) - failures} rejected, {failures} accepted")
    print(f"{len(right)} changes that are still true: {sum(a for a, _ in said)} accepted; {unknown} not judged")
    if args.verbose:
        for (accepted, line), body in zip(said, right):
            if not accepted:
                print(f"true but {line}: {json.dumps(body['facts'])[:600]}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
