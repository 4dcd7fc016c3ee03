"""Answers to the exercises of the book that have one, worked out by the package.

A chapter asks ``check.exercise("1.2", mine)``, so that the answer does not stand beside the
question. It comes with the slips that are easy to make, each with a sentence that says what went
wrong. The built book asks for the same answers in forms (``book/_ext/answers.py``).
"""

from __future__ import annotations

from pgt.errors import DataError
from wherenext.exercises import (  # noqa: F401  (each adds its answers)
    chapter_four,
    chapter_two,
    part_five,
    part_four,
    part_one,
    part_three,
    part_two,
)
from wherenext.exercises.answer import ANSWERS, Answer

__all__ = ["ANSWERS", "answer_to"]


def answer_to(number: str) -> Answer:
    """Work out the answer to exercise `number`, say "1.2".

    Raises
    ------
    DataError
        When the exercise has no answer that can be checked.

    Examples
    --------
    >>> answer_to("8.1").value[1]
    0.6
    """
    if number not in ANSWERS:
        numbers = sorted(ANSWERS, key=lambda one: [*map(int, one.split("."))])
        raise DataError(
            f"Exercise {number!r} has no answer to check against; use one of {', '.join(numbers)}."
        )
    return ANSWERS[number]()
