"""Answers to the exercises of the book that have one, worked out by the package.

They come with the slips that are easy to make. `check.exercise` and the forms of the built book
(``book/_ext/answers.py``) ask for them; where it can, an answer takes another way than the book's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pgt.errors import DataError


@dataclass(frozen=True)
class Field:
    """One of the things that an exercise asks for, as a form in the built page shows it."""

    label: str
    unit: str = ""  # as in "%"; empty for a pure number
    digits: int = 1  # decimals that are asked for
    choices: tuple[str, ...] = ()  # where the answer is a word: the words to choose from


@dataclass(frozen=True)
class Answer:
    """The right answer to an exercise, and known wrong ones."""

    value: Any  # a number, an array-like of numbers, or a tuple of words
    slips: tuple[tuple[Any, str], ...] = ()  # a wrong answer, and what went wrong
    atol: float = 1e-6  # largest difference that still counts as equal
    fields: tuple[Field, ...] = ()  # one for each number or word; without them there is no form
    then: str = ""  # what follows from the right answer; the form shows it
    code: bool = False  # whether finding it takes code


ANSWERS: dict[str, Callable[[], Answer]] = {}
Worked = tuple[Any, dict[str, Any]]  # the right answer; by what went wrong, the wrong one


def works_out(
    number: str, fields: Sequence[str] = (), *, digits: int | Sequence[int] = 1,
    choices: tuple[str, ...] = (), atol: float = 1e-6, code: bool = False,
) -> Callable[[Callable[[], Worked]], None]:  # fmt: skip
    """Register what works out an exercise; its docstring says what follows. Fields: "Acc@1 [%]"."""
    each = [digits] * len(fields) if isinstance(digits, int) else digits
    shown = [
        Field(*text.removesuffix("]").partition(" [")[::2], asked, choices)
        for text, asked in zip(fields, each, strict=True)
    ]

    def register(function: Callable[[], Worked]) -> None:
        @cache
        def answer() -> Answer:
            value, slips = function()
            if len(shown) == 2:
                slips = {"the two are exchanged.": value[::-1]} | slips
            pairs = tuple((wrong, why) for why, wrong in slips.items())
            then = " ".join((function.__doc__ or "").split())
            return Answer(value, pairs, atol, tuple(shown), then, code)

        ANSWERS[number] = answer

    return register


def answer_to(number: str) -> Answer:
    """Work out the answer to an exercise."""
    if number not in ANSWERS:
        numbers = sorted(ANSWERS, key=lambda one: [*map(int, one.split("."))])
        raise DataError(
            f"Exercise {number!r} has no answer to check against; use one of {', '.join(numbers)}."
        )
    return ANSWERS[number]()


from wherenext.exercises import later_parts, part_one  # noqa: E402, F401  (they register answers)
