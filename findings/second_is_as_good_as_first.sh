#!/usr/bin/env bash
# LensKit: NDCG of a next place is 1.0 at the first rank and 1.0 at the second.
#
# Version: lenskit 2025.8.1, ranx 0.3.21 (numba 0.68.1, numpy 2.4.6).
# Expected: NDCG of one right place is 1 / log2(1 + rank), as in the papers of this field: 0.63 at
#   the second rank.
# Seen: LensKit divides by log2(rank) and clips the first two ranks to the same, as the measure was
#   first proposed in 2002. So the right place counts as much at the second rank as at the first,
#   and 0.63 at the third. ranx gives 1, 0.63 and 0.5. `NDCG` says "base-2 logarithm"; that ranks
#   are clipped stands with `LogRankWeight`, whose offset of 1 gives the usual number.
# Output seen: lenskit 1.00 1.00 0.63 0.50, ranx 1.00 0.63 0.50 0.43
# Why it matters: with one right answer a person, a model that swaps home and work in every guess
#   has a perfect NDCG, while its Acc@1 is 0. Figures of NDCG from two libraries do not compare.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(lenskit==2025.8.1 ranx==0.3.21 numba==0.68.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
from lenskit.data import ItemList
from lenskit.metrics import NDCG, LogRankWeight
from ranx import Qrels, Run, evaluate

PLACES = ["home", "work", "gym", "shop"]  # as a model ranks them
SCORES = [0.4, 0.3, 0.2, 0.1]
guesses = ItemList(PLACES, scores=SCORES, ordered=True)


def by_lenskit(place, **how):
    return float(NDCG(4, **how).measure_list(guesses, ItemList([place])))


def by_ranx(place):
    run = Run({"one": dict(zip(PLACES, SCORES))})
    return float(evaluate(Qrels({"one": {place: 1}}), run, "ndcg@4"))


lens = [by_lenskit(place) for place in PLACES]
shifted = [by_lenskit(place, weight=LogRankWeight(offset=1)) for place in PLACES]
usual = [by_ranx(place) for place in PLACES]
for name, found in (("lenskit", lens), ("with an offset", shifted), ("ranx", usual)):
    print(name, *(f"{value:.2f}" for value in found))
assert lens[0] == lens[1] == 1 and abs(lens[2] - 0.63) < 0.01
assert all(abs(a - b) < 1e-6 for a, b in zip(shifted, usual)) and abs(usual[1] - 0.63) < 0.01
PYTHON
