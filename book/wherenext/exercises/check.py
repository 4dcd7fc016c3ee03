"""Checks that say what is wrong with an answer to an exercise.

    from wherenext.exercises import check
    check.same(my_attention, expected, name="attention")

prints a line when it is right, else raises an `AssertionError` with one sentence. As long as `...`
stands in the place of an answer, all of them only say "Not yet".
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def _open(value: Any) -> bool:
    """Whether `...` still stands in the place of an answer."""
    if isinstance(value, dict):
        value = list(value.values())
    return value is ... or (isinstance(value, (list, tuple)) and any(_open(one) for one in value))


def _array(value: Any, name: str) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise AssertionError(f"{name} is {type(value).__name__}, not numbers.") from None


def same(yours: Any, expected: Any, *, name: str = "your answer", atol: float = 1e-6) -> None:
    """Compare numbers, arrays or tensors; an AssertionError says in what way they are wrong.

    >>> same([0.25, 0.75], torch.tensor([0.25, 0.75]), name="weights")
    Right: weights.
    """
    if _open(yours):
        print(f"Not yet: {name}. Put your answer in the place of the three dots.")
        return
    mine, right = _array(yours, name), _array(expected, name)
    if mine.shape != right.shape:
        turned = " (transposed?)" if mine.shape == right.shape[::-1] else ""
        raise AssertionError(f"{name} has shape {mine.shape}, expected {right.shape}{turned}.")
    if np.isnan(mine).any() and not np.isnan(right).any():
        raise AssertionError(
            f"{name} holds NaN in {int(np.isnan(mine).sum())} of {mine.size} places; "
            "a softmax over nothing but -inf, or 0 / 0, gives that."
        )
    finite = np.isfinite(mine) & np.isfinite(right)
    gap = np.zeros_like(right)
    gap[finite] = np.abs(mine[finite] - right[finite])
    gap[~finite & (mine != right) & ~(np.isnan(mine) & np.isnan(right))] = np.inf
    if gap.max(initial=0.0) <= atol:
        print(f"Right: {name}.")
        return
    raise AssertionError(f"{name} is not right: {_guess(mine, right, gap, finite)}.")


def _guess(mine: np.ndarray, right: np.ndarray, gap: np.ndarray, finite: np.ndarray) -> str:
    """What kind of mistake it looks like."""
    if finite.all() and mine.size > 1:
        if np.allclose(mine, -right, atol=1e-6):
            return "the sign is the other way round"
        if np.allclose(np.sort(mine, axis=None), np.sort(right, axis=None), atol=1e-6):
            return "the values are there, but in another order"
        ratio = mine[right != 0] / right[right != 0]
        if ratio.size and np.ptp(ratio) < 1e-4 * max(abs(float(ratio.mean())), 1e-12):
            return f"every value is {ratio.mean():.4g} times the expected one"
        shift = mine - right
        if np.ptp(shift) < 1e-5:
            return f"every value is {shift.mean():+.4g} off"
    where = np.unravel_index(int(gap.argmax()), gap.shape)
    place = f" at {tuple(map(int, where))}" if gap.ndim else ""
    wrong = int((gap > 1e-6).sum())
    return (
        f"{wrong} of {gap.size} values differ, most{place}: {mine[where]:.6g} instead of "
        f"{right[where]:.6g}"
    )


def function(
    yours: Callable[..., Any], reference: Callable[..., Any], *cases: tuple[Any, ...]
) -> None:
    """Compare a function with a reference on several tuples of arguments.

    >>> function(lambda x: x + x, lambda x: 2 * x, (1.0,), (3.0,))
    Right: <lambda> in 2 cases.
    """
    name = getattr(yours, "__name__", "your function")
    for number, case in enumerate(cases, start=1):
        try:
            mine = yours(*case)
        except Exception as error:
            raise AssertionError(f"{name} fails in case {number}: {error!r}") from error
        if _open(mine):
            print(f"Not yet: {name}. Put your code in the place of the three dots.")
            return
        expected = reference(*case)
        with contextlib.redirect_stdout(io.StringIO()):
            same(mine, expected, name=f"{name} in case {number}")
    print(f"Right: {name} in {len(cases)} cases.")


def exercise(number: str, yours: Any) -> None:
    """Check the answer to an exercise: a number, numbers in any array-like, or a tuple of words.

    >>> exercise("10.1", (..., ...))
    Not yet: exercise 10.1. Put your answer in the place of the three dots.
    """
    from wherenext.exercises import answer_to

    name = f"exercise {number}"
    answer = answer_to(number)
    if not _open(yours):
        for slip, why in answer.slips:
            if not _equal(answer.value, slip, answer.atol) and _equal(yours, slip, answer.atol):
                raise AssertionError(f"{name} is not right yet: {why}")
        if isinstance(answer.value, tuple):
            _words(yours, answer.value, name)
            return
        hundredth = np.asarray(answer.value, dtype=float) / 100
        if _equal(yours, hundredth, answer.atol / 100):
            raise AssertionError(f"{name} is nearly right: give it in percent, times 100.")
    same(yours, answer.value, name=name, atol=answer.atol)


def _equal(one: Any, other: Any, atol: float) -> bool:
    """Whether two answers are the same, numbers or words."""
    if isinstance(other, tuple):
        words = (one,) if isinstance(one, str) else one
        return isinstance(words, (tuple, list)) and tuple(words) == other
    try:
        mine, right = _array(one, ""), _array(other, "")
    except AssertionError:
        return False
    return mine.shape == right.shape and np.allclose(mine, right, rtol=0, atol=atol)


def _words(yours: Any, right: tuple[str, ...], name: str) -> None:
    """Compare words; say which one is wrong, and not what would be right."""
    mine = tuple(yours) if isinstance(yours, (tuple, list)) else (yours,)
    if len(mine) != len(right):
        raise AssertionError(f"{name} asks for {len(right)} words; you gave {len(mine)}.")
    wrong = [repr(word) for word, true in zip(mine, right, strict=True) if word != true]
    if wrong:
        raise AssertionError(f"{name} is not right yet: look again at {', '.join(wrong)}.")
    print(f"Right: {name}.")
