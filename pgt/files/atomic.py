"""Files that are written whole or not at all: a name appears once its content is complete."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ABANDONED = 3600.0  # seconds without a byte, after which a half-written file is nobody's


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Give another name to write under, of the same folder, and move what is there to `path`.

    When the block raises, what it wrote goes away, and what was at `path` stays. Every call has a
    name of its own, so that two writers at once cannot mix. What a killed writer left behind goes
    away with the next write to the same path, an hour later or more.

    Parameters
    ----------
    path : path
        Its folder is made if there is none.

    Yields
    ------
    Path
        The name to write under.

    Raises
    ------
    OSError
        When the disk is full or the folder cannot be written to; the message says which file, and
        that the old one is as before.

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
    if not path.name or path.is_dir():
        raise _refused(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    half = _other_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield half
        with open(half, "rb") as handle:
            os.fsync(handle.fileno())
        _sweep(path, half)
        os.replace(half, path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        with suppress(OSError):  # what cannot be there need not go away
            half.unlink()


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """As `whole`, for a folder of files; what else is in a folder that is there stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as above:
    ...     with whole_folder(f"{above}/new") as half:
    ...         _ = (half / "a.txt").write_text("all of it")
    ...     [file.name for file in Path(f"{above}/new").iterdir()]
    ['a.txt']
    """
    path = Path(path) if Path(path).name else Path(path).resolve()
    half = _other_name(path)
    try:
        half.mkdir(parents=True)
        yield half
        _sweep(path, half)
        if path.exists():
            for file in sorted(half.iterdir()):
                os.replace(file, path / file.name)
        else:
            os.replace(half, path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _other_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _sweep(path: Path, half: Path) -> None:
    """Remove what writers of the same path left that were killed: by the clock of its disk."""
    now = half.stat().st_mtime
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        try:
            if left != half and now - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except OSError:  # another writer was quicker
            continue


def _refused(path: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    return OSError(
        error.errno or errno.EIO,
        f"{path} could not be written ({reason}); what was there before is as it was. Make room, "
        "or write to another folder.",
    )


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, whole or not at all; returns the path."""
    with whole(path) as half:
        half.write_text(text, encoding="utf-8")
    return Path(path)
