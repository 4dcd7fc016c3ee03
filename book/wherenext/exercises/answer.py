"""One exercise's answer, and the town that answers are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from pgt.config import Protocol
from pgt.windows import Dataset, prepare
from wherenext import city


@dataclass(frozen=True)
class Field:
    """One of the things that an exercise asks for, as a form in the built page shows it.

    Attributes
    ----------
    label : str
        What is asked, such as "Acc@1".
    unit : str
        As in "%"; empty for a pure number.
    digits : int
        Decimals that are asked for. A form takes an answer that is rounded to them.
    choices : tuple of str
        Where the answer is a word: the words to choose from.

    Examples
    --------
    >>> Field("Acc@1", "%").digits
    1
    """

    label: str
    unit: str = ""
    digits: int = 1
    choices: tuple[str, ...] = ()


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
    fields : tuple of Field
        One for each number or word, for the form in the page. Without them there is no form.
    then : str
        One sentence on what follows from the right answer; the form shows it.
    code : bool
        Whether finding it takes code, and not only paper or thought; the form says so.
    """

    value: Any
    slips: tuple[tuple[Any, str], ...] = ()
    atol: float = 1e-6
    fields: tuple[Field, ...] = ()
    then: str = ""
    code: bool = False


class Answers(dict[str, Callable[[], Answer]]):
    """By exercise, say "1.2", the function that works out its answer, once."""

    def to(self, number: str) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
        """Register a function for an exercise."""

        def register(function: Callable[[], Answer]) -> Callable[[], Answer]:
            self[number] = cache(function)
            return function

        return register


ANSWERS = Answers()


@cache
def visits() -> pd.DataFrame:
    """The town's visits; do not change them."""
    return city.load().visits


@cache
def windows(days: int = 7, protocol: Protocol = "exact") -> Dataset:
    """The town's windows."""
    return prepare(visits(), days=days, protocol=protocol)
