"""Arguments that are another kind of thing."""

from __future__ import annotations

from typing import Any

from pgt.errors import DataError

DEVICES = ("cpu", "cuda", "mps")


def require_has(name: str, value: Any, attribute: str, meant: str) -> None:
    """Refuse an argument that lacks what its kind has.

    Parameters
    ----------
    name : str
        What it is called.
    value : object
    attribute : str
        What every such thing has.
    meant : str
        What to give instead.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(wherenext.city.load().visits)
    >>> try:
    ...     pgt.evaluate(pgt.MostFrequent(), data)
    ... except pgt.DataError as error:
    ...     print(error)
    windows is a PreparedDataset; give windows, such as data.test.
    """
    if not hasattr(value, attribute):
        raise DataError(f"{name} is a {type(value).__name__}; give {meant}.")


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
    if kind not in DEVICES or is_number != bool(colon):
        raise DataError(f"Nothing is computed on {str(device)!r}; use cpu or cuda.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise DataError(f"There is no CUDA device {str(device)!r} here; use cpu.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise DataError("There is no MPS device here; use cpu.")
