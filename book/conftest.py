"""``pytest --nbmake book``, with or without ``-n``, runs the chapters as the book does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from colab import THREADS, TIMEOUT

os.environ.setdefault(THREADS, "1")  # the kernels inherit it


def pytest_configure(config: pytest.Config) -> None:
    """Give a cell the time that the book gives it, unless the command line says otherwise."""
    words = config.invocation_params.args
    if not any(word.startswith("--nbmake-timeout") for word in words):
        config.option.nbmake_timeout = TIMEOUT
