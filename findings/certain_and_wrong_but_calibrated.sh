#!/usr/bin/env bash
# pycalib: a model that says 80 % and is always wrong has a calibration error of 0.
#
# Version: pycalib 0.1.0.dev6, numpy 2.4.6, scikit-learn 1.9.1.
# Expected: the expected calibration error of answers that all say 0.8 is 0.8 less the share that is
#   right, in whatever bins.
# Seen: `conf_ECE` and `conf_MCE` count a bin from its upper end less a step up to its upper end.
#   Rounding leaves gaps between neighbours, and what lies in a gap is in no bin and is not counted,
#   while the sum is still divided by all answers. With the 15 bins of the default 0.8 (4 of 5) and
#   0.4 (2 of 5) are in gaps, with 6 or 14 bins 1.0 is above the last bin. 10 and 20 bins have no
#   gap there. `binary_ECE` of the same package, asked how often the model is right, gives 0.8. The
#   text of neither function says that answers can be left out.
# Output seen: says 0.8, never right: 0.00 in 15 bins, 0.80 in 10; says 1.0, never right: 0.00 in 14
# Why it matters: a model of counts says 4 of 5 and 2 of 5 often, one with a single known place says
#   1.0. However many of these are wrong, it looks calibrated, and another number of bins makes it
#   look bad.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pycalib==0.1.0.dev6 numpy==2.4.6 scikit-learn==1.9.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
from fractions import Fraction

import numpy as np
from pycalib.metrics import binary_ECE, conf_ECE, conf_MCE

PLACES = 50


def guesses(says, number=10):
    """The same guess of place 0, the rest shared out evenly among the other places."""
    table = np.full((number, PLACES), (1 - says) / (PLACES - 1))
    table[:, 0] = says
    return table


def errors(says, right, bins):
    """By conf_ECE, by conf_MCE, by binary_ECE and by hand, with `right` of ten guesses right."""
    truth = np.array([0] * right + [1] * (10 - right))
    found = (conf_ECE(truth, guesses(says), bins=bins), conf_MCE(truth, guesses(says), bins=bins))
    is_right, confidence = (truth == 0).astype(float), np.full(10, says)
    return *found, binary_ECE(is_right, confidence, bins=bins), abs(says - right / 10)


for says, right, bins in ((0.8, 0, 15), (0.8, 2, 15), (0.4, 0, 15), (1.0, 0, 14), (1.0, 0, 6)):
    ece, mce, binary, by_hand = errors(says, right, bins)
    print(f"says {says}, {right} of 10 right, {bins} bins: ECE {ece:.2f}, MCE {mce:.2f},", end=" ")
    print(f"binary ECE {binary:.2f}, by hand {by_hand:.2f}")
    assert ece == mce == 0 and by_hand >= 0.4 and abs(binary - by_hand) < 1e-9
for says, bins in ((0.8, 10), (0.8, 20), (0.4, 10), (1.0, 15)):
    ece, _, _, by_hand = errors(says, 0, bins)
    print(f"says {says}, 0 of 10 right, {bins} bins: ECE {ece:.2f}")
    assert abs(ece - by_hand) < 1e-9

# The default's gaps among all shares of up to 40 visits.
shares = sorted({Fraction(part, whole) for whole in range(1, 41) for part in range(1, whole + 1)})
clear = [share for share in shares if share > Fraction(1, PLACES)]
lost = [s for s in clear if conf_ECE(np.ones(10, dtype=int), guesses(float(s))) == 0]
print("shares that 15 bins leave out:", *lost)
assert lost == [Fraction(2, 5), Fraction(4, 5)]

mixed = np.vstack([guesses(0.8), guesses(0.9)])
truth = np.array([1] * 10 + [0] * 9 + [1])
print(f"ten at 0.8 never right, ten at 0.9 right nine times: {conf_ECE(truth, mixed):.2f}, not 0.40")
assert conf_ECE(truth, mixed) < 1e-9
PYTHON
