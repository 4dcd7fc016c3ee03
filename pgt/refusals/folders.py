"""Folders of prepared windows that are not as they were written."""

from __future__ import annotations

from typing import Any

from pgt.errors import DataError

SPLITS = ("train", "valid", "test")
# How far each feature goes, in the order of `pgt.windows.FEATURES`; of places and people
# the vocabulary knows it, and days begin long before 1970.
MOST = {"time": 96, "weekday": 7, "duration": 100, "start_minute": 1439, "end_minute": 1439}

# Of the features, of where windows begin and what they ask for, and of what is inside.
KINDS = (("int32", "int32", "int32", "bool"), ("int32", "int64", "int64", "bool"))


def require_manifest(name: str, raw: Any) -> None:
    """Refuse what does not say which buckets there are.

    Parameters
    ----------
    name : str
        What to call the file.
    raw : object
        What stands in it.

    Raises
    ------
    DataError

    Examples
    --------
    >>> require_manifest("b/buckets.json", [1])
    Traceback (most recent call last):
    pgt.errors.DataError: b/buckets.json is damaged (it is no table of buckets); remove the ...
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("made_from"), dict):
        _refuse(name, "it is no table of buckets")
    if "n_buckets" in raw and (not _is_count(raw["n_buckets"]) or raw["n_buckets"] == 0):
        _refuse(name, "it has no number of buckets")
    there = raw.get("visits", {})
    if not (isinstance(there, dict) and all(map(_is_count, there.values()))
            and all(number.isascii() and number.isdecimal() for number in there)):  # fmt: skip
        _refuse(name, "its buckets are no numbers")


def require_prepared(name: str, raw: Any) -> None:
    """Refuse what does not say how a folder was prepared; arguments as of `require_manifest`.

    Raises
    ------
    DataError

    Examples
    --------
    >>> require_prepared("b/prepared.json", {"windows": {}, "vocabulary": "a9"})
    """
    if not (isinstance(raw, dict) and isinstance(raw.get("windows"), dict)
            and isinstance(raw.get("vocabulary"), str)):  # fmt: skip
        _refuse(name, "it does not say how the windows were made")


def require_done(name: str, raw: Any) -> None:
    """Refuse what does not say what a bucket holds; arguments as of `require_manifest`.

    Raises
    ------
    DataError

    Examples
    --------
    >>> require_done("done.json", {"about": {}, "counts": {"train": 9, "valid": 0, "test": 1}})
    """
    counts = raw.get("counts") if isinstance(raw, dict) else None
    if not (isinstance(counts, dict) and isinstance(raw.get("about"), dict)
            and all(_is_count(counts.get(split)) for split in SPLITS)):  # fmt: skip
        _refuse(name, "it does not say what the bucket holds")


def require_arrays(
    name: str, n_visits: int, features: Any, first: Any, target: Any, inside: Any
) -> None:
    """Refuse arrays that are no windows.

    Parameters
    ----------
    name : str
        What to call them.
    n_visits : int
        N, of which these are the windows.
    features : ndarray
        (9, N + 1) int32; column 0 is padding.
    first, target : ndarray
        (W,) int32; where windows begin, and the visits that they ask for.
    inside : ndarray
        (W,) bool.

    Raises
    ------
    DataError
    """
    kinds = tuple(str(one.dtype) for one in (features, first, target, inside))
    if kinds not in KINDS:
        _refuse(name, f"the kinds of its arrays are {kinds}")
    if not (features.shape == (9, n_visits + 1)
            and first.ndim == 1 and first.shape == target.shape == inside.shape):  # fmt: skip
        _refuse(name, "its arrays do not belong together")
    if not ((first >= 0).all() and (first < target).all() and (target < n_visits).all()):
        _refuse(name, "its windows lie outside of its visits")


def require_features(name: str, features: Any, n_locations: int, n_users: int) -> None:
    """Refuse visits that no vocabulary, day or week has.

    Parameters
    ----------
    name : str
        What to call them.
    features : ndarray
        (9, N + 1) int32.
    n_locations, n_users : int
        Of the vocabulary.

    Raises
    ------
    DataError
    """
    most = (n_locations - 1, n_users - 1, *MOST.values())
    for row, limit in zip(features, most, strict=False):
        if row.min() < 0 or row.max() > limit:
            _refuse(name, "its visits are at places or times that are none")
    if features[:, 0].any():
        _refuse(name, "its padding is not empty")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse(name: str, what: str) -> None:
    raise DataError(f"{name} is damaged ({what}); remove the folder, and prepare the visits anew.")
