#!/usr/bin/env bash
# Tied scores: pytrec_eval ranks places by their names, ranx by their rows; neither says so.
#
# Version: pytrec-eval-terrier 0.5.11, ranx 0.3.21 (numba 0.68.1, numpy 2.4.6).
# Expected: two evaluators of one list of scores give the same reciprocal rank, or say that it is
#   tied.
# Seen: with equal scores pytrec_eval takes names from the end of the alphabet first: "home" loses
#   to "work" and beats "alpha". It also holds scores in 32 bits, so 0.50000001 and 0.5 are equal.
#   ranx takes the first of two, but from some twenty on the order of its sort: with 20 tied places
#   the first row comes last but one. A person without a list is left out of the answer by
#   pytrec_eval (a mean over the rest), ranx raises until told to count 0.
# Output seen: home against work 0.5, against alpha 1.0, though its score is higher by 1e-8 each
#   time
# Why it matters: counts as scores tie all the time. Calling the same place "work" or "alpha" moves
#   MRR from 0.5 to 1.0, and a model that ties half the people can win by its labels.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pytrec-eval-terrier==0.5.11 ranx==0.3.21 numba==0.68.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import pytrec_eval
from ranx import Qrels, Run, evaluate

truth = {"person": {"home": 1}}


def by_name(scores):
    """Reciprocal rank of home in pytrec_eval."""
    judge = pytrec_eval.RelevanceEvaluator(truth, {"recip_rank"})
    return judge.evaluate({"person": scores})["person"]["recip_rank"]


def by_row(scores, right="home"):
    """Reciprocal rank of the right place in ranx."""
    return float(evaluate(Qrels({"person": {right: 1}}), Run({"person": scores}), "mrr"))


for home in (0.5, 0.50000001):  # equal in 32 bits
    against = {other: by_name({"home": home, other: 0.5}) for other in ("work", "alpha")}
    print("pytrec_eval:", against)
    assert against == {"work": 0.5, "alpha": 1.0}
assert by_name({"home": 0.5001, "work": 0.5}) == 1.0

print("ranx:", by_row({"home": 0.5, "work": 0.5}), by_row({"work": 0.5, "home": 0.5}))
assert by_row({"home": 0.5, "work": 0.5}) == 1.0
assert by_row({"work": 0.5, "home": 0.5}) == 0.5
assert by_row({"home": 0.50000001, "work": 0.5}) == 1.0  # ranx keeps 64 bits
twenty = {f"place {n:02d}": 0.5 for n in range(20)}
print("ranx, 20 tied, the first row is on rank", 1 / by_row(twenty, "place 00"))
assert by_row(twenty, "place 00") == 1 / 19

two = {"person": {"home": 1}, "silent": {"home": 1}}
judge = pytrec_eval.RelevanceEvaluator(two, {"recip_rank"})
assert list(judge.evaluate({"person": {"home": 0.5}})) == ["person"]
try:
    evaluate(Qrels(two), Run({"person": {"home": 0.5}}), "mrr")
except AssertionError as error:
    print("ranx:", error)
else:
    raise SystemExit("ranx no longer asks about people without a list")
PYTHON
