"""What is wrong with an input, and what looks wrong: an error and a note."""

from __future__ import annotations


class DataError(ValueError):
    """The input cannot be used as it is; the message says what, where, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> import pgt
    >>> try:
    ...     pgt.prepare(pd.DataFrame({"user_id": [1], "location_id": ["home"]}))
    ... except pgt.DataError as error:
    ...     print(error)
    Column 'started_at' is missing (the table has user_id, location_id); rename your columns ...
    """


class DataNote(UserWarning):
    """What is allowed in the input but looks like a mistake; see `pgt.doubts.visits`.

    Nothing is changed. ``warnings.simplefilter("error", pgt.errors.DataNote)`` makes notes errors.
    """
