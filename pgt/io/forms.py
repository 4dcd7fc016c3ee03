"""The form of a file of rows, told by its content: Parquet or text, packed, encoded, separated."""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason

TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")  # in a folder
TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
SEPARATORS = ",;\t|"
SAMPLE = 1 << 16  # bytes that are looked at
GZIP = b"\x1f\x8b"
# How files begin that are often named like a table, and what to do with them.
OTHERS = (
    (b"PK\x03\x04", "a zip archive (so is .xlsx)", "unpack it, or save the sheet as CSV"),
    (b"\xfd7zXZ\x00", "packed with xz", "unpack it with xz -d"),
    (b"BZh", "packed with bzip2", "unpack it with bunzip2"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it with zstd -d"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save the sheet as CSV"),
    (b"SQLite format 3", "an SQLite data base (so is .gpkg)", "export the table as CSV"),
    (b"\x89HDF", "HDF5", "write the table as Parquet"),
    (b"ARROW1", "Arrow or Feather", "write the table as Parquet"),
    (b"<!DOCTYPE", "a page of the web", "download the file itself"),
    (b"<html", "a page of the web", "download the file itself"),
    (b"<?xml", "XML", "write the table as CSV"),
    (b"{", "JSON", "write the table as CSV"),
    (b"[", "JSON", "write the table as CSV"),
)
BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


@dataclass(frozen=True)
class Form:
    """How the rows of a file are written.

    Attributes
    ----------
    kind : {"parquet", "csv"}
    packed : bool
        With gzip, whatever the file's name says.
    encoding : str
        As Python calls it.
    separator : str
        Between the fields of a line.
    """

    kind: Literal["parquet", "csv"]
    packed: bool = False
    encoding: str = "utf-8"
    separator: str = ","

    def options(self) -> dict[str, Any]:
        """What `pandas.read_csv` needs to know of it."""
        return {
            "sep": self.separator,
            "encoding": self.encoding,
            "compression": "gzip" if self.packed else None,
        }

    def open(self, path: Path) -> BinaryIO:
        """The file's bytes, unpacked."""
        return cast(BinaryIO, gzip.open(path)) if self.packed else open(path, "rb")


def is_table(path: str | Path) -> bool:
    """Whether a file's name says that it holds a table.

    Examples
    --------
    >>> is_table("a.tsv"), is_table("a.CSV.GZ"), is_table("a.gpx")
    (True, True, False)
    """
    return str(path).lower().endswith((*TEXTS, ".parquet"))


def tables_of(path: Path) -> list[Path]:
    """The tables at a path; none where there is something else.

    Examples
    --------
    >>> tables_of(Path("fixes.csv")), tables_of(Path("track.gpx"))
    ([PosixPath('fixes.csv')], [])
    """
    if path.is_dir():  # where a text that is no table often lies beside tracks
        return [file for file in visible(path.iterdir()) if file.name.lower().endswith(TABLES)]
    return [path] if is_table(path) else []


def visible(paths: Iterable[Path]) -> list[Path]:
    """Files, without the hidden ones that some systems put beside the true ones."""
    return sorted(path for path in paths if not path.name.startswith(".") and path.is_file())


def form_of(path: Path) -> Form:
    """Look at a file's first bytes and its header line.

    Parameters
    ----------
    path : Path
        Of a file that is there.

    Raises
    ------
    DataError
        The file is something else, which the message names with the remedy, or it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "visits.txt"
    ...     _ = path.write_text("user_id;location_id\\n1;2\\n", encoding="utf-16")
    ...     form_of(path)
    Form(kind='csv', packed=False, encoding='utf-16', separator=';')
    """
    with readable(path, "csv"):
        with open(path, "rb") as handle:
            start = handle.read(16)
        if start.startswith(b"PAR1") or (path.suffix.lower() == ".parquet" and start):
            return Form("parquet")
        packed = start.startswith(GZIP)
        with Form("csv", packed).open(path) as handle:
            sample = handle.read(SAMPLE)
    for magic, what, remedy in OTHERS:
        if sample.lstrip(b" \r\n\t").lower().startswith(magic.lower()):
            raise DataError(f"{path.name} is {what}, not a table in CSV or Parquet; {remedy}.")
    if sample.startswith(b"PAR1"):
        raise DataError(f"{path.name} is Parquet packed with gzip; unpack it with gunzip.")
    encoding = next((name for bom, name in BOMS if sample.startswith(bom)), "utf-8")
    if encoding == "utf-8" and sample[:400].count(0) * 3 > len(sample[:400]) > 1:
        raise DataError(
            f"{path.name} looks like UTF-16 without its mark; save it as UTF-8, for example with "
            "iconv -f UTF-16LE -t UTF-8."
        )
    text = sample.decode(encoding, "replace")
    lines = (line for line in text.splitlines() if line.strip())
    return Form("csv", packed, encoding, _separator(next(lines, "")))


def _separator(header: str) -> str:
    """What separates the names of a header line; a comma wins where it is as frequent."""
    bare = "".join(header.split('"')[::2])  # without what stands between quotes
    return max(SEPARATORS, key=lambda one: (bare.count(one), -SEPARATORS.index(one)))


def header_of(path: Path, form: Form) -> list[str]:
    """The names in the first line of a text; an empty list where there is none.

    Raises
    ------
    DataError
        It cannot be read.
    """
    with readable(path, form.kind, form), form.open(path) as handle:
        lines = codecs.getreader(form.encoding)(handle)
        return next(csv.reader(lines, delimiter=form.separator), [])


@contextmanager
def readable(path: Path, kind: str, form: Form | None = None) -> Iterator[None]:
    """Refuse, in one sentence, a file that its reader does not understand."""
    try:
        yield
    except DataError:
        raise
    except UNREADABLE as error:
        must = "Parquet" if kind == "parquet" else "a CSV in UTF-8 with a header line"
        if kind == "csv" and (line := _not_utf8(path, form)):
            raise DataError(
                f"{path.name} cannot be read (line {line[0]} is not UTF-8: {line[1]!r}); save it "
                "as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8."
            ) from error
        raise DataError(
            f"{path.name} cannot be read ({reason(error)}); it must be {must}."
        ) from error


def _not_utf8(path: Path, form: Form | None) -> tuple[int, bytes] | None:
    """The first line that is no UTF-8, in a text that is meant to be."""
    if form is None or not form.encoding.startswith("utf-8"):
        return None
    try:
        with form.open(path) as handle:
            for number, line in enumerate(handle, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as at:
                    return number, line[max(at.start - 12, 0) : at.start + 4]
    except UNREADABLE:
        pass
    return None
