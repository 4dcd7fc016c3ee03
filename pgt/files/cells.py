"""Cells of CSV files that people open in a spreadsheet: no text of data becomes a formula.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``, and may fetch or send with
it whatever it can reach. The package's writers of CSV put an apostrophe before such a text, as
spreadsheets do themselves for "this is text"; its readers take that apostrophe away.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pandas as pd
import pyarrow as pa

# Where a cell begins (of any program, whatever it takes for a separator), and how a formula does:
# behind a tab, a line end or an apostrophe of ours it is one as well, and some read wide signs.
_BEGIN, _FORMULA = r"(^|[,;|\t\r\n])", r"(?='*[=+\-@\t\r\n＝＋－＠])"
OPEN, MARKED = re.compile(_BEGIN + _FORMULA), re.compile(f"{_BEGIN}'{_FORMULA}")


def write_csv(table: pd.DataFrame, path: str | Path | None = None) -> str:
    """Write a table as CSV, `defused`; without a path, give its text.

    Parameters
    ----------
    table : DataFrame
        Written without its index.
    path : path, optional

    Examples
    --------
    >>> write_csv(pd.DataFrame({"user_id": ["=1+1", "ann"], "effect": [-3.2, 0.5]}))
    "user_id,effect\\n'=1+1,-3.2\\nann,0.5\\n"
    """
    safe = defused(table)
    # Older Pythons write a bare carriage return without quotes, where it would end the row.
    texts = chain(safe.columns, *(values for _, values in _texts(safe)))
    returns = any("\r" in text for text in texts if isinstance(text, str))
    quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return safe.to_csv(path, index=False, lineterminator="\n", quoting=quoting) or ""


def defused(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run.

    Texts are looked at, names of columns and categories too; numbers and times stay as they are.
    Columns without such a text are the same objects. `plain` takes the apostrophes away.

    Parameters
    ----------
    table : DataFrame
        About to be written as CSV.

    Examples
    --------
    >>> table = pd.DataFrame({"user_id": ["=1+1", "ann"], "effect": [-3.2, 0.5]})
    >>> defused(table).values.tolist()
    [["'=1+1", -3.2], ['ann', 0.5]]
    """
    return _changed(table, lambda text: OPEN.sub(r"\1'", text))


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the apostrophes that `defused` puts there.

    Examples
    --------
    >>> plain(pd.DataFrame({"user_id": ["'=1+1", "'s-Hertogenbosch"]})).user_id.tolist()
    ['=1+1', "'s-Hertogenbosch"]
    """
    return _changed(table, plain_text, only="'")


def plain_text(text: str) -> str:
    """One text of such a table.

    Examples
    --------
    >>> plain_text("home;'-3"), plain_text("''=1")
    ('home;-3', "'=1")
    """
    return MARKED.sub(r"\1", text) if "'" in text else text


def _texts(table: pd.DataFrame, only: str = "") -> Iterator[tuple[int, pd.Series]]:
    """The columns that may hold texts, with a sign if one is named, by their number, as objects."""
    for at, dtype in enumerate(table.dtypes):
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            continue
        values = table.iloc[:, at]
        # Texts that pandas holds as such are searched without making an object of each.
        held = only and isinstance(dtype, pd.StringDtype)
        if not held or _stands_in(values, only):
            yield at, values.astype(object)


def _stands_in(values: pd.Series, sign: str) -> bool:
    """Whether a sign may be in a column of texts: False is certain.

    The bytes of all texts are searched as they lie one behind the other, six times as fast as text
    by text; those of rows that a table was cut from may be among them.
    """
    texts = pa.array(values)
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    held = [chunk.buffers()[-1] for chunk in chunks]  # UTF-8
    return any(text is not None and re.search(re.escape(sign.encode()), text) for text in held)


def _changed(table: pd.DataFrame, change: Callable[[str], str], only: str = "") -> pd.DataFrame:
    def one(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    done = table.rename(columns=one)  # a new table that shares its columns with the old one
    for at, values in _texts(table, only):
        if any(isinstance(value, str) and change(value) != value for value in values):
            done.isetitem(at, values.map(one))
    return done
