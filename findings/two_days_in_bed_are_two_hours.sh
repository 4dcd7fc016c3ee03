#!/usr/bin/env bash
# fastmob: in the distribution of activities over the day, a stay of two days counts two hours.
#
# Version: fastmob 0.3.2, pandas 3.1.1.
# Expected: a stay from Monday 22:00 to Wednesday 23:00 fills each hour of the day.
# Seen: `daily_activity_distribution` looks at the clock of the start and of the end only. If the
#   end is later on the clock than the start, the stay fills the hours 22 and 23 and nothing else.
#   From 22:00 to 6:00 it goes over midnight as it should, so nights look right. 24.5 hours fill
#   one hour, and the hour that begins when a stay ends is counted as well.
# Output seen: night: hours 22 to 6; two days and an hour: [22, 23]; 24.5 hours: [22]
# Why it matters: weekends at home, illness and holidays are the longest stays. They vanish from
#   the picture of the day, and the share of those who are out rises.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(fastmob==0.3.2 pandas==3.1.1 pyarrow==26.0.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import fastmob
import numpy as np
import pandas as pd


def hours(start, end):
    """The hours of the day in which somebody is counted at home."""
    stay = {"user_id": [0], "activity": ["HOME"]}
    stay |= {"timestamp": pd.to_datetime([start]), "end_timestamp": pd.to_datetime([end])}
    shares, _, _ = fastmob.daily_activity_distribution(pd.DataFrame(stay), bin_size_minutes=60)
    return np.flatnonzero(np.nan_to_num(shares[0])).tolist()


night = hours("2024-03-04T22:00", "2024-03-05T06:00")
two_days = hours("2024-03-04T22:00", "2024-03-06T23:00")
a_day_and_a_half_hour = hours("2024-03-04T22:00", "2024-03-05T22:30")
print("night:", night, "two days and an hour:", two_days, "24.5 hours:", a_day_and_a_half_hour)
assert {22, 23, 0, 5} <= set(night) and 12 not in night
assert two_days == [22, 23] and a_day_and_a_half_hour == [22]
PYTHON
