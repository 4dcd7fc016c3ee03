"""What a reader's device must fetch for each page of the built book.

    python book/_ext/weight.py    # a table, heaviest page first

Counted are the page itself and all scripts, styles and pictures that it names: as the files are, and
as a server sends them (text compressed with gzip, as GitHub Pages does). Fonts and parts of MathJax
that a page may load later are the same for all and stay out.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from links import HTML, is_external, read

TEXT = {".html", ".js", ".css", ".svg", ".json", ".txt"}
# Bytes: of the page's own HTML, and of all that is sent for it.
OWN_BUDGET = 3_000_000
SENT_BUDGET = 2_000_000


class Weight(NamedTuple):
    """Bytes of a page: its own HTML, all its files, all its files as they are sent."""

    own: int
    files: int
    sent: int


@cache
def sent(path: Path) -> int:
    """Bytes that a server sends for a file."""
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in TEXT else len(data)


def weigh(folder: Path) -> dict[str, Weight]:
    """The weight of every page below `folder`, by its name."""
    top = folder.resolve()
    weights = {}
    for path, page in read(folder).items():
        files = {path}
        for address in page.names:
            if is_external(address):
                continue
            file = (path.parent / unquote(urlsplit(address).path)).resolve()
            if file.suffix not in {".html", ".ipynb", ".pdf", ".md"} and file.is_file():
                files.add(file)
        weights[path.relative_to(top).as_posix()] = Weight(
            path.stat().st_size,
            sum(file.stat().st_size for file in files),
            sum(map(sent, files)),
        )
    return weights


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description="Weigh the pages of the built book.")
    parser.add_argument("--html", type=Path, default=HTML)
    weights = weigh(parser.parse_args().html)
    print(f"{'own kB':>8} {'all kB':>8} {'sent kB':>8}  page")
    for name, it in sorted(weights.items(), key=lambda item: -item[1].sent):
        heavy = "  too heavy" if it.own > OWN_BUDGET or it.sent > SENT_BUDGET else ""
        print(f"{it.own / 1e3:8.0f} {it.files / 1e3:8.0f} {it.sent / 1e3:8.0f}  {name}{heavy}")
    return int(any(it.own > OWN_BUDGET or it.sent > SENT_BUDGET for it in weights.values()))


if __name__ == "__main__":
    sys.exit(main())
