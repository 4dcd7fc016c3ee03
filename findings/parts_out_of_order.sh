#!/usr/bin/env bash
# Twelve Parquet files by dask: dask reads them in order, everybody else reads part 10 after part
#   1.
#
# Version: dask 2026.8.0, pandas 3.1.1, pyarrow 26.0.1, DuckDB 2.0.1, Polars 2.1.0.
# Expected: rows written in order of time come back in order of time.
# Seen: dask calls its files part.0 to part.11, without leading zeros, and reads them by number.
#   pandas, pyarrow, DuckDB and Polars read them by name: 0, 1, 10, 11, 2. With ten parts or fewer
#   nothing is wrong, so a small test passes. In DuckDB `lag` over the rows steps back in time
#   once.
# Output seen: dask 0 1 2 3 4 ... | the others 0 1 2 3 20 21 22 23 4 5 ... | steps back: 1
# Why it matters: "the visit before" is the row before. Once a folder has an eleventh part, windows
#   hold visits from the future, and a split by row puts later visits into the training set.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(dask[dataframe]==2026.8.0 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import dask
import dask.dataframe as dd
import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds

dask.config.set(scheduler="sync")


def readings(parts):
    """The visits, numbered by time, as each of the five reads them."""
    n, folder = 2 * parts, f"visits_{parts}"
    hours = pd.date_range("2024-03-04", periods=n, freq="h")
    table = pd.DataFrame({"hour": hours, "n": range(n)})
    dd.from_pandas(table, npartitions=parts).to_parquet(folder)
    files = f"{folder}/*.parquet"
    return {
        "dask": dd.read_parquet(folder).compute()["n"].tolist(),
        "pandas": pd.read_parquet(folder)["n"].tolist(),
        "pyarrow": ds.dataset(folder).to_table()["n"].to_pylist(),
        "Polars": pl.read_parquet(files)["n"].to_list(),
        "DuckDB": [row[0] for row in duckdb.sql(f"SELECT n FROM '{files}'").fetchall()],
    }


ten, twelve = readings(10), readings(12)
assert all(rows == list(range(20)) for rows in ten.values())  # up to ten parts all is well
assert twelve.pop("dask") == list(range(24))
by_name = [0, 1, 2, 3, 20, 21, 22, 23, *range(4, 20)]
print(twelve)
assert all(rows == by_name for rows in twelve.values())
lag = "SELECT hour - lag(hour) OVER () AS step FROM 'visits_12/*.parquet'"
back = duckdb.sql(f"SELECT count(*) FROM ({lag}) WHERE step < INTERVAL 0 HOUR").fetchall()[0][0]
print("steps back in time:", back)
assert back == 1
PYTHON
