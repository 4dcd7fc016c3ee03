#!/usr/bin/env bash
# HDBSCAN: min_samples counts the point itself in scikit-learn and does not in the package hdbscan.
#
# Version: scikit-learn 1.9.1, hdbscan 0.8.44, numpy 2.4.6, scipy 1.17.1.
# Expected: the algorithm of one paper with the same min_cluster_size and min_samples finds the
#   same clusters; scikit-learn's implementation came from the authors of the package.
# Seen: the package with min_samples = m equals scikit-learn with m + 1, here for 4, 5 and 6. With
#   the same number they differ: of 38 points 9 are noise in the one and 5 in the other. Left out,
#   min_samples is min_cluster_size in both, and so differs, too.
# Output seen: the same 5: noise 9 and 5; 5 against 6: the same labels
# Why it matters: places found by the one are compared with a paper that used the other. Which
#   short stays are "noise" decides which places a person has at all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(scikit-learn==1.9.1 hdbscan==0.8.44 numpy==2.4.6 scipy==1.17.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import hdbscan
import numpy as np
from sklearn.cluster import HDBSCAN

rng = np.random.default_rng(3)
places = [((0, 0), 12), ((1, 1), 6), ((3, 0), 5)]
stays = [rng.normal(centre, 0.05, (n, 2)) for centre, n in places]
points = np.concatenate([*stays, rng.uniform(-1, 4, (15, 2))])


def labels(method, samples):
    """The cluster of each point."""
    return method(min_cluster_size=5, min_samples=samples).fit(points).labels_


for samples in (4, 5, 6):
    assert (labels(hdbscan.HDBSCAN, samples) == labels(HDBSCAN, samples + 1)).all()
package, learn = labels(hdbscan.HDBSCAN, 5), labels(HDBSCAN, 5)
print("noise with the same 5: hdbscan", (package == -1).sum(), "scikit-learn", (learn == -1).sum())
assert (package == -1).sum() == 9 and (learn == -1).sum() == 5
assert (labels(hdbscan.HDBSCAN, None) != labels(HDBSCAN, None)).any()
PYTHON
