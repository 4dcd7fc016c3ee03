#!/usr/bin/env bash
# transbigdata: the way to the next place belongs to the stay before it, and every journey takes
# no time.
#
# Version: transbigdata 0.5.3, pandas 3.1.1, geopandas 1.2.0.
# Expected: of fixes at an airport at 9:00 and 9:20, and in another land at 21:00, `traj_stay_move`
#   makes no stay at the first airport that is as long as the flight, or a move of hours.
# Seen: a stay lasts until the first fix in another cell of its grid, however far and late that is.
#   So the airport has a stay of twelve hours, and the move after it lasts 0 seconds over 10,000
#   km. There is no argument for the longest silence. With a fix an hour, someone on a train has a
#   stay of an hour at every fix.
# Output seen: stay 09:00 to 21:00, 12.0 h; moves 0 s
# Why it matters: phones record little on the way. Its stays begin and end when those of trackintel
#   or scikit-mobility do not, durations hold the travel times, and speeds are infinite.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(transbigdata==0.5.3 pandas==3.1.1 geopandas==1.2.0 numpy==2.4.6)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import pandas as pd
import transbigdata

ZURICH, SINGAPORE = (8.56, 47.45), (103.99, 1.36)
PARAMS = transbigdata.area_to_params([8, 1, 104, 48], accuracy=500)


def stays_and_moves(clock, spots, least):
    fixes = pd.DataFrame(spots, columns=["longitude", "latitude"])
    fixes["dataTime"] = pd.to_datetime([f"2024-03-04 {time}" for time in clock])
    return transbigdata.traj_stay_move(fixes.assign(ID=1), PARAMS, activitytime=least)


clock = ["09:00", "09:20", "21:00", "22:00"]
stays, moves = stays_and_moves(clock, [ZURICH, ZURICH, SINGAPORE, SINGAPORE], 1800)
for stay in stays.itertuples():
    print(f"stay {stay.stime:%H:%M} to {stay.etime:%H:%M}, {stay.duration / 3600:.1f} h")
print("moves", *(f"{seconds:.0f} s" for seconds in moves.duration))
assert stays.duration.iloc[0] == 12 * 3600 and (moves.duration == 0).all()
assert any(abs(moves.slon - moves.elon) > 90)  # one of these moves is the flight

hours = [f"{hour:02}:00" for hour in range(8, 14)]
train = [(8.5 + 0.8 * step, 47.4) for step in range(6)]  # 60 km east each hour
stays, moves = stays_and_moves(hours, train, 1800)
print("on the train:", len(stays), "stays of", stays.duration.unique() / 3600, "h")
assert len(stays) == 5 and (stays.duration == 3600).all()
PYTHON
