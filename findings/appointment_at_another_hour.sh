#!/usr/bin/env bash
# Calendars: ics sets an appointment without a zone, or with Windows' name of one, into UTC.
#
# Version: ics 0.7.3, icalendar 7.3.2.
# Expected: 19:00 "floating" (RFC 5545: local time wherever the reader is) has no zone. 19:00 with
#   TZID "Tokyo Standard Time", as Outlook writes it, is 19:00 in Tokyo, or the name is refused.
# Seen: ics makes both 19:00 UTC, without a warning: nine hours late in Tokyo, 04:00 of the next
#   morning. icalendar leaves the first without a zone and knows that the second is Asia/Tokyo. A
#   duration of PT24H over the night of the spring change is 23 hours in both: it is added to the
#   clock, though RFC 5545 says that hours are exact and only days follow the clock.
# Output seen: ics 19:00+00:00 19:00+00:00, icalendar 19:00 and 19:00+09:00; 24 hours: 23:00:00
# Why it matters: a calendar tells where somebody is going to be. Joined with visits by the
#   instant, an evening's choir is set into the night, and "the visit fits the appointment" fails
#   for all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(ics==0.7.3 icalendar==7.3.2)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import datetime as dt

import icalendar
import ics

LINES = [
    "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//invented//EN",
    "BEGIN:VEVENT", "UID:1@invented", "DTSTAMP:20240101T000000Z", "SUMMARY:floating",
    "DTSTART:20240304T190000", "DTEND:20240304T210000", "END:VEVENT",
    "BEGIN:VEVENT", "UID:2@invented", "DTSTAMP:20240101T000000Z", "SUMMARY:outlook",
    "DTSTART;TZID=Tokyo Standard Time:20240304T190000",
    "DTEND;TZID=Tokyo Standard Time:20240304T210000", "END:VEVENT",
    "BEGIN:VEVENT", "UID:3@invented", "DTSTAMP:20240101T000000Z", "SUMMARY:long",
    "DTSTART;TZID=Europe/Berlin:20240330T120000", "DURATION:PT24H", "END:VEVENT",
    "END:VCALENDAR", "",
]
text = "\r\n".join(LINES)
one = {event.name: event.begin.datetime for event in ics.Calendar(text).events}
ends = {event.name: event.end.datetime for event in ics.Calendar(text).events}
two = {str(e["SUMMARY"]): e for e in icalendar.Calendar.from_ical(text).walk("VEVENT")}

print("ics:", one["floating"].isoformat(), one["outlook"].isoformat())
print("icalendar:", two["floating"].start.isoformat(), two["outlook"].start.isoformat())
evening = dt.datetime(2024, 3, 4, 19, tzinfo=dt.timezone.utc)
assert one["floating"] == evening and one["outlook"] == evening
assert two["floating"].start.tzinfo is None
assert two["outlook"].start.astimezone(dt.timezone.utc) == evening - dt.timedelta(hours=9)


def length(start, end):
    """Time that really passes."""
    return end.astimezone(dt.timezone.utc) - start.astimezone(dt.timezone.utc)


lengths = length(one["long"], ends["long"]), length(two["long"].start, two["long"].end)
print("24 hours last", *lengths)
assert lengths == (dt.timedelta(hours=23), dt.timedelta(hours=23))
PYTHON
