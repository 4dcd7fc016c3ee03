#!/usr/bin/env bash
# DuckDB: a split drawn with random() puts people into the training half and into the test half.
#
# Version: DuckDB 2.0.1, Polars 2.1.0.
# Expected: a relation or view "people, each drawn for training or not" holds each person once, so
#   its two filters are the two halves.
# Seen: it is a recipe, not a table: each use draws again. Of 1,000 people some 160 are in both
#   halves and some 160 in none, even inside one query that joins the view with itself; the same
#   subquery as WITH is drawn once (0 in both). A sample is another one each time it is printed.
#   Polars' lazy frames do the same, also within one `collect_all`.
# Output seen: relation 160, view about 150, WITH 0, Polars collect_all 160 people in both halves
# Why it matters: the split by person is what keeps a test honest. Here each half looks right by
#   its size. Write a table (CREATE TABLE AS), or draw by a hash of the name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(duckdb==2.0.1 polars==2.1.0)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import duckdb
import polars as pl

base = duckdb.connect()
DRAWN = "SELECT range AS person, random() < 0.8 AS train FROM range(1000)"
BOTH = "SELECT count(*) FROM (FROM p WHERE train) JOIN (FROM p WHERE NOT train) USING (person)"


def in_both(query):
    """How many people the joined halves share."""
    return base.sql(query).fetchall()[0][0]


people = base.sql(DRAWN)
train, test = ({row[0] for row in people.filter(f).fetchall()} for f in ("train", "NOT train"))
print("relation:", len(train & test), "in both,", 1000 - len(train | test), "in none")
assert len(train & test) > 100 and len(train | test) < 900

with_once = in_both(f"WITH p AS ({DRAWN}) {BOTH}")
base.execute(f"CREATE VIEW p AS {DRAWN}")
view = in_both(BOTH)
base.execute("DROP VIEW p")
base.execute(f"CREATE TABLE p AS {DRAWN}")
print("view:", view, "WITH:", with_once, "table:", in_both(BOTH))
assert view > 100 and with_once == 0 and in_both(BOTH) == 0

sample = base.sql("SELECT range FROM range(100000) USING SAMPLE 5 ROWS")
assert sample.fetchall() != sample.fetchall()

lazy = pl.LazyFrame({"person": range(1000)}).with_columns(rank=pl.int_range(1000).shuffle())
halves = pl.collect_all([lazy.filter(pl.col("rank") < 800), lazy.filter(pl.col("rank") >= 800)])
shared = set(halves[0]["person"]) & set(halves[1]["person"])
print("Polars, collect_all:", len(shared))
assert len(shared) > 100
PYTHON
