"""Zip archives from elsewhere: their members are checked before anything is read."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path

from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason

# GeoLife's largest member has a few megabytes; a member that claims far more is a trap.
LARGEST = 512 * 2**20
# What one person's members may unpack to, since they are in memory together, and all members.
PERSON = 2 * 2**30
WHOLE = 64 * 2**30


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open an archive, or say that it is none."""
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}; check the path.") from None
    except UNREADABLE as error:
        raise DataError(
            f"{path} is no complete zip archive ({reason(error)}); delete it and download it again."
        ) from error


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """List the files in an archive, or refuse the whole archive.

    No member may lead out of the folder it is unpacked into (an absolute path, a drive, ``..``, a
    link), come twice, be encrypted, or claim an absurd size. One such member is reason enough not
    to trust the others. Nor may all of them together unpack to more than `WHOLE`.

    Raises
    ------
    DataError
        Names the archive and the member.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        # ``filename`` ends at a null byte and has the system's separators turned into slashes.
        name = info.orig_filename.replace("\\", "/")
        wrong = None
        if name.startswith("/") or name[1:2] == ":":
            wrong = "has an absolute path"
        elif ".." in name.split("/") or "\0" in name:
            wrong = "leads out of its folder"
        elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            wrong = "is a link or a device"
        elif info.flag_bits & 1:
            wrong = "is encrypted"
        elif info.file_size > LARGEST:
            wrong = f"would unpack to {info.file_size / 2**20:,.0f} MiB"
        elif name in found:
            wrong = "stands in it twice"
        if wrong:
            raise DataError(
                f"{archive.filename} is not safe to read: its member {info.orig_filename!r} "
                f"{wrong}; delete it and download it again from the official address."
            )
        found[name] = info
    require_budget(archive, "its members", found.values(), WHOLE)
    return [info for info in found.values() if not info.is_dir()]


def require_budget(
    archive: zipfile.ZipFile, whose: str, infos: Iterable[zipfile.ZipInfo], budget: int
) -> None:
    """Refuse members that would together unpack to more bytes than a budget.

    Members are never longer than they claim: what is beyond the claim is not read.
    """
    size = sum(info.file_size for info in infos)
    if size > budget:
        raise DataError(
            f"{archive.filename} is not safe to read: {whose} would unpack to "
            f"{size / 2**20:,.0f} MiB, and {budget / 2**20:,.0f} are allowed; if you trust it, "
            "unpack it yourself and give the folder."
        )


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read one member whole; its checksum is verified."""
    try:
        return archive.read(info)
    except UNREADABLE as error:
        raise DataError(
            f"{info.filename} in {archive.filename} is damaged ({reason(error)}); delete the "
            "archive and download it again."
        ) from error
