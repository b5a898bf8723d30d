"""Holds the table of docs/constructions.md against what `ropewalk construct` proves.

Each row begins with the arguments of a command in `code`; the numbers after it are those of its --json. Rows of inputs longer than
--longest tokens (64) take their time and are left out; --update runs all rows and rewrites them.

Numbers may differ by a fiftieth, since a linear program may end at other amplitudes on another machine.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "constructions.md"
ROW = re.compile(r"\| `((?:index|retrieval|mixed|number-task|letter-task)\b[^`]*)` \|")
NEAR = 0.02


def three(x):
    return f"{x:.0f}" if x >= 1000 else f"{x:.3g}"


def at_least(bound):
    return f"{math.floor(1000 * bound) / 1000:.3f}"


def row_of(arguments, binary):
    """The row that belongs to a command."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [binary, "construct", *arguments.split(), "--out", f"{folder}/model", "--json"],
            capture_output=True, text=True, check=True,
        )
    made = json.loads(result.stdout)
    bounds = made["float32"] or made["real"]
    cells = [three(made["scale"]), three(made["smallest_scale"]), at_least(bounds["gap"]), at_least(min(bounds["mass"]))]
    stored = {s["dtype"]: s for s in made["stored"]}
    for dtype in ("F32", "BF16", "F16"):
        s = stored[dtype]
        if not s["fits"]:
            cells.append("-")
        else:
            both = [s["longest_real"], s["longest_float32"]]
            cells.append(", ".join("≥ " * (n == s["checked"]) + str(n) for n in dict.fromkeys(both)))
    cells += [f"{100 * stored[d]['loss']:.2f} %" if stored[d]["fits"] else "-" for d in ("BF16", "F16")]
    return f"| `{arguments}` | {' | '.join(cells)} |"


def numbers(row):
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", row.split("`")[2])]


def alike(shown, made):
    a, b = numbers(shown), numbers(made)
    return len(a) == len(b) and all(abs(x - y) <= NEAR * max(abs(x), 1) for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--longest", type=int, default=64)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    total = differing = 0
    for at, line in enumerate(lines):
        found = ROW.match(line)
        if not found:
            continue
        length = int(re.search(r"--length (\d+)", found[1])[1])
        if length > options.longest and not options.update:
            continue
        total += 1
        made = row_of(found[1], options.binary.resolve())
        if line == made or (alike(line, made) and not options.update):
            continue
        differing += 1
        print(f"shown: {line}\nmade:  {made}")
        lines[at] = made
    if options.update:
        PAGE.write_text("\n".join(lines), encoding="utf-8")
        return 0
    print(f"{total} row(s), {differing} differ(s)")
    return 1 if differing or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
