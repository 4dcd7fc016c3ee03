#!/usr/bin/env bash
# Opening hours of OpenStreetMap: a day off closes the night before it and leaves its own night
#   open.
#
# Version: opening-hours-py 2.1.4 (Rust), opening_hours 3.15.0 (JavaScript).
# Expected: "22:00-02:00; Dec 24 off" closes the bar on the evening of the 24th until 2 in the
#   morning.
# Seen: in both, independent, readers the bar is closed on 24 December at 1:00, which belongs to
#   the evening of the 23rd, and open on the 25th at 1:00. "Fr 22:00-02:00; Sa 10:00-12:00" is
#   closed on Saturday at 1:00: the second rule takes the whole calendar day. With a comma instead
#   of the semicolon it is open. They part on "08:00+": in the evening it is open for the one and
#   unknown for the other. Told no country, the Rust reader opens on New Year's Day in spite of "PH
#   off".
# Output seen: 24 December 01:00 closed, 25 December 01:00 open, in both
# Why it matters: whether a place is open is a cue for the next place, at night more than ever.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(opening-hours-py==2.1.4)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi
npm install --silent --no-audit --no-fund --prefix . opening_hours@3.15.0 >/dev/null
npm_says() {  # the state at a local time: true, false or "unknown"
  node -e '
    const Hours = require("opening_hours");
    const place = {lat: 52.5, lon: 13.4, address: {country_code: "de", state: "Berlin"}};
    const hours = new Hours(process.argv[1], place);
    const time = new Date(process.argv[2]);
    console.log(hours.getUnknown(time) ? "unknown" : hours.getState(time));' "$1" "$2"
}
export TZ=Europe/Berlin
{
  npm_says "22:00-02:00; Dec 24 off" 2024-12-24T01:00
  npm_says "22:00-02:00; Dec 24 off" 2024-12-25T01:00
  npm_says "Fr 22:00-02:00; Sa 10:00-12:00" 2024-03-09T01:00
  npm_says "Fr 22:00-02:00, Sa 10:00-12:00" 2024-03-09T01:00
  npm_says "Mo-Fr 08:00+" 2024-03-04T19:00
} >javascript.txt

venv/bin/python - <<'PYTHON'
import datetime as dt

from opening_hours import OpeningHours


def is_open(hours, *moment):
    """Whether it is open at that local time."""
    return OpeningHours(hours).is_open(dt.datetime(*moment))


rust = [
    is_open("22:00-02:00; Dec 24 off", 2024, 12, 24, 1),
    is_open("22:00-02:00; Dec 24 off", 2024, 12, 25, 1),
    is_open("Fr 22:00-02:00; Sa 10:00-12:00", 2024, 3, 9, 1),
    is_open("Fr 22:00-02:00, Sa 10:00-12:00", 2024, 3, 9, 1),
    is_open("Mo-Fr 08:00+", 2024, 3, 4, 19),
]
with open("javascript.txt") as file:
    javascript = file.read().split()
print("Rust:", rust)
print("JavaScript:", javascript)
assert rust == [False, True, False, True, True]
assert javascript == ["false", "true", "false", "true", "unknown"]
assert is_open("Mo-Fr 08:00-18:00; PH off", 2024, 1, 1, 10)  # New Year's Day
PYTHON
