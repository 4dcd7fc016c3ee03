"""Settings that no windows, no model and no training run can have."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

SHAPE = ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "d_feedforward", "max_len")
STEPS = ("batch_size", "warmup_epochs", "max_epochs", "patience", "seed")
RATES = ("learning_rate", "weight_decay", "eps", "label_smoothing", "clip")
AMP = ("auto", "on", "off")
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
    _require_at_most(config, MOST, ("days", "min_visits"))


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
    _require_whole(config, SHAPE)
    _require_at_least(config, 1, ("n_heads", "d_feedforward"))
    _require_at_most(config, MOST, SHAPE)
    if not _is_share(config.dropout):
        raise ValueError(f"dropout={config.dropout!r} must be a number {SHARE}.")
    for name in ("without", "features"):
        value = getattr(config, name, ())
        if not (isinstance(value, tuple) and all(isinstance(one, str) for one in value)):
            raise ValueError(f"{name}={value!r} must be a tuple of names, such as ('user',).")


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
    _require_whole(config, STEPS)
    for name in RATES:
        if not _is_number(value := getattr(config, name)):
            raise ValueError(f"{name}={value!r} must be a number.")
    _require_at_least(config, 0, ("warmup_epochs", "seed", "weight_decay"))
    _require_at_most(config, MOST, ("batch_size", "warmup_epochs", "max_epochs", "patience"))
    _require_at_most(config, MOST_SEED, ("seed",))
    two = config.betas
    if not (isinstance(two, tuple) and len(two) == 2 and all(map(_is_share, two))):
        raise ValueError(f"betas={two!r} must be two numbers {SHARE}.")
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


# Numbers of NumPy are refused: a configuration is written into files, as JSON.
def _require_whole(config: Any, names: Iterable[str]) -> None:
    for name in names:
        if type(value := getattr(config, name)) is not int:
            raise ValueError(f"{name}={value!r} must be a whole number, an int of Python.")


def _require_at_least(config: Any, least: int, names: Iterable[str]) -> None:
    for name in names:
        if (value := getattr(config, name)) < least:
            raise ValueError(f"{name}={value!r} must be at least {least}.")


def _require_at_most(config: Any, most: int, names: Iterable[str]) -> None:
    for name in names:
        if (value := getattr(config, name)) > most:
            raise ValueError(f"{name}={value!r} must be at most {most}.")


def _is_number(value: Any) -> bool:
    whole = type(value) is int and -MOST <= value <= MOST
    return whole or (isinstance(value, float) and math.isfinite(value))


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1
