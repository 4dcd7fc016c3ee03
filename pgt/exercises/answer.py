"""One exercise's answer, and the town that answers are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from pgt import city
from pgt.config import Protocol
from pgt.windows import Dataset, prepare


@dataclass(frozen=True)
class Answer:
    """The right answer to an exercise, and known wrong ones.

    Attributes
    ----------
    value
        A number, an array-like of numbers, or a tuple of words.
    slips : tuple
        Pairs of a wrong answer and a sentence that says what went wrong.
    atol : float
        Largest difference that still counts as equal.
    """

    value: Any
    slips: tuple[tuple[Any, str], ...] = ()
    atol: float = 1e-6


class Answers(dict[str, Callable[[], Answer]]):
    """By exercise, say "1.2", the function that works out its answer, once."""

    def to(self, number: str) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
        """Register a function for an exercise."""

        def register(function: Callable[[], Answer]) -> Callable[[], Answer]:
            self[number] = cache(function)
            return function

        return register


@cache
def visits() -> pd.DataFrame:
    """The town's visits; do not change them."""
    return city.load().visits


@cache
def windows(days: int = 7, protocol: Protocol = "exact") -> Dataset:
    """The town's windows."""
    return prepare(visits(), days=days, protocol=protocol)
