"""Devices on which nothing is computed."""

from __future__ import annotations

from typing import Any

from pgt.errors import DataError

KINDS = ("cpu", "cuda", "mps")


def require_device(device: Any) -> None:
    """Refuse a device that is none, or that is not here.

    Parameters
    ----------
    device : torch.device, str or int, optional
        As `torch.device` takes it. None, which leaves the choice to others, passes.

    Raises
    ------
    DataError

    Examples
    --------
    >>> require_device("cpu")
    >>> require_device("abacus")
    Traceback (most recent call last):
    pgt.errors.DataError: Nothing is computed on 'abacus'; use cpu or cuda.
    """
    import torch  # it takes a second to load

    if device is None:
        return
    text = f"cuda:{device}" if type(device) is int else str(device)
    kind, colon, number = text.partition(":")
    is_number = number.isascii() and number.isdecimal() and len(number) < 4
    if kind not in KINDS or is_number != bool(colon):
        raise DataError(f"Nothing is computed on {str(device)!r}; use cpu or cuda.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise DataError(f"There is no CUDA device {str(device)!r} here; use cpu.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise DataError("There is no MPS device here; use cpu.")
