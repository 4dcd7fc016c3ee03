"""What costs DNNTSP its points in the town: the blind spot, the gate, or both, for chapter 18.

    python book/lab/run.py temporal_sets_town

writes ``book/results/temporal_sets_town.json``, with the rows of `temporal_sets`, whose runs it
makes anew beside two more: without a gate, and without a gate and told the presence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from wherenext.relatives.temporal_sets import VARIANTS, SetTraining

from lab.reports import Report, Row
from lab.runs import SEEDS
from lab.temporal_sets import WHOLE, city_days, counted, fingerprint, rows_of, trained

WAYS: dict[str, dict[str, Any]] = {
    "full": VARIANTS["full"],
    "presence": VARIANTS["presence"],
    "no_gate": VARIANTS["no_gate"],
    "presence_no_gate": VARIANTS["presence"] | VARIANTS["no_gate"],
}
DATA = "city days"


def measured() -> Iterator[Row]:
    """All rows."""
    parts = city_days()
    tables = {key: [table] for key, table in counted(parts).items()}
    for name, fields in WAYS.items():
        tables[WHOLE[0], name] = [
            trained(parts, name, fields, replace(SetTraining(), seed=seed)) for seed in SEEDS
        ]
    yield from rows_of(tables, {"data": DATA, "protocol": "next set", "target_time": "unknown"})


def _data(_: list[Row]) -> list[Row]:
    parts = city_days()
    return [
        {
            "name": DATA, "protocol": "next set", "fingerprint": fingerprint(parts),
            "windows": {part: len(one) for part, one in parts.items()},
            "training": asdict(SetTraining()),
        }
    ]  # fmt: skip


REPORT = Report(
    question="What costs a network for sets its points in the town: the blind spot, or the gate",
    rows=measured,
    data=_data,
)
