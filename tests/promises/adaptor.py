"""The calls of the tapes that are no ``pgt.NAME``: where things move, only this file changes."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from pathlib import Path
from typing import Any

import execute
import pandas as pd

import pgt
from pgt.__main__ import main
from pgt.baselines import Last
from pgt.checkpoint import shipped
from pgt.city.fixes import simulate_fixes
from pgt.gps import fixes_to_visits

BOOK = Path(execute.ROOT) / "book"
__all__ = ["Last", "chapters", "checkpoint", "command", "executed", "fixes", "journey", "town"]


@cache
def _city() -> Any:
    return pgt.city.load()


def town() -> pd.DataFrame:
    """The visits of the simulated town's 66 people."""
    return _city().visits.copy()


def checkpoint() -> Path:
    """The PGT that comes with the package, trained on the town."""
    return shipped("city")


def fixes(people: list[int], days: int, every_s: int) -> pd.DataFrame:
    """What a receiver records of these people: ``user_id``, ``tracked_at``, ``lon``, ``lat``."""
    return simulate_fixes(_city(), people, days=days, every_s=every_s).drop(columns="visit")


def journey(recorded: pd.DataFrame, zone: str) -> Any:
    """Its ``staypoints``, ``locations``, ``visits`` and ``counts`` of every step."""
    return fixes_to_visits(recorded, timezone=zone)


def command(*arguments: str) -> tuple[int, str]:
    """The exit status of ``python -m pgt ARGUMENTS`` and what it prints on standard output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main(list(arguments))
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, printed.getvalue()


def chapters() -> list[str]:
    """The chapters' names."""
    return sorted(path.stem for path in BOOK.glob("[0-9][0-9]_*.ipynb"))


def executed(name: str) -> Any:
    """A chapter with its outputs, or None if it has not run since it or the package changed."""
    path = BOOK / f"{name}.ipynb"
    if not execute.is_fresh() or execute.record(path) is None:
        return None
    return execute.executed(path)
