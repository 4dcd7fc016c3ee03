"""Recordings in a flat folder: many people, or the days of one? Their times tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pgt.io.times import moments, neat

# So many files tell something of whom they belong to, and so many of them may overlap another
# (a watch and a telephone both record) when they are one person's.
FEWEST = 5
SHARE = 0.2
# A receiver that has just been switched on may have a wrong clock: of a file's times so many are
# left out at either end.
ENDS = 20  # one in so many
POINT = re.compile(rb"<(?:\w+:)?trkpt\b")
TIME = re.compile(rb"<(?:\w+:)?time>\s*([^<]{1,40}?)\s*</")


def one_after_another(starts: np.ndarray, ends: np.ndarray) -> bool:
    """Whether recordings follow each other, as those of one person do.

    Parameters
    ----------
    starts, ends : ndarray
        (n,) Numbers or times, in any order.

    Returns
    -------
    bool
        There are `FEWEST` or more, and of them no larger share than `SHARE` overlaps another one.

    Examples
    --------
    >>> day = np.arange(6)
    >>> one_after_another(day, day + 0.5), one_after_another(day, day + 30)
    (True, False)
    """
    if len(starts) < FEWEST:
        return False
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    after = starts[1:] < np.maximum.accumulate(ends)[:-1]
    before = ends[:-1] > starts[1:]
    overlaps = np.r_[False, after] | np.r_[before, False]
    return bool(overlaps.mean() <= SHARE)


def doubt(files: Sequence[Path]) -> list[str]:
    """A note on GPX files of a folder that are a person each, if they look like one person's days.

    Parameters
    ----------
    files : sequence of Path
        Those that lie right in the folder.

    Returns
    -------
    list of str
        One sentence, or none. Files without times, and those that cannot be read, tell nothing.
    """
    if len(files) < FEWEST:
        return []
    texts = pd.Series([text for file in files for text in _first_and_last(file)], dtype="string")
    times = moments(neat(texts)).dt.tz_localize(None).to_numpy().reshape(-1, 2)
    times = np.sort(times[~np.isnat(times).any(axis=1)], axis=1)
    if not one_after_another(times[:, 0], times[:, 1]):
        return []
    return [
        f"the {len(files)} GPX files of {files[0].parent.name} ({files[0].name}, …) are read as "
        f"{len(files)} people, but hardly two were recorded at the same time, so they look like "
        "one person's: if they are, say person='me' (--person me), if not, nothing is to be done."
    ]


def _first_and_last(file: Path) -> list[str]:
    """A file's first and last time, as they are written; nothing where there is none."""
    try:
        content = file.read_bytes()
    except OSError:
        return []
    begin = POINT.search(content)
    times = TIME.findall(content, begin.start()) if begin else []
    if not times:
        return []
    spare = len(times) // ENDS
    return [times[at].decode("ascii", "replace") for at in (spare, len(times) - 1 - spare)]
