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
from reference import DocumentedModel, collate, prepare_by_loop  # noqa: E402

from pgt.config import ModelConfig  # noqa: E402
from pgt.model import PointerGeneratorTransformer, cross_entropy  # noqa: E402
from pgt.windows import Dataset, prepare  # noqa: E402


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


@pytest.mark.parametrize("training", [False, True])
def test_documented_forward_equals_ours(data: Dataset, training: bool) -> None:
    vocabulary = data.vocabulary
    config = ModelConfig(vocabulary.n_locations, vocabulary.n_users, dropout=0.0, target_time="day")
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(config)
    assert model.pointer is not None and model.pointer.position_bias is not None
    torch.nn.init.normal_(model.pointer.position_bias)
    documented = DocumentedModel(model)
    model.train(training)
    documented.train(training)
    batch = data.test.batch(list(range(16)))
    ours = model(batch).log_probs
    locations, target, rest = collate(prepare_by_loop(data)["test"][:16])
    assert torch.equal(locations.T, batch.location) and torch.equal(target, batch.target)
    theirs = documented(locations, rest)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)

    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.03)(theirs, target)
    torch.testing.assert_close(cross_entropy(ours, target, 0.03).mean(), loss, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_the_bench_writes_a_valid_file(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "usual_data", lambda: ("few", pd.concat(
        part.visits for part in (data.train, data.valid, data.test)
    )))  # fmt: skip
    out = tmp_path / "bench.json"
    for section in ("windows", "training", "windows"):
        bench.main(["--only", section, "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [one["section"] for one in result["rows"]] == ["windows", "training"]
    assert result["data"]["name"] == "few" and str(ROOT) not in out.read_text(encoding="utf-8")
    assert {"experiment", "command", "versions", "device", "threads", "seconds"} <= result.keys()
    for one in result["rows"]:
        assert {"name", "ours", "reference", "ratio", "unit", "device"} <= one.keys()
