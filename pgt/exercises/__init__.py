"""Answers to the exercises of the book that have one, worked out by the package.

A chapter asks ``check.exercise("1.2", mine)``, so that the answer does not stand beside the
question. It comes with the slips that are easy to make, each with a sentence that says what went
wrong. The built book asks for the same answers in forms (``book/_ext/answers.py``).
"""

from __future__ import annotations

from pgt.errors import DataError
from pgt.exercises.answer import Answer, Answers
from pgt.exercises.chapter_four import CHAPTER_FOUR
from pgt.exercises.chapter_two import CHAPTER_TWO
from pgt.exercises.part_five import PART_FIVE
from pgt.exercises.part_four import PART_FOUR
from pgt.exercises.part_one import PART_ONE
from pgt.exercises.part_three import PART_THREE
from pgt.exercises.part_two import PART_TWO

ANSWERS = Answers(
    {
        **PART_ONE, **CHAPTER_TWO, **CHAPTER_FOUR, **PART_TWO, **PART_THREE, **PART_FOUR,
        **PART_FIVE,
    }
)  # fmt: skip


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
        raise DataError(
            f"Exercise {number!r} has no answer to check against; use one of {', '.join(ANSWERS)}."
        )
    return ANSWERS[number]()
