#!/usr/bin/env bash
# narwhals: the hour of a visit in the autumn night exists in Polars, in pandas and Arrow it
#   raises.
#
# Version: narwhals 2.29.0, pandas 3.1.1, Polars 2.1.0, pyarrow 26.0.1.
# Expected: "one code for all frames" cuts the same zoned times to the same hours; the times are
#   instants with a zone, so nothing about them is ambiguous.
# Seen: `dt.truncate("1h")` on 02:30 in Berlin, once in summer time and once in winter time, gives
#   02:00 with the right offsets in Polars. pandas and Arrow cut the clock on the wall and raise.
#   "1d", "3h" and even "90m" pass in all three. In spring "1h" passes and "2h" raises in two.
# Output seen: Polars 02:00+02:00 02:00+01:00; pandas ValueError, Arrow ArrowInvalid "ambiguous"
# Why it matters: visits by the hour work all year and stop on two nights, and only on the frames
#   that were not tested. Cut in UTC, or take the hour with `dt.hour()`, which never raises.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(narwhals==2.29.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa

NIGHTS = {
    "autumn": ["2024-10-27T00:30Z", "2024-10-27T01:30Z"],
    "spring": ["2024-03-31T00:30Z", "2024-03-31T01:30Z"],
}


def cut(night, every):
    """The cut times, or the error, for each of the three frames."""
    frame = pd.DataFrame({"t": pd.to_datetime(NIGHTS[night]).tz_convert("Europe/Berlin")})
    arrow = pa.Table.from_pandas(frame)
    frames = {"pandas": frame, "Polars": pl.from_pandas(frame), "Arrow": arrow}
    found = {}
    for name, native in frames.items():
        try:
            column = nw.from_native(native).select(nw.col("t").dt.truncate(every))["t"]
            found[name] = " ".join(time.isoformat()[11:] for time in column.to_list())
        except Exception as error:
            found[name] = type(error).__name__
    return found


print(cut("autumn", "1h"))
print(cut("spring", "2h"))
assert cut("autumn", "1h") == {
    "pandas": "ValueError",
    "Polars": "02:00:00+02:00 02:00:00+01:00",
    "Arrow": "ArrowInvalid",
}
assert cut("spring", "2h") == {
    "pandas": "ValueError",
    "Polars": "00:00:00+01:00 03:00:00+02:00",
    "Arrow": "ArrowInvalid",
}
for night, every in (("autumn", "1d"), ("autumn", "3h"), ("autumn", "90m"), ("spring", "1h")):
    assert len(set(cut(night, every).values())) == 1, (night, every)
PYTHON
