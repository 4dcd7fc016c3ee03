"""Hostile tables: each is understood rightly, or refused in one sentence that names the remedy.

A line of `UNDERSTOOD` is a file and the visits that stand in it; a line of `REFUSED` a file and
what the sentence says. No file may end in anything but visits or `DataError`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pgt.cli.parser import main
from pgt.io.sources import read_visits

from pgt.errors import DataError

from ..helpers import mutated, refusal

HEADER = "user_id,location_id,started_at,finished_at"
Z = ("2024-05-01T09:00Z", "2024-05-01T10:00Z")
LOCAL = ("2024-05-01 09:00", "2024-05-01 10:00")
ZONE = {"timezone": "Asia/Shanghai"}


def row(started: str, finished: str, user: object = 1, location: object = 2) -> str:
    return f"{user},{location},{started},{finished}"


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows, ""])


ONE = table(row(*Z))
LATIN = table(row(*Z, location="Café")).encode("latin-1")


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("visits.csv", content)
    return buffer.getvalue()


def parquet(**columns: Any) -> bytes:
    at = pd.to_datetime([Z[0], "2024-05-02T09:00Z"])
    frame = pd.DataFrame({"user_id": 1, "location_id": 2, "started_at": at, "finished_at": at})
    buffer = io.BytesIO()
    frame.assign(**columns).to_parquet(buffer)
    return buffer.getvalue()


def times(started: str, finished: str) -> str:
    return table(row(started, finished))


# name -> file's name, its content, options, the first visit's start and end in UTC
UNDERSTOOD: dict[str, tuple[str, str | bytes, dict[str, Any], str, str]] = {
    "offset after a space":
        ("v.csv", times("2024-05-01 09:00 +02:00", "2024-05-01 10:00 +02:00"), ZONE, "07", "08"),
    "offset of one digit":
        ("v.csv", times("2024-05-01T09:00+9", "2024-05-01T10:00+9"), ZONE, "00", "01"),
    "offset of one digit and minutes":
        ("v.csv", times("2024-05-01T09:00+9:00", "2024-05-01T10:00+9:00"), ZONE, "00", "01"),
    "offset of one digit, no zone named":
        ("v.csv", times("2024-05-01T09:00 +9", "2024-05-01T10:00 +9"), {}, "00", "01"),
    "offset without a colon":
        ("v.csv", times("2024-05-01T09:00-0500", "2024-05-01T10:00-0500"), ZONE, "14", "15"),
    "offset with a true minus":
        ("v.csv", times("2024-05-01T09:00−05:00", "2024-05-01T10:00−05:00"), ZONE, "14", "15"),
    "trailing blanks after Z":
        ("v.csv", times("2024-05-01T09:00Z ", "2024-05-01T10:00Z\t"), ZONE, "09", "10"),
    "leading blanks":
        ("v.csv", times(" 2024-05-01T09:00Z", "  2024-05-01T10:00Z"), ZONE, "09", "10"),
    "small z": ("v.csv", times("2024-05-01T09:00z", "2024-05-01T10:00z"), ZONE, "09", "10"),
    "UTC by name":
        ("v.csv", times("2024-05-01 09:00 UTC", "2024-05-01 10:00 GMT"), ZONE, "09", "10"),
    "trailing blanks, local":
        ("v.csv", times("2024-05-01 09:00 ", "2024-05-01 10:00 "), ZONE, "01", "02"),
    "local": ("v.csv", times(*LOCAL), ZONE, "01", "02"),
    "bare dates": ("v.csv", times("2024-05-01", "2024-05-01"), {"timezone": "UTC"}, "00", "00"),
    "bare dates with a blank":
        ("v.csv", times("2024-05-01 ", "2024-05-01 "), {"timezone": "UTC"}, "00", "00"),
    "the hour that comes twice":
        ("v.csv", times("2024-10-27 02:50", "2024-10-27 02:10"), {"timezone": "Europe/Vienna"},
         "2024-10-27T00:50", "2024-10-27T01:10"),
    "semicolons": ("v.csv", ONE.replace(",", ";"), {}, "09", "10"),
    "tabs": ("v.csv", ONE.replace(",", "\t"), {}, "09", "10"),
    "bars": ("v.csv", ONE.replace(",", "|"), {}, "09", "10"),
    "tsv": ("v.tsv", ONE.replace(",", "\t"), {}, "09", "10"),
    "tsv with commas": ("v.tsv", ONE, {}, "09", "10"),
    "txt": ("v.txt", ONE, {}, "09", "10"),
    "capital ending": ("V.CSV", ONE, {}, "09", "10"),
    "UTF-16": ("v.csv", ONE.encode("utf-16"), {}, "09", "10"),
    "UTF-16, big end first": ("v.csv", b"\xfe\xff" + ONE.encode("utf-16-be"), {}, "09", "10"),
    "UTF-16 and tabs, as Excel saves it":
        ("v.txt", ONE.replace(",", "\t").encode("utf-16"), {}, "09", "10"),
    "UTF-8 with its mark": ("v.csv", ONE.encode("utf-8-sig"), {}, "09", "10"),
    "Windows line ends": ("v.csv", ONE.replace("\n", "\r\n"), {}, "09", "10"),
    "old Mac line ends": ("v.csv", ONE.replace("\n", "\r"), {}, "09", "10"),
    "empty lines before": ("v.csv", "\n\n" + ONE, {}, "09", "10"),
    "gzip": ("v.csv.gz", gzip.compress(ONE.encode()), {}, "09", "10"),
    "gzip named .csv": ("v.csv", gzip.compress(ONE.encode()), {}, "09", "10"),
    "text named .csv.gz": ("v.csv.gz", ONE, {}, "09", "10"),
    "gzip of tabs": ("v.tsv.gz", gzip.compress(ONE.replace(",", "\t").encode()), {}, "09", "10"),
    "Parquet": ("v.parquet", parquet(), {}, "09", "09"),
    "Parquet named .csv": ("v.csv", parquet(), {}, "09", "09"),
    "ids as categories":
        ("v.parquet", parquet(user_id=pd.Categorical(["a", "b"])), {}, "09", "09"),
    "split as categories":
        ("v.parquet", parquet(split=pd.Categorical(["val", "train"])), {}, "09", "09"),
    "decimal commas":
        ("v.csv", table(row(*Z) + ",16.37,48.2", header=f"{HEADER},lon,lat")
         .replace(",", ";").replace(".", ","), {}, "09", "10"),
    "decimal commas in quotes":
        ("v.csv", table(row(*Z) + ',"16,37","48,2"', header=f"{HEADER},lon,lat"), {}, "09", "10"),
    "quoted names": ("v.csv", ONE.replace("user_id", '"user_id"'), {}, "09", "10"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDERSTOOD)
@pytest.mark.filterwarnings("ignore::pgt.errors.DataNote")
def test_it_is_understood(name: str, tmp_path: Path) -> None:
    file, content, options, started, finished = UNDERSTOOD[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    first = read_visits(path, **options).iloc[0]
    for time, expected in ((first.started_at, started), (first.finished_at, finished)):
        whole = expected if "T" in expected else f"2024-05-01T{expected}:00"
        assert time == pd.Timestamp(whole, tz="UTC")
    if "decimal" in name:
        assert (first.lon, first.lat) == (16.37, 48.2)
    if "split" in name:
        assert first.split == "valid"


FAR = "outside 1678 to 2261"
NO_TIME = "which is no ISO 8601 time"
REFUSED: dict[str, tuple[str, str | bytes, dict[str, Any], tuple[str, ...]]] = {
    "now": ("v.csv", times("now", "now"), ZONE, ("started_at is 'now' in row 0", NO_TIME)),
    "today":
        ("v.csv", times("2024-05-01 09:00", "today"), ZONE, ("finished_at is 'today'", NO_TIME)),
    "Today": ("v.csv", times("Today", "Today"), ZONE, ("started_at is 'Today'", NO_TIME)),
    "tomorrow": ("v.csv", times("tomorrow", "tomorrow"), ZONE, (NO_TIME,)),
    "a month": ("v.csv", times("2024-05", "2024-06"), ZONE, ("started_at is '2024-05'", NO_TIME)),
    "NaT": ("v.csv", times("NaT", "NaT"), ZONE, (NO_TIME,)),
    "an offset of 25 hours":
        ("v.csv", times("2024-05-01T09:00+25", "2024-05-01T10:00+25"), ZONE, (NO_TIME,)),
    "a zone by letters":
        ("v.csv", times("2024-05-01 09:00 CEST", "2024-05-01 10:00 CEST"), ZONE, (NO_TIME,)),
    "half past noon":
        ("v.csv", times("2024-05-01 09:00 PM", "2024-05-01 10:00 PM"), ZONE, (NO_TIME,)),
    "some with offset": ("v.csv", table(row(*Z), row(*LOCAL)), ZONE, ("in some rows and none in",)),
    "some with offset after a space":
        ("v.csv", table(row("2024-05-01 09:00 +2", "2024-05-01 10:00 +2"), row(*LOCAL)), ZONE,
         ("started_at has a time zone in some rows and none in row 1",)),
    "open end":
        ("v.csv", times(Z[0], "9999-12-31T00:00Z"), ZONE, ("finished_at", "row 0", FAR, "start")),
    "open end without a clock": ("v.csv", times(LOCAL[0], "9999-12-31"), ZONE, (FAR,)),
    "the last second of time":
        ("v.csv", times(Z[0], "9999-12-31T23:59:59-05:00"), ZONE, ("row 0",)),
    "open end in Parquet":
        ("v.parquet", parquet(finished_at=[pd.Timestamp(Z[0]), pd.Timestamp("9999-12-31T00Z")]), {},
         ("finished_at is in the year 9999 in row 1", FAR)),
    "year 1": ("v.csv", times("0001-01-01T09:00Z", Z[1]), ZONE, ("started_at",)),
    "year 1600": ("v.csv", times("1600-05-01T09:00Z", Z[1]), ZONE, ("year 1600", FAR)),
    "year 2300": ("v.csv", times("2300-05-01T09:00Z", "2300-05-01T09:00Z"), ZONE, (FAR,)),
    "Latin-1": ("v.csv", LATIN, {}, ("line 2 is not UTF-8", "iconv -f WINDOWS-1252")),
    "Latin-1 in gzip": ("v.csv.gz", gzip.compress(LATIN), {}, ("line 2 is not UTF-8", "iconv")),
    "Latin-1 in the header":
        ("v.csv", ONE.replace("user_id", "Straße").encode("latin-1"), {}, ("line 1 is not UTF-8",)),
    "UTF-16 without its mark": ("v.csv", ONE.encode("utf-16-le"), {}, ("UTF-16", "iconv")),
    "zip": ("v.csv", zipped(ONE.encode()), {}, ("is a zip archive (so is .xlsx)", "unpack it")),
    "xlsx": ("v.xlsx", zipped(b"<xml/>"), {}, ("is a zip archive (so is .xlsx)", "as CSV")),
    "xz": ("v.csv.xz", lzma.compress(ONE.encode()), {}, ("packed with xz", "xz -d")),
    "bzip2": ("v.csv.bz2", bz2.compress(ONE.encode()), {}, ("packed with bzip2", "bunzip2")),
    "zstd": ("v.csv.zst", b"\x28\xb5\x2f\xfd" + bytes(20), {}, ("packed with zstd",)),
    "geopackage": ("v.gpkg", b"SQLite format 3\0" + bytes(99), {}, ("SQLite", "export")),
    "GeoJSON": ("v.geojson", b'{"type": "FeatureCollection"}', {}, ("is JSON", "as CSV")),
    "a page": ("v.csv", b"\n<html><body>404</body></html>", {}, ("page of the web", "download")),
    "Parquet in gzip": ("v.csv.gz", gzip.compress(parquet()), {}, ("Parquet packed", "gunzip")),
    "some other file": ("v.doc", b"Dear all", {}, ("neither .csv nor .parquet", "convert")),
    "cut gzip": ("v.csv", gzip.compress(ONE.encode() * 99)[:-20], {}, ("cannot be read",)),
    "gzip with a wrong checksum":
        ("v.csv.gz", gzip.compress(ONE.encode())[:-8] + bytes(8), {}, ("cannot be read",)),
    "cut Parquet": ("v.parquet", parquet()[:-40], {}, ("cannot be read", "must be Parquet")),
    "empty": ("v.csv", b"", {}, ("cannot be read", "header line")),
    "blank": ("v.csv", b"\n \n", {}, ("v.csv",)),
    "decimal commas among commas":
        ("v.csv", table(row(*Z) + ",16,37,48,2", header=f"{HEADER},lon,lat"), {},
         ("more fields than its header", "decimal comma")),
    "a recording":
        ("v.csv", "user_id,time,lat,lon\n1,2024-05-01T09:00Z,48,16\n", {},
         ("positions and no column for the place", "python -m pgt visits")),
    "open quote": ("v.csv", table(row(*Z, user='"1')), {}, ("cannot be read",)),
    "semicolons of something else":
        ("v.csv", "a;b\n1;2\n", {}, ("'user_id' is missing", "has a, b)")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("error::UserWarning")
def test_it_is_refused_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, content, options, says = REFUSED[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as refusal:
        read_visits(path, **options)
    message = str(refusal.value)
    assert [part for part in says if part not in message] == [], message
    assert "\n" not in message and message.endswith(".")
    zone = ["--timezone", options["timezone"]] if options else []
    assert main(["prepare", str(path), str(tmp_path / "out.parquet"), *zone]) == 2
    assert capsys.readouterr().err == f"pgt: {message}\n"
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("https://example.org/visits.csv", "only local files are read; download it first"),
        ("s3://bucket/visits.parquet", "only local files are read; download it first"),
        ("visits/*.csv", "give one file, or use prepare --engine"),
        ("visits/none.csv", "check the path"),
    ],
)
def test_what_is_no_local_file_is_named(path: str, says: str) -> None:
    for given in (path, Path(path)):
        with pytest.raises(DataError, match=f"{re.escape(path)}.*{says}"):
            read_visits(given)


MUTABLE = {
    "v.csv": table(*(row(*Z, user=f"u{i}", location=i) for i in range(20))).encode(),
    "v.csv.gz": gzip.compress(table(*(row(*Z, user=i) for i in range(20))).encode()),
    "v.tsv": table(*(row(*Z, user=i) for i in range(20))).replace(",", "\t").encode("utf-16"),
    "v.parquet": parquet(),
}


@pytest.mark.parametrize("name", MUTABLE)
@pytest.mark.filterwarnings("ignore")
def test_whatever_happens_to_a_file_it_is_read_or_refused(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    path = tmp_path / name
    said = []
    for _ in range(60):
        path.write_bytes(mutated(MUTABLE[name], rng, "swap"))
        said.append(refusal(lambda: read_visits(path)))
    assert any(said)
    assert not any("\n" in message for message in said)
