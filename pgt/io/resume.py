"""A downloader for pooch that goes on where it stopped."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from tqdm import tqdm

from pgt.errors import DataError
from pgt.files import write_text

# A connection that breaks off takes the chunk that has not arrived whole with it.
CHUNK = 1 << 16
# Answers that may be different in a moment.
BUSY = {408, 425, 429, 500, 502, 503, 504}
BROKEN = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)


class Resume:
    """Download a file in as many requests as it takes, then check it.

    What has arrived lies in ``part``, and beside it, in ``part.json``, how the server described the
    file: address, ETag, date, length. The next request asks for the rest only (``Range``), and
    only of the same file (``If-Range``); where the server has another one by then, or sends
    everything again, the download starts anew. What an interruption leaves behind is therefore
    never wasted and never mixed.

    Parameters
    ----------
    part : path
        Where to collect the bytes.
    check : callable
        Raises `DataError` if the whole file is not what it should be; it is then removed, since
        there is nothing to go on from.
    help : str
        Where else the file could be had, for the message when the address is dead.
    attempts : int
        Give up after so many requests in a row that brought nothing.
    wait : float
        Seconds before the second of these, twice as many before the third, and so on.
    progress : bool
        Show a bar on stdout.

    Notes
    -----
    Range requests: RFC 9110, section 14.
    """

    def __init__(
        self,
        part: Path,
        check: Callable[[Path], None],
        *,
        help: str = "",
        attempts: int = 4,
        wait: float = 2.0,
        progress: bool = False,
    ) -> None:
        self.part, self.note = part, part.with_name(part.name + ".json")
        self.check, self.help = check, help
        self.attempts, self.wait, self.progress = attempts, wait, progress

    def __call__(self, url: str, output_file: str | Path, pooch: Any = None) -> None:
        """Download `url` to `output_file`; pooch calls this."""
        host = urlsplit(url).hostname or url
        best, idle = self._size(), 0
        while True:
            try:
                why = self._request(url)
            except BROKEN as error:
                why = f"the connection to {host} breaks off ({type(error).__name__})"
            except requests.exceptions.RequestException as error:
                raise DataError(f"{url} cannot be fetched ({error}); check the address.") from error
            if why is None:
                break
            idle = 0 if self._size() > best else idle + 1
            best = max(best, self._size())
            if idle >= self.attempts:
                raise DataError(
                    f"The download is not complete: {why}; run the same command again later, "
                    f"it goes on from the {best / 2**20:.1f} MiB that are kept in {self.part}."
                )
            time.sleep(self.wait * idle)
        try:
            self.check(self.part)
        except DataError:
            self._drop()
            raise
        os.replace(self.part, output_file)
        self.note.unlink(missing_ok=True)

    def _request(self, url: str) -> str | None:
        """Ask for what is missing; None if the file is whole, else why it is not."""
        known = self._known()
        if known.get("url") != url:
            self._drop()
            known = {}
        have = self._size()
        headers = {"Accept-Encoding": "identity"}  # the length must be that of the file
        if have:
            headers["Range"] = f"bytes={have}-"
            if same := known.get("etag") or known.get("date"):
                headers["If-Range"] = same
        with requests.get(url, headers=headers, stream=True, timeout=(20, 60)) as answer:
            status = answer.status_code
            described = {"url": url, **_description(answer)}
            if status == 416 and have:
                if described["length"] == have:
                    return None
                self._drop()
                return "the server's file has become shorter"
            if status == 206 and have:
                first = answer.headers.get("Content-Range", "").removeprefix("bytes ")
                if not first.startswith(f"{have}-") or _differ(known, described):
                    self._drop()
                    return "the server's file has changed"
            elif status == 200:
                have = 0
                self._drop()
                self._remember(described)
            elif status in BUSY:
                return f"{url} answers {status} ({answer.reason})"
            else:
                raise DataError(f"{url} answers {status} ({answer.reason}){self.help}.")
            length = described["length"]
            self._require_space(length, have)
            self._append(answer, have, length)
        if length is None or self._size() == length:
            return None
        if self._size() > length:
            self._drop()
            return "the server sends more than it announces"
        return "the connection breaks off"

    def _append(self, answer: requests.Response, have: int, length: int | None) -> None:
        with (
            self.part.open("ab") as file,
            tqdm(
                total=length, initial=have, unit="B", unit_scale=True, file=sys.stdout,
                desc=self.part.name.removesuffix(".part"), disable=not self.progress,
            ) as bar,
        ):  # fmt: skip
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))

    def _require_space(self, length: int | None, have: int) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if length is not None and free < length - have:
            raise DataError(
                f"{self.part.parent} has {free / 2**20:.0f} MiB left, the rest of the file needs "
                f"{(length - have) / 2**20:.0f}; make room, or choose another folder."
            )

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _known(self) -> dict[str, Any]:
        try:
            known = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _remember(self, described: dict[str, Any]) -> None:
        write_text(self.note, json.dumps(described))

    def _drop(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _description(answer: requests.Response) -> dict[str, Any]:
    """What identifies the server's file: a strong ETag, its date, its whole length."""
    head = answer.headers
    etag = head.get("ETag")
    length = head.get("Content-Range", "").partition("/")[2]
    if answer.status_code == 200:
        length = head.get("Content-Length", "")
    return {
        "etag": etag if etag and not etag.startswith("W/") else None,  # a weak one is no promise
        "date": head.get("Last-Modified"),
        "length": int(length) if length.isdecimal() else None,
    }


def _differ(known: dict[str, Any], described: dict[str, Any]) -> bool:
    """Whether two descriptions are of different files; the ETag decides if both have one."""
    for names in (("etag",), ("date", "length")):
        both = [(known.get(name), described[name]) for name in names]
        differs = [one != other for one, other in both if None not in (one, other)]
        if differs:
            return any(differs)
    return False
