#!/usr/bin/env bash
# implicit: "precision" at 5 is 1.0 where one place of five is right.
#
# Version: implicit 0.7.3, scipy 1.17.1, numpy 2.4.6.
# Expected: precision at 5 with one right place among five is 0.2.
# Seen: `ranking_metrics_at_k` divides by the smaller of k and the number of right places of each
#   person. With one right place, as in next-place prediction, "precision" at k is the hit rate at
#   k; its map and ndcg are the usual ones.
# Output seen: five places for each of four people, one right for each: precision 1.0
# Why it matters: papers put "Prec@5" of implicit beside that of other libraries. Up to k times the
#   value comes from the division, not from the model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(implicit==0.7.3 scipy==1.17.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import numpy as np
from implicit.evaluation import ranking_metrics_at_k
from scipy import sparse


class Lists:
    """A model that gives each person the same six places, best first."""

    def recommend(self, userid, user_items, N=10, **_):
        places = np.tile(np.arange(6, dtype=np.int32)[:N], (len(userid), 1))
        return places, np.ones(places.shape, dtype=np.float32)


right = [0, 1, 2, 4]  # one right place for each of four people
test = sparse.csr_matrix((np.ones(4), (range(4), right)), shape=(4, 6))
train = sparse.csr_matrix((4, 6))
options = {"show_progress": False, "num_threads": 1}
for k in (1, 3, 5):
    found = ranking_metrics_at_k(Lists(), train, test, K=k, **options)
    hits = np.mean([place < k for place in right])
    print(f"k = {k}: precision {found['precision']}, hit rate {hits}, hits / k {hits / k:.2f}")
    assert found["precision"] == hits
    assert k == 1 or found["precision"] > hits / k
assert found["precision"] == 1.0 and hits / 5 == 0.2
PYTHON
