"""``pytest --nbmake book``, with or without ``-n``: chapters side by side share the cores."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from colab import TIMEOUT
from threads import fair_share


def pytest_configure(config: pytest.Config) -> None:
    """Give a cell the time that the book gives it, unless the command line says otherwise."""
    words = config.invocation_params.args
    if not any(word.startswith("--nbmake-timeout") for word in words):
        config.option.nbmake_timeout = TIMEOUT


def pytest_runtest_setup() -> None:
    """Set the number of threads before a chapter's kernel starts, which inherits it.

    Not earlier: the process that starts the workers would hand its own share down to them.
    """
    os.environ.update(fair_share())
