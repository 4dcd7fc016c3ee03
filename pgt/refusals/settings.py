"""Settings that no windows, no model and no training run can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

SHAPE = ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "d_feedforward", "max_len")
COUNTS = ("batch_size", "warmup_epochs", "max_epochs", "patience")
RATES = ("learning_rate", "weight_decay", "eps", "label_smoothing", "clip")
AMP = ("auto", "on", "off")
WHOLE = "a whole number, an int of Python"
SHARE = "from 0 up to, but not including, 1"
MOST = 2**31 - 1
# Generators are seeded with the seed and the number of an epoch, as one number of 64 bits.
MOST_SEED = 2**40


def require_windows(config: Any) -> None:
    """Refuse days and visits beyond all bounds.

    Parameters
    ----------
    config : WindowConfig

    Raises
    ------
    ValueError
        Naming the field and its bound.
    """
    _require(config, ("days", "min_visits"), lambda value: value <= MOST, f"at most {MOST}")


def require_model(config: Any) -> None:
    """Refuse a shape that is no number, and a share of dropout that is none.

    Parameters
    ----------
    config : ModelConfig

    Raises
    ------
    ValueError
        Naming the field and its range.

    Examples
    --------
    >>> import pgt
    >>> try:
    ...     pgt.ModelConfig(n_locations=9, n_users=2, dropout=2)
    ... except ValueError as error:
    ...     print(error)
    dropout=2 must be a number from 0 up to, but not including, 1.
    """
    _require(config, SHAPE, _is_whole, WHOLE)
    _require(config, ("n_heads", "d_feedforward"), lambda value: value >= 1, "at least 1")
    _require(config, SHAPE, lambda value: value <= MOST, f"at most {MOST}")
    _require(config, ("dropout",), _is_share, f"a number {SHARE}")
    named = [name for name in ("without", "features") if hasattr(config, name)]
    _require(config, named, _are_names, "a tuple of names, such as ('user',)")


def require_training(config: Any) -> None:
    """Refuse settings that are no numbers, and such as an optimizer cannot have.

    Parameters
    ----------
    config : TrainConfig

    Raises
    ------
    ValueError
        Naming the field and its range.

    Examples
    --------
    >>> import pgt
    >>> try:
    ...     pgt.TrainConfig(betas=(0.9, 1))
    ... except ValueError as error:
    ...     print(error)
    betas=(0.9, 1) must be two numbers from 0 up to, but not including, 1.
    """
    _require(config, (*COUNTS, "seed"), _is_whole, WHOLE)
    _require(config, RATES, _is_number, "a number")
    not_negative = ("warmup_epochs", "seed", "weight_decay")
    _require(config, not_negative, lambda value: value >= 0, "at least 0")
    _require(config, COUNTS, lambda value: value <= MOST, f"at most {MOST}")
    _require(config, ("seed",), lambda value: value <= MOST_SEED, f"at most {MOST_SEED}")
    _require(config, ("betas",), _are_two_shares, f"two numbers {SHARE}")
    if config.amp not in AMP:
        raise ValueError(f"amp is {config.amp!r}; it must be one of {', '.join(AMP)}.")


def require_whole(name: str, value: Any, least: int) -> None:
    """Refuse an argument that is no whole number, or too small a one.

    Parameters
    ----------
    name : str
        What it is called.
    value : int
    least : int

    Raises
    ------
    ValueError

    Examples
    --------
    >>> require_whole("batch_size", 0, 1)
    Traceback (most recent call last):
    ValueError: batch_size=0 must be a whole number of at least 1.
    """
    if type(value) is not int or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")


def _require(config: Any, names: Iterable[str], fits: Callable[[Any], bool], must: str) -> None:
    for name in names:
        if not fits(value := getattr(config, name)):
            raise ValueError(f"{name}={value!r} must be {must}.")


# Numbers of NumPy are refused: a configuration is written into files, as JSON.
def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    whole = type(value) is int and -MOST <= value <= MOST
    return whole or (isinstance(value, float) and math.isfinite(value))


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1


def _are_two_shares(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_share, value))


def _are_names(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)
