#!/usr/bin/env bash
# Folders uid=007: five readers give four kinds of people, and one of them loses everybody.
#
# Version: pandas 3.1.1, pyarrow 26.0.1, dask 2026.8.0, DuckDB 2.0.1, Polars 2.1.0.
# Expected: a table written in folders by a text column comes back as it was.
# Seen: pandas writes `uid=007`, since the column is text. pyarrow, pandas and Polars read 7 and 8
#   ("7" and "007" would be one person); DuckDB keeps 007; in dask every uid is missing, without a
#   word, as if it compared the text of the folder with the number that pyarrow made of it. "0x10"
#   is 16 in pyarrow, pandas and DuckDB, text in Polars, missing in dask.
# Output seen: pandas [7, 8] pyarrow [7, 8] Polars [7, 8] DuckDB ['007', '008'] dask [nan, nan]
# Why it matters: big recordings lie in one folder for each person, GeoLife's people are 000 to
#   181. With dask a model of one nameless person is trained; a join by uid finds nobody.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(pandas==3.1.1 pyarrow==26.0.1 dask[dataframe]==2026.8.0 duckdb==2.0.1 polars==2.1.0)
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


def readings(people):
    """The column uid as each of the five reads it."""
    folder = "people_" + "_".join(people)
    pd.DataFrame({"uid": people, "visits": 1}).to_parquet(folder, partition_cols=["uid"])
    files = f"{folder}/*/*.parquet"
    rows = duckdb.sql(f"SELECT uid FROM read_parquet('{files}', hive_partitioning = true)")
    return {
        "pandas": list(pd.read_parquet(folder)["uid"]),
        "pyarrow": ds.dataset(folder, partitioning="hive").to_table()["uid"].to_pylist(),
        "Polars": pl.read_parquet(folder, hive_partitioning=True)["uid"].to_list(),
        "DuckDB": [row[0] for row in rows.fetchall()],
        "dask": list(dd.read_parquet(folder).compute()["uid"]),
    }


zeros, hexadecimal = readings(["007", "008"]), readings(["0x10", "12"])
print(zeros)
print(hexadecimal)
assert zeros["pandas"] == zeros["pyarrow"] == zeros["Polars"] == [7, 8]
assert zeros["DuckDB"] == ["007", "008"]
assert pd.isna(zeros["dask"]).all()
assert sorted(hexadecimal["pyarrow"]) == sorted(hexadecimal["DuckDB"]) == [12, 16]
assert sorted(hexadecimal["Polars"]) == ["0x10", "12"]
assert pd.isna(hexadecimal["dask"]).any()
PYTHON
