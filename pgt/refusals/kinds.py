"""Arguments that are another kind of thing."""

from __future__ import annotations

from typing import Any

from pgt.errors import DataError


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
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> try:
    ...     pgt.evaluate(pgt.MostFrequent(), data)
    ... except pgt.DataError as error:
    ...     print(error)
    windows is a PreparedDataset; give windows, such as data.test.
    """
    if not hasattr(value, attribute):
        raise DataError(f"{name} is a {type(value).__name__}; give {meant}.")
