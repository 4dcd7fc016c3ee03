#!/usr/bin/env bash
# RecTools: who comes home three times in the test days gives a precision of 3.
#
# Version: rectools 0.19.0, pandas 2.3.3, numpy 1.26.4.
# Expected: precision and NDCG are at most 1. The test visits are those that the library's own
#   splitter gives, of which each is a row.
# Seen: guesses and test visits are joined, so that a guessed place counts once for each visit to
#   it. With "home" three times among five visits the guess "home" has precision@1 3.0 and NDCG@1
#   3.0; hit rate and MRR stay at 1.0. Without the repeated rows all are 1.0. The texts of
#   `Precision` ("ratio of relevant items among top-k") and `NDCG` do not ask for such rows.
# Output seen: precision 3.0, NDCG 3.0, hit rate 1.0; mean precision of three people, one right: 1.0
# Why it matters: visits repeat, that is what is predicted. The mean over people is no share any
#   more: right for one person who is often at home and wrong for two others looks perfect, and
#   people count by how often they come back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(rectools==0.19.0 pandas==2.3.3 numpy==1.26.4)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import pandas as pd
from rectools.dataset import Interactions
from rectools.metrics import MRR, NDCG, HitRate, Precision
from rectools.model_selection import LastNSplitter

HOME, WORK, GYM, SHOP = range(4)
VISITS = {
    0: [HOME, WORK, HOME, WORK, GYM] + [HOME, WORK, HOME, GYM, HOME],
    1: [HOME, WORK, HOME, WORK, HOME] + [WORK, GYM, SHOP, WORK, GYM],
    2: [HOME, SHOP, HOME, WORK, HOME] + [GYM, WORK, SHOP, WORK, SHOP],
}
rows = [(uid, place, 1) for uid, places in VISITS.items() for place in places]
visits = pd.DataFrame(rows, columns=["user_id", "item_id", "weight"])
visits["datetime"] = list(pd.date_range("2024-03-04", periods=10, freq="7h")) * len(VISITS)

splitter = LastNSplitter(5, n_splits=1, filter_already_seen=False)
((_, test_rows, _),) = splitter.split(Interactions(visits))
test = visits.iloc[test_rows]
assert test.groupby("user_id")["item_id"].apply(list).to_dict() == {
    uid: places[5:] for uid, places in VISITS.items()
}


def guess_home(people):
    """Home is the first guess for everybody."""
    return pd.DataFrame({"user_id": people, "item_id": HOME, "rank": 1})


one = test[test["user_id"] == 0]
KINDS = (Precision, NDCG, HitRate, MRR)
found = {kind.__name__: kind(k=1).calc(guess_home([0]), one) for kind in KINDS}
print("a person who is three times at home:", found)
assert found == {"Precision": 3.0, "NDCG": 3.0, "HitRate": 1.0, "MRR": 1.0}

unique = one.drop_duplicates(["user_id", "item_id"])
once = {kind.__name__: kind(k=1).calc(guess_home([0]), unique) for kind in KINDS}
print("without repeated rows:", once)
assert set(once.values()) == {1.0}

mean = Precision(k=1).calc(guess_home([0, 1, 2]), test)
people = sum(HOME in places[5:] for places in VISITS.values()) / len(VISITS)
print(f"three people, home is right for one: precision@1 {mean}, share of people {people:.2f}")
assert mean == 1.0 and round(people, 2) == 0.33
PYTHON
