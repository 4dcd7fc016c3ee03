"""Tuning: every model has the same chances, and the settings in use are those that won."""

from __future__ import annotations

from lab.search_space import MODELS, TUNED, candidates
from wherenext.results import read_results


def test_the_settings_in_use_won_on_validation() -> None:
    results = read_results("tuning")
    assert list(TUNED) == list(MODELS)
    for model in MODELS:
        rows = results.select(split="valid", data="geolife", protocol="published", model=model)
        assert list(rows.variant) == list(candidates(model))
        assert TUNED[model] == rows.variant.loc[rows["acc@1"].idxmax()]
        known = [s.shape | vars(s.training) for s in candidates(model).values()]
        for name in ("learning_rate", "label_smoothing", "weight_decay", "batch_size", "monitor"):
            assert list(rows[name]) == [settings[name] for settings in known]
