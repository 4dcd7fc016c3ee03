"""Download GeoLife from its official address, verified, and never twice."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pooch

from pgt.errors import DataError
from pgt.files import write_text
from pgt.io.archive import members, open_zip, read_member
from pgt.io.fixes_geolife import MEMBER
from pgt.io.resume import Resume

PAGE = "https://www.microsoft.com/en-us/download/details.aspx?id=52367"
URL = (
    "https://download.microsoft.com/download/F/4/8/F4894AA5-FDBC-481E-9285-D5F8C4C4F039/"
    "Geolife%20Trajectories%201.3.zip"
)
NAME = "Geolife Trajectories 1.3.zip"
# .plt files in version 1.3, of 182 people.
N_TRAJECTORIES = 18_670
LICENCE = f"""GeoLife GPS Trajectories 1.3, Microsoft Research Asia: tracks of real people, 300 MB.
Its terms are the Microsoft Research License Agreement: for non-commercial use, such as research.
They stand in the archive (at the end of "User Guide-1.3.pdf", with the papers to cite), and at
{PAGE}"""


def download_geolife(
    folder: str | Path,
    *,
    accept_licence: bool = False,
    url: str = URL,
    known_hash: str | None = None,
    n_trajectories: int | None = N_TRAJECTORIES,
    progress: bool = False,
    attempts: int = 4,
    wait: float = 2.0,
) -> Path:
    """Download the GeoLife archive, or find it already there, and verify it.

    An interrupted download goes on where it stopped when called again. `pgt.io.fixes.read_fixes`
    reads the archive as it is; nothing is unpacked.

    Microsoft publishes no checksum. So the first download is verified by its length, by the
    checksums inside the archive and by counting its trajectories; its SHA-256 is then written
    beside it (``.sha256``), and from then on the archive, or another download of it, must have
    that one (trust on first use). With `known_hash` there is nothing to trust.

    Parameters
    ----------
    folder : path
        Where the archive is, or will be, kept.
    accept_licence : bool
        Say that you have read the terms, which are printed, and accept them.
    url : str
        The archive's address.
    known_hash : str, optional
        The SHA-256 that the archive must have.
    n_trajectories : int, optional
        The number of .plt files it must hold; None for any number but zero. An archive with
        another number is kept, but not recorded as verified.
    progress : bool
        Show a bar on stdout.
    attempts, wait : int, float
        As in `pgt.io.resume.Resume`.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    DataError
        If the terms are not accepted, the address does not answer as it should (what has arrived
        is kept), or the file is no archive of trajectories (it is removed).
    """
    path = Path(folder) / NAME
    record = path.with_name(NAME + ".sha256")
    trusted = _hex(known_hash) if known_hash else _read_record(record)

    def check(file: Path) -> None:
        _check_archive(file, whole=trusted is None)

    if path.exists():
        found = pooch.file_hash(str(path))
        if trusted and found != trusted:
            raise DataError(
                f"{path} has the SHA-256 {found}, not {trusted}"
                f"{'' if known_hash else f' as recorded in {record.name}'}: it has changed; "
                "delete it and download it again."
            )
        check(path)
    else:
        print(LICENCE)
        if not accept_licence:
            raise DataError(
                "The terms are not accepted, so nothing was downloaded; read them, then say "
                "accept_licence=True (--accept-licence)."
            )
        found = _fetch(url, path, trusted, record, Resume(
            path.with_name(NAME + ".part"), check, attempts=attempts, wait=wait,
            progress=progress, help=f"; look for the archive at {PAGE} and give its address with "
            "url= (--url)",
        ))  # fmt: skip
    _check_number(path, n_trajectories)
    if trusted is None:
        write_text(record, f"{found}  {NAME}\n")
        print(
            f"No checksum is published for this archive; its SHA-256 is now recorded in {record} "
            f"and will be asked of it from now on (trust on first use): {found}"
        )
    return path


def _fetch(url: str, path: Path, trusted: str | None, record: Path, downloader: Resume) -> str:
    """Download to `path`; return the SHA-256."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _quiet():
            pooch.retrieve(
                url, known_hash=trusted, fname=path.name, path=str(path.parent),
                downloader=downloader,
            )  # fmt: skip
    except DataError:
        raise
    except ValueError as error:  # pooch has compared the hashes, and removed the file
        remedy = "check known_hash"
        if record.exists():
            remedy = f"if Microsoft has published a new version, delete {record}"
        raise DataError(
            f"What {url} sends has not the SHA-256 {trusted}, so it was removed; {remedy}, "
            "or try again over another connection."
        ) from error
    except KeyboardInterrupt:
        kept = f"{downloader.part} is kept, the same command goes on from it"
        raise KeyboardInterrupt(kept) from None
    return str(pooch.file_hash(str(path)))


def _check_archive(path: Path, whole: bool) -> None:
    """See that a file is an archive of trajectories; `whole` reads it all, for every checksum."""
    with open_zip(path) as archive:
        infos = _trajectories(archive)
        if not infos:
            raise DataError(
                f"{path} holds no trajectories (<person>/Trajectory/*.plt), so it is not GeoLife; "
                "check the address."
            )
        for info in infos if whole else ():
            read_member(archive, info)


def _check_number(path: Path, n_trajectories: int | None) -> None:
    """See that nothing is missing; what is there may still be what somebody wants."""
    with open_zip(path) as archive:
        n = len(_trajectories(archive))
    if n_trajectories is not None and n != n_trajectories:
        raise DataError(
            f"{path} holds {n:,} trajectories, not {n_trajectories:,}, so it is not GeoLife 1.3; "
            "it is kept and can be read, delete it if it is the wrong file."
        )


def _trajectories(archive: ZipFile) -> list[ZipInfo]:
    return [info for info in members(archive) if MEMBER.fullmatch(info.filename)]


def _hex(text: str) -> str:
    digits = text.removeprefix("sha256:").strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise DataError(f"known_hash is {text!r}, which is no SHA-256 (64 hexadecimal digits).")
    return digits


def _read_record(record: Path) -> str | None:
    if not record.exists():
        return None
    try:
        return _hex(record.read_text(encoding="utf-8").split(maxsplit=1)[0])
    except (ValueError, IndexError) as error:
        raise DataError(
            f"{record} holds no SHA-256; delete it, and the archive is recorded again."
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pooch from telling the hash on stderr, which this module does itself."""
    logger = pooch.get_logger()
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
