#!/usr/bin/env bash
# Draws everything that docs/gallery.md shows into docs/gallery/.
#
#   docs/gallery.sh [ROPEWALK] [STORES]
#
# ROPEWALK is the built command (build/release/bin/ropewalk), STORES a folder that keeps the answers
# (build/gallery): a second run only draws. A picture's name says what it is: SPEC-KIND.svg or .png. Those of the
# page that `ropewalk report` writes need Chromium; without it they stay as they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ropewalk=${1:-build/release/bin/ropewalk}
stores=${2:-build/gallery}
mkdir -p "$stores" docs/gallery

for spec in sweeps/specs/*.toml; do
  "$ropewalk" sweep "$spec" --store "$stores/$(basename "$spec" .toml).sqlite"
done
while read -r picture; do
  name=${picture%.*}
  [[ $name == report-* ]] || "$ropewalk" plot "$stores/${name%-*}.sqlite" "${name##*-}" --out "docs/gallery/$picture"
done < <(grep -o '(gallery/[^)]*)' docs/gallery.md | sed 's|(gallery/||; s|)||' | sort -u)

"$ropewalk" report "$stores/scalings.sqlite" --out "$stores/scalings.html"
python3 -B tests/sweeps/look_at_page.py "$stores/scalings.html" --screenshots docs/gallery
