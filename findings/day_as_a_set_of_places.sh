#!/usr/bin/env bash
# ROUGE: in the package rouge, home said four times is as good as home said once.
#
# Version: rouge 1.0.1, rouge-score 0.1.2.
# Expected: ROUGE-1 counts each word of the reference once: one word against four is recall 0.25.
#   ROUGE-L is the longest common subsequence: for a different order or number it is below 1.
# Seen: rouge makes sets of n-grams and of the words on the common path: "home home home home"
#   against "home" is 1.0 in ROUGE-1 and ROUGE-L, "work home work home" against "home work home
#   work" 1.0 in all three. "Home" against "home" is 0, and so is "place-7" against "place 7".
#   rouge-score gives 0.4, 0.67 to 0.75, 1 and 1.
# Output seen: rouge 1.0 1.0 0.0 0.0, rouge-score 0.4 0.75 1.0 1.0 (ROUGE-L)
# Why it matters: days repeat places. A generator that repeats one word without end, the usual
#   failure of small ones, has a perfect score in the one package and a bad one in the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(rouge==1.0.1 rouge-score==0.1.2)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
from rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

NAMES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}
scorer = RougeScorer(list(NAMES.values()))


def both(written, reference):
    """F measures of the two packages, each for ROUGE-1, ROUGE-2 and ROUGE-L."""
    one = Rouge().get_scores(written, reference)[0]
    two = scorer.score(reference, written)
    return tuple(
        [round(found[name][key], 2) for name in names]
        for found, names, key in ((one, NAMES, "f"), (two, NAMES.values(), 2))
    )


for pair in (
    ("home home home home", "home"),
    ("work home work home", "home work home work"),
    ("Home", "home"),
    ("place-7", "place 7"),
):
    print(pair, *both(*pair))
assert both("home home home home", "home") == ([1, 0, 1], [0.4, 0, 0.4])
assert both("work home work home", "home work home work") == ([1, 1, 1], [1, 0.67, 0.75])
assert both("Home", "home") == ([0, 0, 0], [1, 0, 1])
assert both("place-7", "place 7") == ([0, 0, 0], [1, 1, 1])
PYTHON
