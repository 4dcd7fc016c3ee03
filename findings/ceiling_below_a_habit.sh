#!/usr/bin/env bash
# fastmob: the "maximum predictability" of a short record is lower than what "always home" gets.
#
# Version: fastmob 0.3.2, pandas 3.1.1, numpy 2.4.6.
# Expected: `trajectory_predictability` is an upper bound, as its text says: no guess, knowing the
#   past, is right more often.
# Seen: somebody is at home in nine of ten visits, at random. "Always home" is right 90 % of the
#   time. The bound is on average 76 % with 20 visits and 85 % with 50, and reaches the truth at some
#   hundreds: the estimate of the entropy behind it is too high for short records. Nothing is said,
#   and no argument asks for a longest or shortest record. Six visits to home and work by turns have
#   a bound of 50 %.
# Output seen: 20 visits 0.76, 50 visits 0.85, 100 visits 0.88, 400 visits 0.90, 2000 visits 0.91
# Why it matters: many people of a set of check-ins have some tens of visits. A ceiling beside a
#   model's score says how much is left to win; here it lies under a rule that anybody could write,
#   and a mean of it over people of unequal records compares lengths.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(fastmob==0.3.2 pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import fastmob
import numpy as np
import pandas as pd


def bound(records):
    """The mean of the bound over people."""
    tables = [
        pd.DataFrame({
            "user_id": number,
            "start_timestamp": pd.date_range("2024-03-04", periods=len(places), freq="h"),
            "location_id": places,
        })
        for number, places in enumerate(records)
    ]
    return fastmob.trajectory_predictability(pd.concat(tables))["predictability"].mean()


random = np.random.default_rng(0)
found = {}
for n in (20, 50, 100, 400, 2000):
    people = random.choice(["home", "else"], (200, n), p=[0.9, 0.1])
    found[n] = bound(people.tolist())
    print(f"{n} visits: bound {found[n]:.2f}, always home {np.mean(people == 'home'):.2f}")
by_turns = bound([["home", "work"] * 3])
print(f"six visits by turns: {by_turns:.2f}")
assert found[20] < 0.8 and found[50] < 0.88, found
assert abs(found[2000] - 0.9) < 0.02, found
assert by_turns < 0.6
PYTHON
