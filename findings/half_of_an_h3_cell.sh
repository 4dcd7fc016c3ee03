#!/usr/bin/env bash
# fastmob: daily motifs take two H3 cells for one place if the lower half of their numbers agrees.
#
# Version: fastmob 0.3.2, h3 4.5.0, pandas 3.1.1.
# Expected: places are equal if their ids are; H3 cells as whole numbers (64 bits) and as text give
#   the same motifs.
# Seen: integer ids are cut to 32 bits without a check: 2 and 2 + 2**32 are one place. Of the
#   10,981 cells of level 7 around a town only 196 numbers remain (of level 9: 8,865), so home, two
#   shops, home is the motif of home, shop, home. As text the four ids give the right motif.
# Output seen: two shops 206158430348; cut to one 137438953478; cells 10,981 -> 196
# Why it matters: fastmob's own global places are H3 cells as numbers. The library counts people's
#   days as simpler than they are, and more so for bigger cells.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(fastmob==0.3.2 h3==4.5.0 pandas==3.1.1 pyarrow==26.0.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import fastmob
import h3
import pandas as pd

CLOCKS = [("00:00", "08:30"), ("09:00", "11:30"), ("12:00", "17:30"), ("18:00", "23:59")]


def motif(places):
    """The motif of a day: home, shopping twice, home."""
    return fastmob.daily_motifs(
        pd.DataFrame(
            {
                "user_id": 0,
                "location_id": places,
                "purpose": ["HOME", "SHOP", "SHOP", "HOME"],
                "timestamp": pd.to_datetime([f"2024-03-04T{start}" for start, _ in CLOCKS]),
                "end_timestamp": pd.to_datetime([f"2024-03-04T{end}" for _, end in CLOCKS]),
            }
        )
    )["motif_id"].item()


two_shops, one_shop = motif([1, 2, 3, 1]), motif([1, 2, 2, 1])
assert two_shops != one_shop
assert motif([1, 2, 2 + 2**32, 1]) == one_shop

around = h3.grid_disk(h3.latlng_to_cell(52.5, 13.4, 7), 60)
numbers = [h3.str_to_int(cell) for cell in around]
print(len(numbers), "cells have", len({n % 2**32 for n in numbers}), "lower halves")
assert len({n % 2**32 for n in numbers}) < len(numbers) / 50
home, shop = numbers[:2]
twin = next(n for n in numbers if n != shop and n % 2**32 == shop % 2**32)
km = h3.great_circle_distance(*(h3.cell_to_latlng(h3.int_to_str(n)) for n in (shop, twin)))
print(f"shops {km:.0f} km apart:", motif([home, shop, twin, home]), "should be", two_shops)
assert km > 10 and motif([home, shop, twin, home]) == one_shop
assert motif([str(n) for n in (home, shop, twin, home)]) == two_shops
PYTHON
