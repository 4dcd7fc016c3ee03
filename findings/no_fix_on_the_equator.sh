#!/usr/bin/env bash
# NMEA: a receiver without a fix is at 0 N 0 E in pynmea2.
#
# Version: pynmea2 1.19.0, pynmeagps 1.1.8.
# Expected: the position of a sentence with empty fields (valid: RMC with status V, GGA with
#   quality 0, as sent until satellites are found) is None, NaN or an error.
# Seen: pynmea2's `latitude` and `longitude` are 0.0, two good floats; only `lat` and `lon`, the
#   raw text, are empty. The time is there. pynmeagps gives empty text instead.
# Output seen: pynmea2 0.0 0.0 2024-09-13 08:18:36+00:00, pynmeagps '' ''
# Why it matters: each start of a logger, each tunnel and underground car park puts some fixes into
#   the Gulf of Guinea. Stay detection makes a place of them that everybody visits daily.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pynmea2==1.19.0 pynmeagps==1.1.8)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
from functools import reduce

import pynmea2
from pynmeagps import NMEAReader


def sentence(body):
    """The sentence with its check sum."""
    return f"${body}*{reduce(lambda total, letter: total ^ ord(letter), body, 0):02X}"


searching = sentence("GPRMC,081836,V,,,,,,,130924,,")
quality_0 = sentence("GPGGA,081836,,,,,0,00,,,M,,M,,")
found = sentence("GPRMC,081936,A,3751.65,S,14507.36,E,0.0,0.0,130924,,")
for text in (searching, quality_0):
    one, two = pynmea2.parse(text), NMEAReader.parse(text + "\r\n")
    print(one.sentence_type, (one.latitude, one.longitude), one.timestamp, (two.lat, two.lon))
    assert (one.latitude, one.longitude) == (0.0, 0.0) and one.lat == one.lon == ""
    assert (two.lat, two.lon) == ("", "")
assert not pynmea2.parse(searching).is_valid  # whoever asks is told
one, two = pynmea2.parse(found), NMEAReader.parse(found + "\r\n")
assert round(one.latitude, 6) == round(two.lat, 6) == -37.860833
PYTHON
