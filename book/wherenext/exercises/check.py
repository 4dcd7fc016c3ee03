"""Checks that say what is wrong with an answer to an exercise.

    from wherenext.exercises import check
    check.same(my_attention, expected, name="attention")

prints a line when it is right, else raises an `AssertionError` with one sentence. As long as `...`
stands in the place of an answer, all of them only say "Not yet".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def _open(value: Any, name: str) -> bool:
    """Whether `...` still stands in the place of an answer; if so, say it."""

    def dots(one: Any) -> bool:
        values = list(one.values()) if isinstance(one, dict) else one
        return values is ... or (isinstance(values, (list, tuple)) and any(map(dots, values)))

    if found := dots(value):
        print(f"Not yet: {name}. Put your answer in the place of the three dots.")
    return found


def _array(value: Any, name: str) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise AssertionError(f"{name} is {type(value).__name__}, not numbers.") from None


def same(yours: Any, expected: Any, *, name: str = "your answer", atol: float = 1e-6) -> None:
    """Compare numbers, arrays or tensors; an AssertionError says in what way they are wrong."""
    if not _open(yours, name):
        _compare(yours, expected, name, atol)
        print(f"Right: {name}.")


def _compare(yours: Any, expected: Any, name: str, atol: float = 1e-6) -> None:
    mine, right = _array(yours, name), _array(expected, name)
    if mine.shape != right.shape:
        turned = " (transposed?)" if mine.shape == right.shape[::-1] else ""
        raise AssertionError(f"{name} has shape {mine.shape}, expected {right.shape}{turned}.")
    if lost := int((np.isnan(mine) & ~np.isnan(right)).sum()):
        why = "a softmax over nothing but -inf, or 0 / 0, gives that."
        raise AssertionError(f"{name} holds NaN in {lost} of {mine.size} places; {why}")
    wrong = ~np.isclose(mine, right, rtol=0, atol=atol, equal_nan=True)
    if wrong.any():
        raise AssertionError(f"{name} is not right: {_guess(mine, right, wrong)}.")


def _guess(mine: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> str:
    """What kind of mistake it looks like."""
    if np.isfinite([mine, right]).all() and mine.size > 1:
        if np.allclose(mine, -right, atol=1e-6):
            return "the sign is the other way round"
        if np.allclose(np.sort(mine, axis=None), np.sort(right, axis=None), atol=1e-6):
            return "the values are there, but in another order"
        for how, change in (("{:.4g} times", mine / np.where(right, right, np.nan)),
                            ("{:+.4g} off", mine - right)):  # fmt: skip
            if np.nanmax(change) - np.nanmin(change) < 1e-5:
                return f"every value is {how.format(np.nanmean(change))} the expected one"
    with np.errstate(invalid="ignore"):
        gap = np.where(wrong, np.nan_to_num(np.abs(mine - right), nan=np.inf, posinf=np.inf), 0)
    where = np.unravel_index(int(gap.argmax()), gap.shape)
    place = f" at {tuple(map(int, where))}" if gap.ndim else ""
    return (
        f"{wrong.sum()} of {gap.size} values differ, most{place}: {mine[where]:.6g} instead of "
        f"{right[where]:.6g}"
    )


def function(
    yours: Callable[..., Any], reference: Callable[..., Any], *cases: tuple[Any, ...]
) -> None:
    """Compare a function with a reference on several tuples of arguments."""
    name = getattr(yours, "__name__", "your function")
    for number, case in enumerate(cases, start=1):
        try:
            mine = yours(*case)
        except Exception as error:
            raise AssertionError(f"{name} fails in case {number}: {error!r}") from error
        if _open(mine, name):
            return
        _compare(mine, reference(*case), f"{name} in case {number}")
    print(f"Right: {name} in {len(cases)} cases.")


def exercise(number: str, yours: Any) -> None:
    """Check the answer to an exercise: a number, numbers in any array-like, or a tuple of words."""
    from wherenext.exercises import answer_to

    name, answer = f"exercise {number}", answer_to(number)
    if _open(yours, name):
        return
    right = answer.value
    if isinstance(right, tuple):
        yours = (yours,) if isinstance(yours, str) else tuple(yours)
    for slip, why in answer.slips:
        if not _equal(right, slip, answer.atol) and _equal(yours, slip, answer.atol):
            raise AssertionError(f"{name} is not right yet: {why}")
    if isinstance(right, tuple):  # say which word is wrong, and not what would be right
        if len(yours) != len(right):
            raise AssertionError(f"{name} asks for {len(right)} words; you gave {len(yours)}.")
        if wrong := [repr(word) for word, true in zip(yours, right, strict=True) if word != true]:
            raise AssertionError(f"{name} is not right yet: look again at {', '.join(wrong)}.")
    elif not _equal(yours, right, answer.atol) and _equal(
        yours, np.asarray(right, dtype=float) / 100, answer.atol / 100
    ):
        raise AssertionError(f"{name} is nearly right: give it in percent, times 100.")
    else:
        _compare(yours, right, name, answer.atol)
    print(f"Right: {name}.")


def _equal(one: Any, other: Any, atol: float) -> bool:
    """Whether two answers are the same, numbers or words."""
    if isinstance(other, tuple):
        return one == other
    try:
        mine, right = _array(one, ""), _array(other, "")
    except AssertionError:
        return False
    return mine.shape == right.shape and np.allclose(mine, right, rtol=0, atol=atol)
