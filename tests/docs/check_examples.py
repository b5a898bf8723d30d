"""Runs the commands that the documentation shows and compares what they print with what it shows.

In README.md, CONTRIBUTING.md and docs/*.md (or the files named on the command line), every fenced block
that opens with ```console is read as a terminal: a line "$ ropewalk ..." is a command, the lines up to
the next "$ " are its output. Commands run in bash from the root of the repository with the built ropewalk
first on the PATH; standard output and standard error count together, trailing blanks do not. Lines
"$ ..." with any other command are left alone.

In the shown output
  a line holding only the character … stands for any number of lines,
  <*> within a line stands for any run of characters other than blanks (for times and the like).

--update writes what was printed into the files; output that already matches keeps its … and <*>.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANY_LINES = "…"
ANY_TEXT = "<*>"


def examples(lines):
    """Yields (command, first, last): the output shown for the command is lines[first:last]."""
    shown = None  # (command, first line of its output) while inside a console block
    inside = False
    for number, line in enumerate(lines):
        ends_block = inside and line.strip() == "```"
        if shown and (ends_block or line.startswith("$ ")):
            yield shown[0], shown[1], number
            shown = None
        if ends_block:
            inside = False
        elif not inside:
            inside = line.strip() == "```console"
        elif re.match(r"\$ ropewalk\b", line):
            shown = (line[2:], number + 1)
    if inside:
        raise ValueError("a console block is not closed")


def run(command, binary):
    """The lines a command prints."""
    path = f"{binary.parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=600,
    )
    if not 0 <= result.returncode < 126:  # not found, not executable, or ended by a signal
        raise RuntimeError(f"ended with status {result.returncode}: {result.stdout}")
    return [line.rstrip() for line in result.stdout.rstrip("\n").split("\n")]


def matches(shown, printed):
    """Whether the printed lines are what the shown lines, wildcards included, stand for."""
    pattern = ""
    for line in shown:
        if line.strip() == ANY_LINES:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"\S*".join(map(re.escape, line.rstrip().split(ANY_TEXT))) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def check(page, binary, update):
    """Runs the examples of one page. Returns how many there are and how many differ."""
    lines = page.read_text(encoding="utf-8").split("\n")
    name = os.path.relpath(page, ROOT)
    total = differing = 0
    # From the last to the first, so that an update does not move the lines of the examples to come.
    for command, first, last in reversed(list(examples(lines))):
        total += 1
        shown = lines[first:last]
        printed = run(command, binary)
        if matches(shown, printed):
            continue
        differing += 1
        lines[first:last] = printed
        if not update:
            print(f"{name}:{first}: $ {command}")
            diff = difflib.unified_diff(shown, printed, "shown", "printed", lineterm="")
            print("\n".join(diff), end="\n\n")
    if update and differing:
        page.write_text("\n".join(lines), encoding="utf-8")
        print(f"{name}: updated the output of {differing} example(s)")
    return total, differing


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/ropewalk")
    parser.add_argument("--update", action="store_true", help="rewrite outputs that differ")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()

    pages = options.pages or [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    counts = [check(page.resolve(), options.binary.resolve(), options.update) for page in pages]
    total = sum(count for count, _ in counts)
    differing = sum(count for _, count in counts)
    if total == 0:
        print("no example found: is there a console block left?")
        return 1
    if options.update:
        return 0
    print(f"{total} example(s), {differing} differ(s)")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
