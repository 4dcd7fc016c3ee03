"""Files of training runs that no run can go on from."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from pgt.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor, nn

SETTINGS = ("model", "training", "vocabulary", "windows")
LOSSES = ("train_loss", "valid_loss")
AMOUNTS = ("valid_acc@1", "learning_rate", "seconds")  # at least 0
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW remembers of each parameter
LARGEST = sys.float_info.max


def require_settings_in(name: str, info: Mapping[str, Any]) -> None:
    """Refuse the header of a run whose settings are gone or no table, before they are compared.

    A file without a history is no run, and none of this module's concern.

    Parameters
    ----------
    name : str
        The file's.
    info : mapping
        Its header.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> try:
    ...     require_settings_in("r.run.safetensors", {"training": None})
    ... except pgt.DataError as error:
    ...     print(error)
    r.run.safetensors is damaged (its training settings are no table); remove it, or train with ...
    """
    for key in SETTINGS:
        if "history" in info and key not in info:
            _refuse(name, f"it lacks its {key}")
    if not isinstance(info.get("training", {}), dict):
        _refuse(name, "its training settings are no table")


def require_progress(name: str, info: Mapping[str, Any]) -> None:
    """Refuse a header whose epochs do not agree with each other, or are none.

    Parameters
    ----------
    name : str
        The file's.
    info : mapping
        Its header, whose training settings are those of the run.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> try:
    ...     require_progress("r.run.safetensors", {"training": {"max_epochs": 9}, "epoch": -1})
    ... except pgt.DataError as error:
    ...     print(error)
    r.run.safetensors is damaged (its epoch is no number from 1 to 9); remove it, or train with ...
    """
    training, epoch, rows = info["training"], info.get("epoch"), info.get("history")
    if not _is_whole(epoch, training["max_epochs"]):
        _refuse(name, f"its epoch is no number from 1 to {training['max_epochs']}")
    if not isinstance(rows, list) or len(rows) != epoch:
        _refuse(name, f"its history is no list of {epoch} epochs")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not _is_row(row, number):
            _refuse(name, f"epoch {number} of its history is none")
    scores = [
        row["valid_loss"] if training["monitor"] == "loss" else -row["valid_acc@1"] for row in rows
    ]
    best, score = info.get("best_epoch"), info.get("best_score")
    if not _is_whole(best, epoch):
        _refuse(name, f"its best_epoch is no number from 1 to {epoch}")
    if not _is_number(score) or score != scores[best - 1]:
        _refuse(name, f"its best_score is not that of epoch {best}, its best_epoch")
    if min(scores) < score or score in scores[: best - 1]:
        _refuse(name, f"epoch {best} is its best_epoch, and another one is better or as good")


def require_tensors(
    name: str,
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    names: Sequence[str],
    parameters: Sequence[Tensor],
) -> None:
    """Refuse a run's tensors unless they are all there, of the right shape and type, and numbers.

    Parameters
    ----------
    name : str
        The file's.
    tensors : mapping
        The weights (``model.``), the best ones so far (``best.``), and ``optimizer.``.
    model : Module
        Whose run it is.
    names, parameters : sequences
        Its parameters, and what they are called.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> from torch import nn
    >>> try:
    ...     require_tensors("r.run.safetensors", {}, nn.Linear(2, 1), [], [])
    ... except pgt.DataError as error:
    ...     print(error)
    r.run.safetensors is damaged (it lacks 'model.weight'); remove it, or train with ...
    """
    state = model.state_dict()
    expected = {f"{part}.{key}": own for part in ("model", "best") for key, own in state.items()}
    for moment in MOMENTS:
        expected = expected | {
            f"optimizer.{moment}.{key}": own for key, own in zip(names, parameters, strict=True)
        }
    for key in tensors:
        if key not in expected:
            _refuse(name, f"it has {key!r}, which is nothing of this model")
    for key, own in expected.items():
        if key not in tensors:
            _refuse(name, f"it lacks {key!r}")
        step = key.startswith("optimizer.step.")
        shape, kind = (() if step else tuple(own.shape)), ("torch.float32" if step else own.dtype)
        there = tensors[key]
        if tuple(there.shape) != shape or str(there.dtype) != str(kind):
            _refuse(
                name,
                f"{key!r} is {there.dtype} of shape {tuple(there.shape)}, not {kind} of {shape}",
            )
        if not _can_be(key, there):
            _refuse(name, f"{key!r} holds numbers that no run has")


def _can_be(key: str, value: Tensor) -> bool:
    """Whether a tensor holds what training can have left in it."""
    if key.startswith("optimizer.step."):
        return bool(value >= 1 and value.isfinite())
    if key.startswith("optimizer.exp_avg_sq."):  # squares of large gradients can be infinite
        return bool((value >= 0).all())
    return bool(value.isfinite().all())


def _is_row(row: Mapping[str, Any], number: int) -> bool:
    """Whether this is what an epoch leaves in the history."""
    epoch, norm = row.get("epoch"), row.get("gradient_norm")
    return (
        _is_whole(epoch, number)
        and epoch == number
        and all(_is_number(row.get(key)) for key in LOSSES)
        and all(_is_number(row.get(key)) and row[key] >= 0 for key in AMOUNTS)
        and row["valid_acc@1"] <= 100
        and (norm == math.inf or (_is_number(norm) and norm >= 0))
    )


def _is_whole(value: Any, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_number(value: Any) -> TypeGuard[float]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -LARGEST <= value <= LARGEST


def _refuse(name: str, what: str) -> NoReturn:
    raise DataError(f"{name} is damaged ({what}); remove it, or train with resume=False (--fresh).")
