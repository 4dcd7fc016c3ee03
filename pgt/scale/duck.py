"""DuckDB: tables of visits that are larger than memory, as SQL sees them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgt.errors import DataError
from pgt.files import plain_text
from pgt.io.columns import recognized, says_utc
from pgt.io.delta import LOG, require_no_delta
from pgt.io.forms import form_of
from pgt.io.times import OFFSET, parse_times
from pgt.io.unpacking import require_room
from pgt.scale.storage import file_system, is_local, require
from pgt.visits import COORDINATES, REQUIRED, require_columns

COLUMNS = (*REQUIRED, "split", *COORDINATES)
IDS, TIMES = REQUIRED[:2], REQUIRED[2:]
# What a CSV may write for "nothing", as pandas reads it.
EMPTY = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How the columns of a table are read; the fields are those of `pgt.io.tables.read`."""

    timezone: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    checkins: bool = False
    drop_duplicates: bool = False


@dataclass(frozen=True)
class Source:
    """Files of visits as one relation.

    Attributes
    ----------
    sql : str
        Selects `COLUMNS`, as far as they are there, with ids and coordinates as numbers or text.
    rows : int
    zone : str or None
        The time zone that Parquet files keep beside their times.
    utc : dict
        Columns of times -> whether their name says that they are in UTC.
    """

    sql: str
    rows: int
    zone: str | None
    utc: dict[str, bool]


@contextmanager
def connect(memory: str, workers: int = 1) -> Iterator[Any]:
    """A DuckDB connection that keeps to so much memory and writes the rest to a passing folder.

    Raises
    ------
    DataError
        For whatever goes wrong in DuckDB.

    Examples
    --------
    >>> with connect("100MB") as duck:
    ...     duck.sql("SELECT 6 * 7").fetchall()
    [(42,)]
    """
    duckdb = require("duckdb")
    with tempfile.TemporaryDirectory(prefix="pgt-duckdb-") as spill:
        try:
            settings = {"memory_limit": memory, "temp_directory": spill, "threads": workers}
            with duckdb.connect(":memory:", config=settings) as duck:
                duck.create_function("plain_text", plain_text, ["VARCHAR"], "VARCHAR")
                yield duck
        except (duckdb.Error, pa.ArrowException) as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise DataError(
                f"DuckDB cannot read the visits, with {memory} of memory ({reason}); give Parquet, "
                "or CSV in UTF-8 with points for decimals, or more memory (--memory)."
            ) from error


def files_of(sources: Sequence[str]) -> dict[str, str]:
    """Every file that the names mean -> what changes when the file does.

    A name is a path or an address, of a file, of a folder with such files, or with ``*``.
    """
    found: dict[str, str] = {}
    for source in sources:
        system, path = file_system(source)
        names, folders = [path], set()
        if system.isdir(path):
            below = sorted(system.find(path))
            names = [name for name in below if _kind(name)]
            logs = (name for name in below if f"/{LOG}/" in name)
            folders = {path, *(name.split(f"/{LOG}/")[0] for name in logs)}
        elif "*" in path:
            names = sorted(system.glob(path))
            folders = {name.rpartition("/")[0] for name in names}
        for folder in sorted(folders):
            require_no_delta(folder, system.isdir)
        if not names or not all(system.exists(name) for name in names):
            raise DataError(f"There are no visits at {source}; check the path.")
        for name in names:
            whole = name if is_local(system) else system.unstrip_protocol(name)
            found[whole] = str(system.ukey(name))
    kinds = {_kind(name) for name in found}
    if len(kinds) > 1 or None in kinds:
        raise DataError(
            "The visits must all be in Parquet (.parquet), or all in CSV (.csv or .csv.gz)."
        )
    return found


def _kind(name: str) -> str | None:
    endings = {".parquet": "parquet", ".csv": "csv", ".csv.gz": "csv"}
    return next((kind for end, kind in endings.items() if name.endswith(end)), None)


def relation(duck: Any, names: Sequence[str], kind: str = "parquet") -> str:
    """The SQL that reads files, wherever they are."""
    for name in names:
        system, _ = file_system(name)
        protocol = system.protocol if isinstance(system.protocol, str) else system.protocol[0]
        if not is_local(system) and not duck.filesystem_is_registered(protocol):
            duck.register_filesystem(system)
    # A bracket in the name of a file would be a pattern to DuckDB.
    plain = [re.sub(r"([*?\[])", r"[\1]", name) if "://" not in name else name for name in names]
    listed = "[" + ", ".join(map(_text, plain)) + "]"
    if kind == "parquet":
        return f"read_parquet({listed})"
    empty = ", ".join(map(_text, EMPTY))
    return f"read_csv({listed}, header=true, all_varchar=true, quote='\"', nullstr=[{empty}])"


def visits(duck: Any, names: Sequence[str], reading: Reading) -> Source:
    """Look at files of visits as `pgt.io.tables.read` would look at their table.

    Raises
    ------
    DataError
        When a column is missing, or ids or times cannot be read.
    """
    kind = str(_kind(names[0]))
    _require_readable(names, kind)
    raw = relation(duck, names, kind)
    described = duck.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {raw})")
    types = dict(described.fetchall())
    theirs = _names(list(types), reading)
    text = {ours for ours, name in theirs.items() if types[name] == "VARCHAR"}
    column = {ours: _name(name) for ours, name in theirs.items()}
    if kind == "csv":  # as `pgt.files.plain`; only a text with an apostrophe leaves DuckDB
        column |= {
            ours: f"CASE WHEN contains({one}, chr(39)) THEN plain_text({one}) ELSE {one} END"
            for ours, one in column.items() if ours in text
        }  # fmt: skip
    asked = {"rows": "count(*)"}
    if kind == "csv":
        for ours in IDS:
            as_int = f"CAST(TRY_CAST({column[ours]} AS BIGINT) AS VARCHAR)"
            same = f"{as_int} IS NOT DISTINCT FROM trim({column[ours]})"
            asked[f"{ours} integer"] = f"bool_and({same} OR {column[ours]} IS NULL)"
            asked[f"{ours} number"] = f"bool_and(TRY_CAST({column[ours]} AS DOUBLE) IS NOT NULL)"
            asked[f"{ours} point"] = f"bool_or(contains({column[ours]}, '.'))"
    answers = duck.sql(f"SELECT {', '.join(asked.values())} FROM {raw}").fetchall()[0]
    facts = dict(zip(asked, answers, strict=True))
    if not facts["rows"]:
        raise DataError("The table has no visits; check the file, or the filter that came before.")
    for ours in IDS if kind == "csv" else ():
        if facts[f"{ours} integer"]:
            column[ours] = f"CAST({column[ours]} AS BIGINT)"
        elif facts[f"{ours} number"] and facts[f"{ours} point"]:
            raise DataError(
                f"Column '{ours}' holds floating-point numbers; ids are integers or strings."
            )
    for ours in (name for name in COORDINATES if name in text):
        column[ours] = f"CAST({column[ours]} AS DOUBLE)"
    utc = {ours: says_utc(theirs[ours]) for ours in TIMES}
    for ours in (name for name in TIMES if name in text):
        _require_one_way(duck, raw, column[ours], ours, reading.timezone, utc[ours])
    chosen = ", ".join(f"{sql} AS {ours}" for ours, sql in column.items())
    times = [theirs[ours] for ours in TIMES]
    zone = _zone(names, times, reading.timezone) if kind == "parquet" else None
    return Source(f"SELECT {chosen} FROM {raw}", facts["rows"], zone, utc)


def _require_readable(names: Sequence[str], kind: str) -> None:
    """Refuse files of ours that DuckDB would misread: it goes by names, and checks no checksum."""
    for name in names:
        system, path = file_system(name)
        if not is_local(system):
            continue
        file = Path(path)
        form = form_of(file)
        if form.kind != kind or form.packed != path.endswith(".gz") or form.encoding == "utf-16":
            raise DataError(
                f"{file.name} is not the UTF-8 text, gzip or Parquet that its name promises; an "
                "engine goes by names: rename it, or save it as UTF-8."
            )
        require_room(file, form)


def _names(there: list[str], reading: Reading) -> dict[str, str]:
    """Our name -> the file's name of every column that is needed."""
    for name in reading.columns.values():
        if name not in there:
            raise DataError(f"Column '{name}' is not in the files (they have {', '.join(there)}).")
    given = {name: ours for ours, name in reading.columns.items()}
    table = pd.DataFrame(columns=[given.get(name, name) for name in there])
    table = table.rename(columns=recognized(table))
    theirs = dict(zip(table.columns, there, strict=True))
    if reading.checkins and "started_at" in theirs:
        theirs.setdefault("finished_at", theirs["started_at"])
        table["finished_at"] = None
    table.loc[0] = None  # one row: whether there are any is asked elsewhere
    require_columns(table)
    return {ours: theirs[ours] for ours in COLUMNS if ours in theirs}


def _require_one_way(
    duck: Any, raw: str, column: str, name: str, timezone: str | None, utc: bool
) -> None:
    """Refuse times that are written in several ways; a bucket alone might not show it."""
    sample = duck.sql(
        f"SELECT any_value({column}) AS example FROM {raw} WHERE {column} IS NOT NULL "
        f"GROUP BY regexp_extract({column}, {_text(OFFSET)}, 1) ORDER BY 1"
    )
    examples = [example for (example,) in sample.fetchall()]
    zoned = pd.Series(examples, dtype="string").str.extract(OFFSET)[0].notna()
    if zoned.any() and not zoned.all():
        one, other = examples[int(zoned.argmax())], examples[int(zoned.argmin())]
        raise DataError(
            f"{name} has a time zone in some rows ({one}) and none in others ({other}); "
            "write all of them the same way."
        )
    if examples:
        parse_times(pd.Series(examples), name, timezone, utc=utc)


def _zone(names: Sequence[str], columns: Sequence[str], timezone: str | None) -> str | None:
    """The one time zone of all times, or none where a zone is given for them."""
    zones = set()
    for name in names:
        system, path = file_system(name)
        with system.open(path, "rb") as handle:
            schema = pq.read_schema(handle)
        kinds = (schema.field(column).type for column in columns)
        zones |= {kind.tz for kind in kinds if pa.types.is_timestamp(kind)}
    if len(zones) > 1 and (timezone is None or None in zones):
        raise DataError(
            f"The times are in several time zones ({', '.join(sorted(map(str, zones)))}); "
            "convert all of them to one, or name it with timezone= (--timezone)."
        )
    return zones.pop() if len(zones) == 1 else None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
