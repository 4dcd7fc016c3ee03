#!/usr/bin/env bash
# dateparser: the ISO date of a week is read as a day in another season.
#
# Version: dateparser 1.5.0.
# Expected: 2024-W10-1, which ISO 8601 defines (Monday of week 10), is 4 March 2024 as in Python,
#   or None.
# Seen: it is 1 October 2024 when no language is given, as if it said 2024-10-1. Weeks 2 to 12
#   become the first of that month, weeks 13 to 31 that day of January, week 1 is right, the later
#   ones are None. With languages=["en"] all are None.
# Output seen: 30 of 52 Mondays are read as another day, 21 as nothing
# Why it matters: counts by week (mobile phones, surveys, epidemiology) name weeks in this way.
#   Movements of March are set into October, with other holidays and other light.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(dateparser==1.5.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime

import dateparser

mondays = [f"2024-W{week:02d}-1" for week in range(1, 53)]
read = [dateparser.parse(text) for text in mondays]
right = [datetime.date.fromisoformat(text) for text in mondays]
wrong = sum(a is not None and a.date() != b for a, b in zip(read, right, strict=True))
print(mondays[9], "is read as", read[9], "and is", right[9])
print(wrong, "of 52 Mondays are read as another day,", read.count(None), "as nothing")
assert read[9] == datetime.datetime(2024, 10, 1) and right[9] == datetime.date(2024, 3, 4)
assert read[12] == datetime.datetime(2024, 1, 13)
assert wrong == 30 and read.count(None) == 21
assert dateparser.parse("2024-W10-1", languages=["en"]) is None
assert dateparser.parse("2024-03-04") == datetime.datetime(2024, 3, 4)  # plain dates are right
PYTHON
