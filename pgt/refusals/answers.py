"""Answers that are none."""

from __future__ import annotations

from torch import Tensor

from pgt.errors import DataError


def require_answers(log_probs: Tensor) -> None:
    """Refuse a model that gives no place a probability.

    Parameters
    ----------
    log_probs : Tensor
        (B, K) of the likeliest places.

    Raises
    ------
    DataError
        One window has no place that is likelier than impossible, or a number is none.
    """
    if log_probs.isnan().any() or not (log_probs > -float("inf")).any(1).all():
        raise DataError(
            "The model gives no place a probability: its weights are damaged, or far too large; "
            "copy its file again, or train anew."
        )
