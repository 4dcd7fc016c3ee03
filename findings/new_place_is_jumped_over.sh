#!/usr/bin/env bash
# Cornac: who goes to a new place is scored on the place after it, or on the one before.
#
# Version: cornac 3.0.1, numpy 2.4.6.
# Expected: `NextItemEvaluation` asks for the next place. "Unknown items will be ignored during model
#   evaluation" (`exclude_unknowns`, the default of `from_timestamps` and `leave_last_out`) leaves
#   out the questions whose answer is a place never seen in training, or counts them as wrong.
# Seen: the new place is cut out of the test day before the questions are made. Home, museum, work
#   becomes home, work: after home "work" is now right, and nobody went there from home. With mode
#   "last" a day that ends at a new place is scored on the place before it, in `leave_last_out`, too,
#   of which the text says "target = last item". A model that knows only home and work is right in 8
#   of 8 questions, and in 4 of the 12 next places. With `exclude_unknowns=False` all 12 are asked.
# Output seen: next: hit rate 1.00, without the cut 0.33; last: hit rate 1.00, without the cut 0.00
# Why it matters: new places are what is hardest to predict, and here each one is turned into an easy
#   question. The more of them, the further are the days that are scored from those that were lived.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(cornac==3.0.1 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import numpy as np
from cornac.eval_methods import NextItemEvaluation
from cornac.metrics import HitRatio
from cornac.models import NextItemRecommender

NEW = ["museum", "lake", "cinema", "station"]


def rows(days, first):
    """Person, session, place and time of the visits of some days."""
    return [
        ("she", f"day {first + number}", place, 100 * (first + number) + hour)
        for number, day in enumerate(days)
        for hour, place in enumerate(day)
    ]


class AfterHomeWork(NextItemRecommender):
    """After home comes work and after work comes home; it notes what it is asked."""

    def __init__(self):
        super().__init__(name="after home work", trainable=False)
        self.asked = []

    def score(self, user_idx, history_items, **kwargs):
        names = {number: name for name, number in self.train_set.iid_map.items()}
        visited = [names.get(number, "new") for number in history_items]
        self.asked.append(visited)
        guess = "work" if visited[-1] == "home" else "home"
        scores = np.zeros(self.total_items)
        scores[self.train_set.iid_map[guess]] = 1
        return scores


def scored(method):
    """The hit rate at 1 and what the model was asked."""
    model = AfterHomeWork()
    result, _ = method.evaluate(model, [HitRatio(k=1)], user_based=False)
    return float(result.metric_avg_results["HitRatio@1"]), model.asked


def hits(days, **how):
    """After three days at home and at work, the score of the days from day 10 on."""
    known = rows([["home", "work", "home"]] * 3, first=1)
    visits = known + rows(days, first=10)
    return scored(NextItemEvaluation.from_timestamps(visits, test_timestamp=1000, **how))


def by_hand(days, positions):
    """The hit rate at 1 of the days as they were."""
    right = [
        day[at] == ("work" if day[at - 1] == "home" else "home")
        for day in days
        for at in positions(day)
    ]
    return sum(right) / len(right)


through = [["home", place, "work", "home"] for place in NEW]
rate, asked = hits(through, mode="next")
whole, asked_whole = hits(through, mode="next", exclude_unknowns=False)
true = by_hand(through, lambda day: range(1, len(day)))
print(f"next: by default {rate:.2f} in {len(asked)} questions, whole days {whole:.2f} in", end=" ")
print(f"{len(asked_whole)}, by hand {true:.2f}; asked by default:", asked[:2])
assert rate == 1.0 and len(asked) == 8 and asked[:2] == [["home"], ["home", "work"]]
assert len(asked_whole) == 12 and abs(whole - 1 / 3) < 1e-9 and abs(true - 1 / 3) < 1e-9

away = [["home", "work", place] for place in NEW]
rate, asked = hits(away)
whole, _ = hits(away, exclude_unknowns=False)
true = by_hand(away, lambda day: [len(day) - 1])
print(f"last: by default {rate:.2f}, whole days {whole:.2f}, by hand {true:.2f}; asked:", asked[0])
assert rate == 1.0 and asked == [["home"]] * 4 and whole == true == 0

lives = {name: ["home", "work"] * 3 + [f"park of {name}"] for name in ("her", "him")}
visits = [(name, place, 1, at) for name, life in lives.items() for at, place in enumerate(life)]
rate, asked = scored(NextItemEvaluation.leave_last_out(visits))
longest = max(len(places) for places in asked)
print(f"leave_last_out, the last of 7 places is new: {rate:.2f}, asked after {longest} places")
assert rate == 1.0 and longest == 5
PYTHON
