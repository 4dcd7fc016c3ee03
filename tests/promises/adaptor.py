"""The calls of the tapes that are no ``pgt.NAME``: where things move, only this file changes."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import wherenext.city
from lab.gps_protocol import fixes_to_visits
from wherenext.fixes import simulate_fixes

from pgt.__main__ import main
from pgt.baselines import Last as Last
from pgt.checkpoint import shipped

BOOK = Path(__file__).resolve().parents[2] / "book"
city = cache(wherenext.city.load)


def town() -> pd.DataFrame:
    """The visits of the simulated town's 66 people."""
    return city().visits.copy()


def checkpoint() -> Path:
    """The PGT that comes with the package, trained on the town."""
    return shipped("city")


def fixes(people: list[int], days: int, every_s: int) -> pd.DataFrame:
    """What a receiver records of these people: ``user_id``, ``tracked_at``, ``lon``, ``lat``."""
    return simulate_fixes(city(), people, days=days, every_s=every_s).drop(columns="visit")


def journey(recorded: pd.DataFrame, zone: str) -> Any:
    """Its ``staypoints``, ``locations``, ``visits`` and ``counts`` of every step."""
    return fixes_to_visits(recorded, timezone=zone)


def command(words: list[str]) -> tuple[int, str]:
    """The exit status of ``python -m pgt WORDS``, and what it prints on standard output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            return main(words), printed.getvalue()
        except SystemExit as stop:
            return int(stop.code or 0), printed.getvalue()


def executed(name: str) -> Any:
    """A chapter with its outputs, or None if it has not run since it or the package changed."""
    import execute  # of the book, which no other tape needs

    path = BOOK / f"{name}.ipynb"
    there = execute.is_fresh() and execute.record(path) is not None
    return execute.executed(path) if there else None
