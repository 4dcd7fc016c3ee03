"""Settings that no model and no training run can have, whatever else is asked of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

SHAPE = ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "d_feedforward", "max_len")
STEPS = ("batch_size", "warmup_epochs", "max_epochs", "patience", "seed")
RATES = ("learning_rate", "weight_decay", "eps", "label_smoothing", "clip")
AMP = ("auto", "on", "off")
SHARE = "from 0 up to, but not including, 1"


def require_model_settings(config: Any) -> None:
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
    if not _is_share(config.dropout):
        raise ValueError(f"dropout={config.dropout!r} must be a number {SHARE}.")
    for name in ("without", "features"):
        value = getattr(config, name, ())
        if not isinstance(value, tuple):
            raise ValueError(f"{name}={value!r} must be a tuple of names, such as ('user',).")


def require_training_settings(config: Any) -> None:
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
    two = config.betas
    if not (isinstance(two, tuple) and len(two) == 2 and all(map(_is_share, two))):
        raise ValueError(f"betas={two!r} must be two numbers {SHARE}.")
    if config.amp not in AMP:
        raise ValueError(f"amp is {config.amp!r}; it must be one of {', '.join(AMP)}.")


def _require_whole(config: Any, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name}={value!r} must be a whole number.")


def _require_at_least(config: Any, least: int, names: Iterable[str]) -> None:
    for name in names:
        if (value := getattr(config, name)) < least:
            raise ValueError(f"{name}={value!r} must be at least {least}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1
