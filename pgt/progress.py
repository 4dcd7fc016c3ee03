"""A bar for what takes longer than two seconds, where somebody looks at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
AFTER = 2.0  # seconds; what ends earlier needs no bar


def bar(items: Iterable[Item], about: str, n: int) -> Iterator[Item]:
    """The (about n) items, one by one, with a bar on stderr; none where that is no terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, about, n, delay=AFTER, leave=False)
