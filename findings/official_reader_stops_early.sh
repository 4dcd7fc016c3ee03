#!/usr/bin/env bash
# FIT: with compressed times Garmin's own reader returns the first fixes and keeps the rest to
#   itself.
#
# Version: garmin-fit-sdk 21.218.0, fitdecode 0.11.0, fitparse 1.2.0.
# Expected: FIT's compressed timestamp header (five bits of time in the header of the message, part
#   of the protocol from the start) is read by the kit of the protocol's makers, or `read` raises.
# Seen: `is_fit` and `check_integrity` say yes; `read` returns the messages before the first such
#   header, and an error in a list beside them. The two others read all fixes and count the seconds
#   right, also when the five bits start again at 0.
# Output seen: Garmin's kit 1 of 6 fixes, fitdecode 6, fitparse 6; times :00 :10 :20 :31 :34 :40
# Why it matters: older watches and loggers write so to save space. `messages, _ = decoder.read()`
#   turns a day into its first minute, and the person seems to stay where it began.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(garmin-fit-sdk==21.218.0 fitdecode==0.11.0 fitparse==1.2.0)
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

start = seconds(2024, 3, 4, 10)
body = definition(0, 20, (253, 4, UINT32), (0, 4, SINT32), (1, 4, SINT32))
body += struct.pack("<BIii", 0, start, degrees(52.5), degrees(13.4))
body += definition(2, 20, (0, 4, SINT32), (1, 4, SINT32))
for later in (10, 20, 31, 34, 40):
    header = 0x80 | 2 << 5 | (start + later) & 31
    body += struct.pack("<Bii", header, degrees(52.5 + later / 1000), degrees(13.4))
with open("walk.fit", "wb") as out:
    out.write(file(body))

import fitdecode
import fitparse
from garmin_fit_sdk import Decoder, Stream

assert Decoder(Stream.from_file("walk.fit")).is_fit()
assert Decoder(Stream.from_file("walk.fit")).check_integrity()
messages, errors = Decoder(Stream.from_file("walk.fit")).read()
with fitdecode.FitReader("walk.fit") as reader:
    frames = [frame for frame in reader if isinstance(frame, fitdecode.FitDataMessage)]
decoded = [frame.get_value("timestamp").second for frame in frames]
parsed = [m.get_value("timestamp").second for m in fitparse.FitFile("walk.fit").get_messages()]
print("Garmin's kit:", len(messages["record_mesgs"]), "fix,", errors)
print("fitdecode:", decoded, "fitparse:", parsed)
assert len(messages["record_mesgs"]) == 1 and len(errors) == 1
assert decoded == parsed == [0, 10, 20, 31, 34, 40]
PYTHON
