#!/usr/bin/env bash
# FIT: a time before the watch knew the date, and the local time, are read in three ways.
#
# Version: fitdecode 0.11.0, fitparse 1.2.0, garmin-fit-sdk 21.218.0.
# Expected: FIT says that a `timestamp` below 0x10000000 counts seconds since the watch was
#   switched on, not since 1989, and that `local_timestamp` has no zone. Readers refuse, mark or
#   leave out the first, and give the second without a zone.
# Seen: Garmin's own kit makes 1234 seconds 31 December 1989, 00:20:34 UTC, a date like any other;
#   fitdecode and fitparse give the number 1234 in the column of dates. The local time 19:01 in
#   Tokyo is 19:01 UTC in fitdecode, nine hours after the same moment's `timestamp`; fitparse gives
#   both without a zone, so that the difference is kept; the kit gives the bare number.
# Output seen: 1989-12-31 00:20:34+00:00 | 1234 | 1234; local 19:01+00:00 | 19:01 | a number
# Why it matters: a column with one number in it is no column of times, and one visit in 1989 makes
#   a gap of 34 years. The only trace of the zone in a file is the local time: fitdecode denies it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(fitdecode==0.11.0 fitparse==1.2.0 garmin-fit-sdk==21.218.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime as dt
import struct

NIBBLES = [
    0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
    0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400,
]
EPOCH = dt.datetime(1989, 12, 31, tzinfo=dt.timezone.utc)


def check(data):
    """The check sum of FIT."""
    total = 0
    for byte in data:
        for nibble in (byte & 15, byte >> 4):
            total = (total >> 4) ^ NIBBLES[total & 15] ^ NIBBLES[nibble]
    return struct.pack("<H", total)


def file(body):
    """A whole file: header, messages, check sum."""
    head = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    head += check(head)
    return head + body + check(head + body)


def definition(local, message, *fields):
    """Fields are number, size, type."""
    head = struct.pack("<BBBHB", 0x40 | local, 0, 0, message, len(fields))
    return head + b"".join(bytes(field) for field in fields)


def seconds(*moment):
    """FIT's time: seconds since the last day of 1989."""
    return int((dt.datetime(*moment, tzinfo=dt.timezone.utc) - EPOCH).total_seconds())


def degrees(value):
    """FIT's unit of positions."""
    return round(value * 2**31 / 180)


SINT32, UINT32 = 0x85, 0x86

body = definition(0, 20, (253, 4, UINT32), (0, 4, SINT32), (1, 4, SINT32))
body += struct.pack("<BIii", 0, 1234, degrees(35.68), degrees(139.69))
body += struct.pack("<BIii", 0, seconds(2024, 3, 4, 10), degrees(35.68), degrees(139.69))
body += definition(1, 34, (253, 4, UINT32), (5, 4, UINT32))
body += struct.pack("<BII", 1, seconds(2024, 3, 4, 10, 1), seconds(2024, 3, 4, 19, 1))
with open("walk.fit", "wb") as out:
    out.write(file(body))

import fitdecode
import fitparse
from garmin_fit_sdk import Decoder, Stream

with fitdecode.FitReader("walk.fit") as reader:
    frames = [frame for frame in reader if isinstance(frame, fitdecode.FitDataMessage)]
decoded = [frame.get_value("timestamp") for frame in frames]
decoded_local = frames[-1].get_value("local_timestamp")
parsed = [message.get_values() for message in fitparse.FitFile("walk.fit").get_messages()]
kit, errors = Decoder(Stream.from_file("walk.fit")).read()
own, own_local = kit["record_mesgs"][0]["timestamp"], kit["activity_mesgs"][0]["local_timestamp"]

print("switched on:", own, "|", decoded[0], "|", parsed[0]["timestamp"])
print("local:", own_local, "|", decoded_local, "|", parsed[-1]["local_timestamp"])
utc = dt.timezone.utc
assert not errors
assert own == dt.datetime(1989, 12, 31, 0, 20, 34, tzinfo=utc)
assert decoded[0] == parsed[0]["timestamp"] == 1234
assert decoded[1] == dt.datetime(2024, 3, 4, 10, tzinfo=utc)  # the next one is a time
assert decoded_local == dt.datetime(2024, 3, 4, 19, 1, tzinfo=utc)
assert parsed[-1]["local_timestamp"] == dt.datetime(2024, 3, 4, 19, 1)
assert own_local == seconds(2024, 3, 4, 19, 1)
PYTHON
