"""The benchmarks compare like with like: same windows, same model, a well-formed file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "lab" / "bench"))

import bench  # noqa: E402
import bench_device  # noqa: E402
import bench_fresh  # noqa: E402
import bench_growth  # noqa: E402
import bench_many  # noqa: E402
import bench_mapped  # noqa: E402
import bench_programs  # noqa: E402
import bench_vocabulary  # noqa: E402
from bench_rows import QUICK, exponent, row  # noqa: E402
from documented_model import DocumentedModel, SampleDataset, collate, from_batch  # noqa: E402
from many_baskets import many_baskets  # noqa: E402
from windows_loop import prepare_by_loop  # noqa: E402

from pgt.config import ModelConfig  # noqa: E402
from pgt.model import PointerGeneratorTransformer  # noqa: E402
from pgt.sparse import cross_entropy  # noqa: E402
from pgt.windows import Dataset, PreparedDataset, prepare  # noqa: E402


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Three people at irregular hours for two months, with gaps and with places new in the test."""
    rng = np.random.default_rng(3)
    parts = []
    for user in ("ann", "bob", "cy"):
        hours = np.cumsum(rng.exponential(9, size=160) + (rng.random(160) < 0.05) * 150 + 1)
        start = pd.Timestamp("2024-03-01 05:20", tz="Europe/Vienna") + pd.to_timedelta(
            (hours * 60).round(), unit="min"
        )
        stay = pd.to_timedelta(rng.integers(1, 60, size=160), unit="min")
        place = rng.zipf(1.6, size=160).clip(max=9) + np.arange(160) // 140 * 20
        parts.append(
            pd.DataFrame(
                {"user_id": user, "location_id": place, "started_at": start,
                 "finished_at": start + stay}
            )
        )  # fmt: skip
    return prepare(pd.concat(parts, ignore_index=True))


def test_loop_builds_the_same_windows(data: Dataset) -> None:
    samples = prepare_by_loop(data)
    for name, count in data.counts().items():
        windows = getattr(data, name)
        assert len(samples[name]) == count > 0
        for i, sample in enumerate(samples[name]):
            batch = windows.batch([i])
            for key in ("location", "time", "weekday", "duration", "start_minute"):
                np.testing.assert_array_equal(sample[key], getattr(batch, key)[0].numpy(), key)
            days = (batch.days_ago[0] + batch.gap_days).numpy()
            np.testing.assert_array_equal(sample["diff"], days)
            assert sample["gap"] == batch.gap_days.item()
            assert sample["user"] == batch.user.item()
            assert sample["target"] == batch.target.item()


def test_some_target_is_unknown(data: Dataset) -> None:
    assert (data.test.targets == 1).any(), "the comparison above must cover unknown places"


def test_collated_samples_equal_the_batch(data: Dataset) -> None:
    samples = SampleDataset(prepare_by_loop(data)["train"])
    locations, target, rest = collate([samples[i] for i in range(7)])
    ours = from_batch(data.train.batch(list(range(7))))
    torch.testing.assert_close((locations, target), ours[:2])
    assert rest.keys() == ours[2].keys()
    for key, value in rest.items():
        torch.testing.assert_close(value, ours[2][key], msg=key)


@pytest.mark.parametrize("training", [False, True])
def test_documented_forward_equals_ours(data: Dataset, training: bool) -> None:
    vocabulary = data.vocabulary
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users, dropout=0.0, target_time="day")
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(config)
    assert model.pointer is not None and model.pointer.position_bias is not None
    torch.nn.init.normal_(model.pointer.position_bias)
    documented = DocumentedModel(config).copy_weights(model)
    model.train(training)
    documented.train(training)
    batch = data.test.batch(list(range(16)))
    ours = model(batch).log_probs
    locations, target, rest = from_batch(batch)
    theirs = documented(locations, rest)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)

    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.03)(theirs, target)
    torch.testing.assert_close(cross_entropy(ours, target, 0.03).mean(), loss, rtol=0, atol=1e-5)


def test_documented_model_refuses_ablations() -> None:
    with pytest.raises(ValueError, match="every part"):
        DocumentedModel(ModelConfig(10, 3, target_time="unknown"))


@pytest.mark.slow
def test_quick_bench_writes_a_valid_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PGT_GEOLIFE_WINDOWS", raising=False)
    out = tmp_path / "bench.json"
    bench.main(["--quick", "--only", "windows", "training", "city", "--out", str(out)])
    assert "ratio" in capsys.readouterr().out

    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["data"]["name"] == "city"
    assert result["command"].startswith("python book/lab/bench/bench.py --quick")
    assert {"experiment", "versions", "device", "threads", "seconds"} <= result.keys()
    assert str(ROOT) not in out.read_text(encoding="utf-8")
    assert len(result["rows"]) >= 5
    assert all("peak" in one for one in result["rows"] if one["unit"] == "s")
    for one in result["rows"]:
        assert_well_formed(one)


def assert_well_formed(one: dict[str, object]) -> None:
    """Every row has what the page and the chapters read."""
    always = {"name", "ours", "reference", "ratio", "unit", "device"}
    assert always <= one.keys() <= always | {"section", "peak", "n"}
    assert one["unit"] in {"s", "MiB", "%", "points", "exponent", "weight"}
    assert one["ours"] > 0 or one["unit"] in {"MiB", "exponent", "weight"}
    assert one["ratio"] is None or (one["ratio"] > 0 and one["unit"] in {"s", "MiB"})
    assert one.get("peak", 0) >= 0


def test_sections_that_are_measured_again_take_the_place_of_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGT_GEOLIFE_WINDOWS", raising=False)
    speed = 2.0
    for name in bench.sections():
        monkeypatch.setattr(
            bench, f"bench_{name}", lambda *_, name=name: [row(name, speed, 4, "s")]
        )
    out = tmp_path / "bench.json"
    bench.main(["--out", str(out)])
    before = json.loads(out.read_text(encoding="utf-8"))
    speed = 1.0
    bench.main(["--only", "gps", "city", "--update", "--out", str(out)])
    after = json.loads(out.read_text(encoding="utf-8"))
    assert [one["section"] for one in after["rows"]] == list(bench.sections())
    again = {one["section"] for one in after["rows"] if one["ours"] == 1.0}
    assert again == {"gps", "city"} == set(after["measured_again"])
    assert after["command"] == before["command"] and after["seconds"] == before["seconds"]
    with pytest.raises(SystemExit, match="There is no"):
        bench.main(["--only", "gps", "--update", "--out", str(tmp_path / "none.json")])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would run in fresh processes runs in this one, which is quicker."""

    def call(function: str, *args: object, threads: int | None = None) -> object:
        module, _, name = function.rpartition(".")
        return json.loads(json.dumps(getattr(sys.modules[module], name)(*args)))

    for module in (bench_vocabulary, bench_growth, bench_many, bench_mapped):
        monkeypatch.setattr(module, "in_fresh_process", call)


NEW = ("vocabulary", "growth", "large", "mapped", "intervals", "clustering", "baskets")


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("section", NEW)
def test_a_quick_section_has_rows_with_memory(section: str) -> None:
    rows, failed = bench.measured([section], QUICK)
    assert not failed
    for one in rows:
        assert_well_formed(one)
    assert all("peak" in one for one in rows if one["unit"] == "s")
    assert len({one["name"] for one in rows}) == len(rows)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_growth_can_be_drawn_as_curves() -> None:
    rows, _ = bench.measured(["growth"], QUICK)
    for what in bench_growth.STAGES.values():
        curve = [one for one in rows if one["name"].split(": ", 1)[-1].startswith(what)]
        assert {one["n"] for one in curve if one["unit"] == "s"} == {500, 2_000}
    steep = [one for one in rows if one["unit"] == "exponent"]
    assert len(steep) == len(bench_growth.STAGES)
    assert {one["reference"] for one in steep} == {bench_growth.STEEPEST}


@pytest.mark.usefixtures("here")
def test_windows_on_disk_that_are_others_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = bench_mapped.marked
    seen: list[dict[str, str]] = []

    def other(data: PreparedDataset) -> dict[str, str]:
        seen.append(marks(data) | ({"test": "another"} if seen else {}))
        return seen[-1]

    monkeypatch.setattr(bench_mapped, "marked", other)
    rows, failed = bench.measured(["mapped"], QUICK)
    assert not rows and "in memory" in failed[0]


def test_the_mark_of_windows_sees_every_number() -> None:
    data = prepare(bench_growth.grown(3_000, 40))
    marks = bench_mapped.marked(data)
    assert marks == bench_mapped.marked(prepare(bench_growth.grown(3_000, 40)))
    data.test.features[-1, -1] += 1
    changed = bench_mapped.marked(data)
    assert {name for name in marks if marks[name] != changed[name]} == {"test"}


@pytest.mark.slow
@pytest.mark.parametrize("section", ["engines", "team"])
def test_a_quick_section_of_several_processes(section: str) -> None:
    rows, failed = bench.measured([section], QUICK)
    assert not failed
    for one in rows:
        assert_well_formed(one)
    assert all("peak" in one for one in rows if one["unit"] == "s")
    apart = [one for one in rows if one["unit"] == "weight"]
    assert all(one["ours"] <= one["reference"] for one in apart)


@pytest.mark.slow
def test_the_device_is_measured_beside_the_processor() -> None:
    rows = [*bench_device.bench_device(QUICK, "cpu")]
    for one in rows:
        assert_well_formed(one)
    same = [one for one in rows if one["unit"] == "%"]
    assert same and all(one["ours"] == one["reference"] for one in same)


def test_without_a_device_the_section_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert list(bench_device.bench_device(QUICK)) == []
    assert "no CUDA device" in capsys.readouterr().out


def test_a_section_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> object:
        yield row("before", 1.0, None, "s")
        raise RuntimeError("there is no more room.")

    monkeypatch.delenv("PGT_GEOLIFE_WINDOWS", raising=False)
    for name, section in (
        ("bench_city", broken),
        ("bench_device", lambda _: [row("on", 2, 4, "s")]),
    ):
        monkeypatch.setattr(bench, name, section)
    out = tmp_path / "bench.json"
    with pytest.raises(SystemExit, match="'city' failed: there is no more room"):
        bench.main(["--quick", "--only", "city", "device", "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [one["name"] for one in result["rows"]] == ["before", "on"]
    assert result["failed"] == ["The section 'city' failed: there is no more room."]


def test_a_row_says_how_many_times_less_ours_needs() -> None:
    one = row("made", 2.0, 8.0, "s", "cpu", peak=12.3456, n=10)
    assert (one["ratio"], one["peak"], one["n"]) == (4.0, 12.35, 10)
    assert row("made", 2.0, 8.0, "%", "cpu")["ratio"] is None
    assert exponent((1_000, 10_000), (3.0, 300.0)) == pytest.approx(2.0)


def test_memory_is_what_the_work_itself_needs() -> None:
    with bench_fresh.Watch() as seen:
        needed = np.ones(2**22)  # 32 MiB
    del needed
    with bench_fresh.Watch() as after:
        pass
    assert 30 < seen.peak < 60
    assert seen.whole == pytest.approx(seen.held + seen.peak)
    assert after.peak < 8, "what happened before a watch is not the work's"


def test_a_fresh_process_answers_or_says_why_not() -> None:
    held = bench_fresh.in_fresh_process("bench_fresh.memory", "VmRSS")
    assert 5 < held < bench_fresh.memory("VmRSS"), "this process has loaded much more"
    with pytest.raises(RuntimeError, match="no_such"):
        bench_fresh.in_fresh_process("bench_fresh.no_such")


def test_a_steps_memory_does_not_count_the_gradients() -> None:
    found = bench_vocabulary.step(60_000, 2, 1)
    ours, dense = found["peak"]
    assert ours < 2 * 60_000 * 64 * 4 / bench_fresh.MIB, "less than the gradients alone"
    assert dense > 0


def test_a_contextual_batch_among_more_places_is_the_same_question() -> None:
    data = prepare(bench_growth.grown(3_000, 40), protocol="exact")
    batch = bench_growth.with_history(data, 20).train.batch([0, 1, 2])
    wide = bench_vocabulary.apart(batch, 7)
    for name in ("location", "before", "target"):
        one, other = getattr(batch, name), getattr(wide, name)
        assert torch.equal(one > 1, other > 1)
        assert torch.equal(other[one > 1], 7 * one[one > 1])
        assert torch.equal(other[one <= 1], one[one <= 1])


def test_without_fixes_the_section_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PGT_GEOLIFE_FIXES", raising=False)
    assert list(bench.bench_gps(QUICK)) == []
    assert "PGT_GEOLIFE_FIXES" in capsys.readouterr().out


def test_without_trackintel_the_comparison_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGT_GEOLIFE_FIXES", str(tmp_path))
    monkeypatch.delenv("PGT_TRACKINTEL_PYTHON", raising=False)
    assert list(bench.bench_gps(QUICK)) == []
    assert "PGT_TRACKINTEL_PYTHON" in capsys.readouterr().out


@pytest.mark.slow
def test_chapters_run_alone_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("nbclient")
    cell = nbformat.v4.new_code_cell("import os\nassert os.listdir() == []")
    (tmp_path / "book").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "book" / "01_one.ipynb")
    monkeypatch.setattr(bench_programs, "ROOT", tmp_path)
    chapter, book = bench.bench_chapters(QUICK)
    assert chapter["name"].startswith("chapter 01_one")
    assert 0 < chapter["ours"] <= book["ours"]
    assert 20 < chapter["peak"] == book["peak"]


def test_made_baskets_are_those_of_a_grocer() -> None:
    parts = many_baskets(n_people=600)
    again = many_baskets(n_people=600)["train"]
    assert torch.equal(parts["train"].present, again.present)
    assert [len(one) for one in parts.values()] == [420, 60, 120]
    one = parts["train"]
    sizes = one.present.sum(1)
    assert 5.0 < float(sizes[sizes > 0].float().mean()) < 6.0
    assert 6.0 < float(one.length.float().mean()) < 7.0 and int(one.length.min()) == 3
    counts = torch.bincount(one.elements[one.elements >= 0], minlength=one.n_elements)
    assert counts[:50].min() > counts[500:].max(), "few elements are popular"
    repeated = float((one.truth() & one.seen()).sum() / one.truth().sum())
    assert 0.25 < repeated < 0.75, "people buy again what they bought"
