"""docs/gallery.md shows files of docs/gallery/ that are there, all of them, and each spec in sweeps/specs."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
shown = set(re.findall(r"!\[[^]]*\]\(gallery/([^)]+)\)", text))
there = {path.name for path in (ROOT / "docs/gallery").iterdir()}
wrong = [f"docs/gallery.md shows gallery/{name}, which is not there" for name in sorted(shown - there)]
wrong += [f"docs/gallery/{name} is shown nowhere" for name in sorted(there - shown)]
for spec in sorted((ROOT / "sweeps/specs").glob("*.toml")):
    if not any(name.startswith(spec.stem + "-") for name in shown) or f"sweeps/specs/{spec.name}" not in text:
        wrong.append(f"docs/gallery.md does not show sweeps/specs/{spec.name}: a link and pictures {spec.stem}-KIND.svg")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
