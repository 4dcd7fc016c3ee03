"""Where the files lie that come with the package: in the repository, or inside the wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# What is shipped: its folder in the repository, and in the wheel.
FOLDERS = {
    "city": ("data/city", "_city"),
    "checkpoints": ("data/checkpoints", "_checkpoints"),
    "results": ("book/results", "_results"),
}


def folder(name: str) -> Path:
    """The folder of the simulated city, of the small trained models, or of measured results.

    Parameters
    ----------
    name : {"city", "checkpoints", "results"}

    Examples
    --------
    >>> (folder("city") / "visits.csv").is_file()
    True
    """
    in_repository, in_wheel = FOLDERS[name]
    inside = PACKAGE / in_wheel
    return inside if inside.is_dir() else PACKAGE.parent / in_repository
