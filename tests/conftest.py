"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from .helpers import ROOT, built_book


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def html() -> Path:
    """The built book, when it is there and not older than what it was built from."""
    return built_book()
