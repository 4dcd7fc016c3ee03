"""Delta tables: a log says which of their files count, so the files alone are not the table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from pgt.errors import DataError

LOG = "_delta_log"


def require_no_delta(folder: str | Path, is_folder: Callable[[str], bool] = os.path.isdir) -> None:
    """Refuse a folder that is a Delta table, or lies within one.

    Parameters
    ----------
    folder : str or Path
        Its parts are separated by slashes if it is text.
    is_folder : callable, optional
        Whether there is a folder of such a name; of the local files if it is not given.

    Raises
    ------
    DataError
        Its files also hold rows that were removed or replaced.

    Examples
    --------
    >>> require_no_delta("lake/visits/day=1", {"lake/visits/_delta_log"}.__contains__)
    Traceback (most recent call last):
    pgt.errors.DataError: lake/visits is a Delta table, whose files also hold rows that were ...
    """
    inner = PurePosixPath(folder.as_posix() if isinstance(folder, Path) else folder)
    for one in (inner, *inner.parents):
        if is_folder(str(one / LOG)):
            raise DataError(
                f"{one} is a Delta table, whose files also hold rows that were removed or "
                "replaced; write what it holds now as one Parquet file, for example with "
                "deltalake.DeltaTable(...).to_pandas().to_parquet(...), and give that."
            )
