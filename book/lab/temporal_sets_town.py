"""What costs DNNTSP its points in the town: the blind spot, the gate, or both, for chapter 18.

    python book/lab/run.py temporal_sets_town

writes ``book/results/temporal_sets_town.json``, with the rows of `temporal_sets`, whose runs it
makes anew beside two more: without a gate, and without a gate and told the presence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wherenext.relatives.temporal_sets import VARIANTS

from lab.reports import Report, Row
from lab.temporal_sets import about, city_days, compared, described

WAYS: dict[str, dict[str, Any]] = {
    "full": VARIANTS["full"],
    "presence": VARIANTS["presence"],
    "no_gate": VARIANTS["no_gate"],
    "presence_no_gate": VARIANTS["presence"] | VARIANTS["no_gate"],
}
DATA = "city days"


def measured() -> Iterator[Row]:
    """All rows."""
    yield from compared(city_days(), WAYS, about(DATA))


def _data(_: list[Row]) -> list[Row]:
    return [described(DATA, city_days())]


REPORT = Report(
    question="What costs a network for sets its points in the town: the blind spot, or the gate",
    rows=measured,
    data=_data,
)
