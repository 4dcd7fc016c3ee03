"""What is wrong with an input, and what looks wrong: an error and a note."""

from __future__ import annotations

import warnings


class DataError(ValueError):
    """The input cannot be used as it is; the message says what, where, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> import pgt
    >>> try:
    ...     pgt.prepare(pd.DataFrame())
    ... except pgt.DataError as error:
    ...     print(error)
    Column 'user_id' is missing (the table has no columns); rename your columns ...
    """


class DataNote(UserWarning):
    """What is allowed in the input but looks like a mistake, or was kept out and counted."""


def note(text: str, stacklevel: int = 3) -> None:
    """Tell the user one sentence about the data; nothing is changed by it."""
    warnings.warn(text, DataNote, stacklevel=stacklevel)
