#!/usr/bin/env bash
# holidays: a calendar is empty until somebody asks it, so `isin` finds no holiday, and later does.
#
# Version: holidays 0.109, pandas 3.1.1.
# Expected: `days.isin(calendar)` marks the holidays among the days.
# Seen: the calendar is a dict that fills itself one year at a time when `in` or `[]` asks it about
#   a day. `isin`, `len`, a loop or a join only look at what is there: nothing. After one question
#   about any day of 2024 the same line marks 2024, and still nothing of 2023.
# Output seen: before [False, False, False, False], after one question [False, True, True, False]
# Why it matters: "holiday" is a common feature of a day. In a notebook it is all False or right
#   depending on which cell ran before, and the year of the test set is missing if only days of the
#   training years were asked about. Give the years: `country_holidays("DE", years=[2023, 2024])`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(holidays==0.109 pandas==3.1.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime

import holidays
import pandas as pd

calendar = holidays.country_holidays("DE")
days = pd.Series(pd.date_range("2024-12-24", "2024-12-27").date)

before = days.isin(calendar).tolist()
assert len(calendar) == 0 and before == [False] * 4
assert datetime.date(2024, 5, 1) in calendar  # a question about another day of that year
after = days.isin(calendar).tolist()
print("before:", before, "after:", after)
assert after == [False, True, True, False]

earlier = pd.Series(pd.date_range("2023-12-24", "2023-12-27").date)
assert earlier.isin(calendar).tolist() == [False] * 4  # other years are as empty as before
assert earlier.isin(holidays.country_holidays("DE", years=2023)).tolist() == after
PYTHON
