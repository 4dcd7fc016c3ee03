"""Files that are written whole or not at all: a name appears once its content is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Give another name to write under, of the same folder, and move what is there to `path`.

    When the block raises, what it wrote goes away, and what was at `path` stays. Every call has a
    name of its own, so that two writers at once cannot mix.

    Parameters
    ----------
    path : path
        Its folder is made if there is none.

    Yields
    ------
    Path
        The name to write under.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(f"{folder}/new/a.txt") as half:
    ...         _ = half.write_text("all of it")
    ...     Path(f"{folder}/new/a.txt").read_text()
    'all of it'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield half
        with open(half, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, whole or not at all; returns the path."""
    with whole(path) as half:
        half.write_text(text, encoding="utf-8")
    return Path(path)
