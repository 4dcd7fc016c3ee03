#!/usr/bin/env bash
# crepes: asked twice, a fitted conformal classifier gives two sets; with tied scores anything
#   goes.
#
# Version: crepes 0.9.1, numpy 2.4.6, pandas 3.1.1.
# Expected: a fitted classifier without a seed of its own is a function: same scores, same set.
#   P-values of a score that equals all nine calibration scores are about the same.
# Seen: `smoothing=True` is the default of `predict_set` and `predict_p` of ConformalClassifier,
#   and draws a number for each place of each row at each call. With nine equal scores the p-value
#   of that same score is anything between 0 and 1. Sets may be empty. With smoothing=False it is
#   1.
# Output seen: p-values of one row in three calls lie more than 0.1 apart; smoothing=False: always
#   1.0
# Why it matters: "ranks as scores" (how many places stand before the right one) tie everywhere. A
#   set of next places with 90 % coverage changes on reload, and tests on it pass by luck.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(crepes==0.9.1 numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import numpy as np
from crepes import ConformalClassifier

model = ConformalClassifier()
model.fit(np.full(9, 3.0))  # for nine people the right place was the third
places = np.array([[3.0, 3.0, 8.0]])  # two places as likely as those, one on rank 8

drawn = np.array([model.predict_p(places)[0] for _ in range(200)])
print("p-values of the first place:", drawn[:5, 0].round(3))
assert drawn[:, 0].min() < 0.1 and drawn[:, 0].max() > 0.9
assert (drawn[:, 0] != drawn[:, 1]).all()  # two equal places in one row differ as well

sets = {tuple(model.predict_set(places, confidence=0.5)[0].tolist()) for _ in range(200)}
print("sets seen:", sorted(sets))
assert (0, 0, 0) in sets and (1, 1, 0) in sets and len(sets) >= 4

fixed = np.array([model.predict_p(places, smoothing=False)[0] for _ in range(3)])
assert (fixed[:, :2] == 1.0).all() and (fixed == fixed[0]).all()
PYTHON
