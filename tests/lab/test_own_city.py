"""A table that nobody prepared: columns are recognized, the zone doubted, the score compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lab.data_sets import sampled
from lab.own_city import EPOCHS, SEEDS, SHARE, as_checkins
from pgt.cli.parser import main
from pgt.doubts.places import far_from_sun
from pgt.io.columns import ALIASES, recognized
from pgt.io.tables import read
from wherenext import city
from wherenext.results import read_results

from pgt.errors import DataError

Said = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def own() -> pd.DataFrame:
    return sampled(city.load().visits.drop(columns="split"), 8)


@pytest.fixture
def csv(own: pd.DataFrame, tmp_path: Path) -> Path:
    as_checkins(own).to_csv(tmp_path / "checkins.csv", index=False)
    return tmp_path / "checkins.csv"


def test_checkins_are_read_without_naming_a_column(own: pd.DataFrame, csv: Path) -> None:
    table = read(csv, checkins=True, timezone=str(own.started_at.dt.tz))
    expected = own.assign(user_id="u" + own.user_id.astype(str))
    expected = expected.sort_values(["user_id", "started_at"], ignore_index=True)
    assert table.user_id.tolist() == expected.user_id.tolist()
    assert table.location_id.tolist() == ("v" + expected.location_id.astype(str)).tolist()
    assert (table.started_at == expected.started_at.dt.floor("s")).all()
    assert (table.finished_at == table.started_at).all()
    assert table.attrs["recognized"]["Check-in time"] == "started_at"


def test_our_own_names_are_never_read_otherwise() -> None:
    table = pd.DataFrame(columns=["user_id", "location_id", "started_at", "time", "user", "place"])
    assert recognized(table) == {}
    assert len(set().union(*ALIASES.values())) == sum(map(len, ALIASES.values()))


def test_two_candidates_are_a_question_and_the_option_answers_it(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("user,time,timestamp,place\n007,2024-05-01T09:00Z,2024-05-01T10:00Z,04\n")
    with pytest.raises(DataError, match=r"Both 'time' and 'timestamp' could be started_at.*--col"):
        read(path, checkins=True)
    table = read(path, checkins=True, columns={"started_at": "timestamp"})
    assert table.started_at.dt.hour.tolist() == [10]
    assert table[["user_id", "location_id"]].to_numpy().tolist() == [["007", "04"]]


@pytest.mark.parametrize(
    ("column", "options", "hour"),
    [
        ("UTC time", {}, 8),
        ("UTC time", {"timezone": "Europe/Vienna"}, 9),
        ("time", {"timezone": "Europe/Vienna"}, 8),
        ("begin_utc", {"timezone": "Europe/Vienna", "columns": {"started_at": "begin_utc"}}, 9),
    ],
)
def test_a_name_that_says_utc_is_believed(
    tmp_path: Path, column: str, options: dict[str, Any], hour: int
) -> None:
    (tmp_path / "v.csv").write_text(f"user,place,{column}\n1,2,2024-01-01 08:00\n")
    table = read(tmp_path / "v.csv", checkins=True, **options)
    assert table.started_at.dt.hour.tolist() == [hour]
    assert table.finished_at.tolist() == table.started_at.tolist()


def test_half_a_position_is_left_alone() -> None:
    assert recognized(pd.DataFrame(columns=["Latitude", "rating"])) == {}


def test_forgotten_option_is_named(csv: Path, tmp_path: Path, capsys: Said) -> None:
    assert main(["prepare", str(csv), str(tmp_path / "v.parquet")]) == 2
    assert "--checkins" in capsys.readouterr().err


def test_prepare_says_how_it_read_and_doubts_the_zone(
    csv: Path, tmp_path: Path, capsys: Said
) -> None:
    out = str(tmp_path / "v.parquet")
    assert main(["prepare", str(csv), out, "--checkins"]) == 0
    said = capsys.readouterr().out
    assert "user_id = 'User ID'" in said
    assert "note 1 of 1: " in said and "Name the zone with timezone= (--timezone)" in said
    assert main(["prepare", str(csv), out, "--checkins", "--timezone", "America/Regina"]) == 0
    assert "--timezone" not in capsys.readouterr().out
    assert "recognized" not in read(out).attrs


@pytest.mark.parametrize(
    ("zone", "lon", "far"),
    [
        ("UTC", 0.0, False), ("UTC", 116.4, True), ("Asia/Shanghai", 116.4, False),
        ("Asia/Shanghai", 76.0, False),  # Kashgar, on Beijing's time
        ("Pacific/Auckland", -176.5, False),  # across the date line
        ("Europe/Madrid", -8.5, False), ("Europe/Vienna", -109.0, True),
    ],
)  # fmt: skip
def test_clocks_and_sun(zone: str, lon: float, far: bool) -> None:
    at = pd.Series(pd.to_datetime(["2024-07-01 12:00"])).dt.tz_localize(zone)
    assert far_from_sun(pd.DataFrame({"started_at": at, "lon": lon})) == far


def test_evaluate_ends_with_the_lead_over_the_best_baseline(
    csv: Path, tmp_path: Path, capsys: Said
) -> None:
    visits, model = str(tmp_path / "v.parquet"), str(tmp_path / "m.safetensors")
    main(["prepare", str(csv), visits, "--checkins", "--timezone", "America/Regina"])
    main(["train", visits, "--out", model, "--epochs", "1", "--device", "cpu", "--quiet"])
    capsys.readouterr()
    assert main(["evaluate", visits, model, "--baselines"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    rows = (re.match(r"\s*(.+?)\s+unknown\s+all\s+\d+\s+([\d.]+)", line) for line in lines)
    scores = {row[1]: float(row[2]) for row in rows if row}
    assert {"pgt", "kernel", "kernel, 100 visits"} < scores.keys()
    best = max((name for name in scores if name != "pgt"), key=lambda name: scores[name])
    assert f"best baseline ({best})" in lines[-1]
    lead = float(lines[-1].split(": ")[1].split()[0])
    assert lead == pytest.approx(scores["pgt"] - scores[best], abs=0.11)


def test_the_results_file_is_whole() -> None:
    report = read_results("own_city")
    rows = report.rows
    assert report.header["data"]["people"] == 500
    assert report.header["training"]["epochs"] == EPOCHS
    scores = rows[(rows.table == "scores") & (rows.group == "all")]
    assert sorted(scores[scores.model == "pgt"].seed) == sorted(SEEDS)
    ends = rows[rows.table == "ends"].set_index(["share", "group", "model"])
    kernel = scores[scores.model == "kernel"].iloc[0]
    # The commands and the package give the same windows and the same rule.
    same = ends.loc[(SHARE, "unknown", "kernel")]
    assert same.n == kernel.n
    assert same.value == pytest.approx(kernel["acc@1"], abs=0.01)
    # A visit more is a window more, an end more is none.
    assert ends.loc[(1.0, "known", "kernel"), "n"] > same.n
    assert ends.loc[(SHARE, "known", "kernel"), "n"] == same.n
