"""Links of the built book: those within it are checked offline, those to elsewhere on demand.

python book/_ext/links.py              # every link within _build/html leads somewhere
python book/_ext/links.py --external   # the addresses elsewhere, too; needs the network
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
# Attributes that name another file, or a place in one.
NAMING = {"href", "src", "xlink:href", "poster"}
# Their servers refuse programs, or want a person to sign in; a browser opens them.
CLOSED = ("https://colab.research.google.com/", "https://github.com/where-next-book/")
PATIENCE = 20  # seconds


class Page(HTMLParser):
    """The ids on a page, and whatever addresses it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.names: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the ids, the addresses, and those within a frame."""
        for key, value in attrs:
            if not value:
                continue
            if key == "id" or (tag == "a" and key == "name"):
                self.ids.add(value)
            elif key in NAMING:
                self.names.append(value)
            elif key == "srcdoc":  # its addresses count from the page around it
                frame = Page(value)
                self.names += [name for name in frame.names if not name.startswith("#")]


def is_external(address: str) -> bool:
    """Whether an address is not part of the book.

    Examples
    --------
    >>> is_external("https://example.org"), is_external("a.html#b"), is_external("data:,")
    (True, False, True)
    """
    return bool(urlsplit(address).scheme) or address.startswith("//")


def read(folder: Path) -> dict[Path, Page]:
    """All pages below `folder`, by their file."""
    return {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.relative_to(folder).parts
    }


def broken(folder: Path) -> Iterator[str]:
    """One sentence for every link within the book that leads nowhere."""
    pages = read(folder)
    top = folder.resolve()
    for path, page in pages.items():
        shown = path.relative_to(top).as_posix()
        for address in dict.fromkeys(page.names):
            if is_external(address) or address == "#":
                continue
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_relative_to(top):
                yield f"{shown} links to {address}, outside the book."
            elif not target.is_file():
                yield f"{shown} links to {address}, which does not exist."
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{shown} links to {address}, but there is no such place on that page."


def external(folder: Path) -> dict[str, list[str]]:
    """The addresses elsewhere, each with the pages that name it, without their anchors."""
    found: dict[str, list[str]] = {}
    for path, page in read(folder).items():
        for address in page.names:
            if address.startswith(("https://", "http://")):
                bare = address.partition("#")[0]
                found.setdefault(bare, []).append(path.name)
    return {address: sorted(set(names)) for address, names in sorted(found.items())}


def answer(address: str) -> str:
    """Return what is wrong with an address elsewhere, or nothing."""
    import requests

    headers = {"User-Agent": "Mozilla/5.0 (link check of the book Where Next?)"}
    try:
        for method in ("HEAD", "GET"):
            reply = requests.request(
                method,
                address,
                headers=headers,
                timeout=PATIENCE,
                allow_redirects=True,
                stream=True,
            )
            reply.close()
            # Publishers answer 403 or 429 to programs, yet know the address.
            if reply.ok or reply.status_code in {401, 403, 429}:
                return ""
    except requests.RequestException as error:
        return type(error).__name__
    return f"answers {reply.status_code}"


def main() -> int:
    """Check, and return the exit status."""
    parser = argparse.ArgumentParser(description="Check the links of the built book.")
    parser.add_argument("--external", action="store_true", help="ask other servers, too")
    parser.add_argument("--list", action="store_true", help="only list the addresses elsewhere")
    parser.add_argument("--html", type=Path, default=HTML)
    arguments = parser.parse_args()
    if not arguments.html.exists():
        print("There is no built book: run `make book`.", file=sys.stderr)
        return 1
    elsewhere = external(arguments.html)
    if arguments.list:
        print("\n".join(elsewhere))
        return 0
    problems = list(broken(arguments.html))
    if arguments.external:
        asked = [address for address in elsewhere if not address.startswith(CLOSED)]
        with ThreadPoolExecutor(8) as pool:
            for address, wrong in zip(asked, pool.map(answer, asked), strict=True):
                if wrong:
                    problems.append(f"{address} {wrong} ({', '.join(elsewhere[address])})")
        print(f"{len(asked)} addresses elsewhere were asked.")
    print("\n".join(problems) or "Every link leads somewhere.")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
