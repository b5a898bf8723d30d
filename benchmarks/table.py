"""Prints the table of a benchmark run: benchmarks/table.py REPORT.json

Times are processor times of all threads; ratios are to the engine's for the same lags in the same run."""

import json
import re
import sys

WAYS = {
    "engine": "ropewalk",
    "arb": "Arb, 64 bits",
    "mpfi": "MPFI, 64 bits",
    "libm": "C library, doubles",
    "eigen": "Eigen, angle addition, doubles",
}
RUNS = {
    "one_fast_plane": "one fast plane carries the weight, lags to 1e{}",
    "two_planes": "two planes, base 1e4, lags to 1e{}",
    "one_plane": "one plane, lags to 1e{}",
    "base": "smallest base for {} tokens, 128 dimensions",
    "optimal": "optimal head, base 5e5, 64 planes, lags to {}",
}


def shown(milliseconds):
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f"{milliseconds:.2f} ms"


def main(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    ways, runs = {}, []
    for entry in report["benchmarks"]:
        name, argument = re.match(r"(?:lag_by_lag/)?(\w+)/(\d+)", entry["name"]).groups()
        if name in WAYS:
            ways[name, int(argument)] = entry
        else:
            runs.append((name, argument, entry))
    print("base 5e5, 64 planes, equal amplitudes\n")
    print(f"{'lags':>5}  {'way':<31} {'time':>10} {'ratio':>8}  {'lags or blocks':>14}  found")
    for exponent in sorted({e for _, e in ways}):
        for name, title in WAYS.items():
            entry = ways.get((name, exponent))
            if entry is None:
                continue
            engine = ways.get(("engine", exponent))
            ratio = entry["cpu_time"] / engine["cpu_time"] if engine else float("nan")
            print(
                f"{f'1e{exponent}':>5}  {title:<31} {shown(entry['cpu_time']):>10} {ratio:>8.3g}"
                f"  {entry['looks']:>14.2g}  {entry['label']}"
            )
    print("\nother runs\n")
    for name, argument, entry in runs:
        title = RUNS[name].format(argument)
        label = re.sub(r"lag (\d{20,})", lambda m: f"a lag of {len(m[1])} digits", entry.get("label", ""))
        print(f"{title:<58} {shown(entry['cpu_time']):>10}  {label}".rstrip())


main(sys.argv[1])
