"""Where the book is published: in pyproject.toml, and from there in all that repeats it.

    python book/_ext/address.py https://github.com/OWNER/NAME [https://PAGES/]   # make address

writes another address into every file that holds the present one. Outputs stay; `notebooks.py`,
which comes next, gives the cells that install the package their new names.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from toc import ROOT

GITHUB = re.compile(r"https://github\.com/(?P<owner>[\w-]+)/(?P<name>[\w.-]+)")
# What is not of the repository, whether or not git is there to say so.
ELSEWHERE = {".git", ".venv", "_build", "build", "dist", "node_modules", "scratch", "shared"}


def published(root: Path = ROOT) -> tuple[str, str]:
    """The addresses of the repository and of the pages, neither with a slash at its end."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["urls"]["Homepage"].rstrip("/"), project["urls"]["Documentation"].rstrip("/")


CODE, SITE = published()
ARCHIVE = f"{CODE}/archive/main.zip"  # what the first cell of a chapter installs
FILES = f"{CODE}/blob/main/"  # the files of the repository, to be read


def files(root: Path = ROOT) -> Iterator[Path]:
    """All files of the repository."""
    for folder, inner, names in os.walk(root):
        inner[:] = [
            name for name in inner
            if name not in ELSEWHERE and not name.endswith(("cache", "cache__", ".egg-info"))
        ]  # fmt: skip
        yield from (Path(folder, name) for name in names)


def move(code: str, site: str, root: Path = ROOT) -> list[Path]:
    """Write other addresses into the files under `root`; returns those that changed."""
    old_code, old_site = (address.removeprefix("https://") for address in published(root))
    new_code, new_site = (address.removeprefix("https://").rstrip("/") for address in (code, site))
    # Colab has the owner and the name behind "github/".
    pairs = {old_site: new_site, old_code: new_code,
             old_code.replace(".com", ""): new_code.replace(".com", "")}  # fmt: skip
    there = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, pairs))})(?![\w-])")
    changed = []
    for path in files(root):
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if (moved := there.sub(lambda match: pairs[match[0]], text)) != text:
            path.write_bytes(moved.encode("utf-8"))
            changed.append(path)
    return changed


def main() -> int:
    """Publish elsewhere; return the exit status."""
    parser = argparse.ArgumentParser(description="Write another published address everywhere.")
    parser.add_argument("code", help="https://github.com/OWNER/NAME")
    parser.add_argument("site", nargs="?", help="the pages, unless GitHub shows them")
    options = parser.parse_args()
    given = GITHUB.fullmatch(options.code.rstrip("/").removesuffix(".git"))
    if given is None or not (options.site or "https://").startswith("https://"):
        print("Say where: make address URL=https://github.com/OWNER/NAME, and SITE=https://… if "
              "the pages are not GitHub's. (Colab opens notebooks of GitHub only.)",
              file=sys.stderr)  # fmt: skip
        return 2
    site = options.site or f"https://{given['owner'].lower()}.github.io/{given['name']}"
    changed = move(given[0], site)
    print(f"{len(changed)} files changed. Their chapters run once more in the next `make book`.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
