"""The journey of a practitioner: a table of one's own, and the commands that chapter 23 prints.

The other readers' journeys: a newcomer on a phone and a teacher are in
``browser/test_journeys.py``, a student who opens every chapter in Colab is in
``colab/test_wheel_alone.py``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.sax.saxutils import escape

import pandas as pd
import pytest
from wherenext import city
from wherenext.city.checkins import as_checkins, sampled

from pgt.cli.parser import main

from ..helpers import ROOT

CHAPTER = ROOT / "book" / "23_real_cities.py"


def commands() -> list[str]:
    """What chapter 23 tells the reader to type after ``python -m pgt``, in order."""
    tree = ast.parse(CHAPTER.read_text(encoding="utf-8"))
    return [
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "run"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]


def test_own_table_to_score_with_the_commands_of_the_chapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own = sampled(city.load().visits.drop(columns="split"), people=6)
    as_checkins(own).to_csv("checkins.csv", index=False)
    first = {line.split()[0]: line for line in reversed(commands())}
    assert {"prepare", "train", "evaluate"} <= first.keys(), "chapter 23 lost a command"

    assert main(first["prepare"].split()) == 0
    assert "6 people" in capsys.readouterr().out
    table = pd.read_parquet("visits.parquet")
    assert {"user_id", "location_id", "started_at", "finished_at", "split"} <= set(table.columns)

    assert main(first["train"].replace("--epochs 2", "--epochs 1").split()) == 0
    capsys.readouterr()
    assert main(first["evaluate"].split()) == 0
    told = capsys.readouterr().out
    for word in ("kernel", "most_frequent", "last", "acc@1"):
        assert word in told, f"the table of scores lacks {word}"

    # And where next, for somebody of the table?
    person = str(as_checkins(own)["User ID"].value_counts().index[0])
    words = ["predict", "visits.parquet", "model.safetensors", "--user", person, "--top", "3"]
    assert main(words) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) >= 3


def test_a_table_that_is_not_understood_is_answered_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"who": [1], "venue": ["a"], "date": ["2024-01-01"]}).to_csv(
        "own.csv", index=False
    )
    assert main(["prepare", "own.csv", "visits.parquet"]) != 0
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1 and "user_id" in said and "--columns" in said
    assert "Traceback" not in said and not Path("visits.parquet").exists()


def test_checkins_to_a_map_in_two_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own = sampled(city.load().visits.drop(columns="split"), people=3)
    table = as_checkins(own)
    table.to_csv("checkins.csv", index=False)
    person = str(table["User ID"].value_counts().index[0])
    assert main(["predict", "checkins.csv", "--user", person, "--top", "3"]) == 0
    first = capsys.readouterr().out.splitlines()[1].split()[1]
    assert main(["map", "checkins.csv", "--user", person, "--out", "map.html"]) == 0
    said = capsys.readouterr().out
    assert "loads Leaflet from a CDN" in said and "Streets are off" in said
    page = Path("map.html").read_text(encoding="utf-8")
    assert re.findall(r"<td>(.*?)</td>", page)[0] == first
    assert main(["map", "checkins.csv", "--user", person, "--streets", "--out", "map.html"]) == 0
    assert "Streets are on" in capsys.readouterr().out


def recorded(folder: Path) -> Path:
    """Twelve days of somebody's positions: a GPX file a day, and all of them as a table."""
    tracks = folder / "tracks"
    tracks.mkdir()
    home, work = (16.37, 48.20), (16.40, 48.22)
    fixes = []
    for day in range(1, 13):
        points = []
        for minute in range(0, 24 * 60, 5):
            lon, lat = work if 9 * 60 <= minute < 17 * 60 else home
            moment = f"2024-05-{day:02d}T{minute // 60:02d}:{minute % 60:02d}:00Z"
            points.append(f'<trkpt lat="{lat}" lon="{lon}"><time>{moment}</time></trkpt>')
            fixes.append(("anna", moment, lon, lat))
        body = "".join(points)
        text = f"<trk><name>{escape('Anna & co')}</name><trkseg>{body}</trkseg></trk>"
        head = '<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1">'
        (tracks / f"{day:02d}.gpx").write_text(f"{head}{text}</gpx>", encoding="utf-8")
    columns = ["user_id", "tracked_at", "lon", "lat"]
    pd.DataFrame(fixes, columns=columns).to_csv(folder / "fixes.csv", index=False)
    return tracks


def test_a_folder_of_gpx_to_a_prediction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path)
    words = ["visits", "tracks", "--out", "visits.parquet", "--everybody", "--person", "anna"]
    assert main([*words, "--timezone", "Europe/Vienna", "--quiet"]) == 0
    assert main(["predict", "visits.parquet", "--top", "2"]) == 0
    said = capsys.readouterr().out
    assert "user anna" in said and "somewhere new" in said
    visits = pd.read_parquet("visits.parquet")
    assert visits.location_id.nunique() == 2
    assert main(["map", "visits.parquet", "--user", "anna", "--out", "map.html"]) == 0


@pytest.mark.parametrize(
    "recording", [["tracks", "--person", "anna"], ["fixes.csv"]], ids=["GPX", "table"]
)
def test_positions_to_an_answer_in_one_command_as_in_two(
    recording: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path)
    there = set(tmp_path.rglob("*"))
    recording = [*recording, "--timezone", "Europe/Vienna"]
    assert main(["predict", *recording]) == 0
    one = capsys.readouterr()
    assert main(["explain", *recording, "--user", "anna"]) == 0
    why = capsys.readouterr().out
    assert set(tmp_path.rglob("*")) == there, "nothing but an answer was asked for"
    assert main(["map", *recording, "--user", "anna", "--out", "one.html"]) == 0
    capsys.readouterr()

    assert main(["visits", *recording, "--everybody", "--out", "visits.parquet", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", "visits.parquet"]) == 0
    assert capsys.readouterr().out == one.out
    assert main(["explain", "visits.parquet", "--user", "anna"]) == 0
    assert capsys.readouterr().out == why
    assert main(["map", "visits.parquet", "--user", "anna", "--out", "two.html"]) == 0
    one_page, two_page = (
        re.sub("[0-9a-f]{32}", "", Path(name).read_text("utf-8"))
        for name in ("one.html", "two.html")
    )
    assert one_page == two_page  # but for the names that folium draws by lot

    said = one.err.splitlines()
    visits = len(pd.read_parquet("visits.parquet"))
    assert len(said) == 1 and "3,456 fixes of 1 person" in said[0]
    assert f"{visits} visits of 1 person to 2 places, in the zone Europe/Vienna" in said[0]


@pytest.mark.parametrize("kind", ["kernel", "markov"])
def test_a_rule_is_trained_asked_and_measured_like_the_predictor(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own = sampled(city.load().visits.drop(columns="split"), people=4)
    own.to_parquet("visits.parquet")
    out = f"{kind}.safetensors"
    assert main(["train", "visits.parquet", "--out", out, "--model", kind]) == 0
    assert main(["predict", "visits.parquet", out, "--top", "2"]) == 0
    assert capsys.readouterr().out.count("somewhere new") == 4
    assert main(["evaluate", "visits.parquet", out]) == 0
    assert f"{kind}" in capsys.readouterr().out.splitlines()[-1]
    explained = main(["explain", "visits.parquet", out, "--user", str(own.user_id.iloc[0])])
    said = capsys.readouterr()
    if kind == "kernel":
        assert explained == 0 and "points  how near to now the time of day" in said.out
    else:
        assert explained == 2 and "NextLocation.pretrained()" in said.err
    assert main(["train", "visits.parquet", "--out", out, "--model", kind, "--epochs", "2"]) == 2
    assert "--epochs is an option of PGT" in capsys.readouterr().err
