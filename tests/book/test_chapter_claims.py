"""What the chapters say in words of measured results, where it holds only if they come out so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from wherenext import city
from wherenext.flows import flows
from wherenext.gates import gates
from wherenext.results import read_results

from pgt.checkpoint import load_model, shipped
from pgt.windows import prepare


def test_claims_of_11() -> None:
    report = read_results("gate")
    for data, outcome in (("city", "returned"), ("city", "in_window"), ("geolife", "in_window")):
        (low,) = report.select("low", data=data)[f"slope_{outcome}"]
        assert low <= 1, "the gate does not hedge: its slope is not surely above one"
        apart, within = (
            report.mean(f"{key}_{outcome}", data=data, model="pgt") for key in ("auc", "auc_within")
        )
        assert 0.5 < within < 0.6 and within <= apart + 0.01, "it tells people apart, not moments"
    assert report.mean("skill_returned", data="city", model="pgt") < 0, "worse than the average"
    for data in ("city", "geolife"):
        (ahead,) = report.select("difference", data=data).to_dict("records")
        assert ahead["low_in_window"] > 0, "counting is ahead of the gate"


def curves(what: str, variant: str, letter: str = "b", upto: int = 15) -> np.ndarray:
    """(seeds, upto) curves of the trained models, as chapter 12 reads them."""
    files = [read_results(f"position_bias{end}").rows for end in ("", "_towns")]
    rows = pd.concat(files)
    rows = rows[(rows.what == what) & (rows.variant == variant)]
    return rows[[f"{letter}{p}" for p in range(1, upto + 1)]].to_numpy()


def agreement(table: np.ndarray) -> float:
    """Mean correlation of two curves from position 3 on."""
    found = np.corrcoef(table[:, 2:])
    return float(found[np.triu_indices(len(table), 1)].mean())


def fall(what: str, variant: str, letter: str) -> float:
    """How far the mean curve falls from the newest five positions to the oldest five."""
    table = curves(what, variant, letter)
    return float((table[:, :5].mean(1) - table[:, -5:].mean(1)).mean())


def test_claims_of_12() -> None:
    for what in ("city", "geolife"):
        assert np.abs(curves(what, "as documented")).max() < 0.06, "nearly flat"
    one_town, towns = (agreement(curves(w, "fast bias")) for w in ("city", "other people"))
    assert one_town > 0.3 and towns < one_town / 2, "seeds agree about people, not towns"
    bias = {
        v: np.polyfit(np.arange(20), curves("fading kernel", v, upto=20).T, 1)[0].mean()
        for v in ("bias only", "both, bias at a tenth", "both", "both, bias tenfold")
    }
    share = {v: slope / np.log(0.8) for v, slope in bias.items()}
    assert share["both, bias at a tenth"] < 0.15 < share["both"] < 0.5, "off by more than two"
    assert min(share["bias only"], share["both, bias tenfold"]) > 0.85
    assert abs(fall("short memory", "as documented", "b")) < 0.1, "flat, with recency"
    assert fall("city", "fast bias", "b") < 0, "rises, with recency"
    for way in ("as documented", "fast bias"):
        total = {w: fall(w, way, "b") + fall(w, way, "c") for w in ("short memory", "no recency")}
        assert total["short memory"] > total["no recency"] + 0.3, "the sum shows strong recency"
        assert fall("city", way, "b") + fall("city", way, "c") < 0.15, "and misses weak recency"


def test_claims_of_13() -> None:
    town = city.load()
    model, vocabulary = load_model(shipped("city"))
    test = prepare(town.visits, protocol="exact", vocabulary=vocabulary).test
    moves = flows(model, test, town.places.set_index("location_id").district)
    stay = moves[moves.here == moves.there]
    assert stay.attention.sum() > stay.answers.sum() + 1, "attention stays more than people do"
    opened, sure = gates(model, test), np.zeros(len(test))
    with torch.no_grad():
        for batch in test.batches(512):
            sure[batch.index] = model(batch).log_probs.exp().max(1).values
    opened["sure"] = sure
    truth = test.visits.iloc[test.target].reset_index(drop=True)
    different = (opened.length * opened.unique_share).round()
    readable = opened.length.between(8, 20) & (different >= 5)
    story = truth.p_explore[readable & truth.explored].idxmax()
    assert truth.p_explore[story] > 0.99 and opened.gate[story] > opened.gate.quantile(0.2)
    assert sure[opened[readable & ~opened.correct].sure.idxmax()] > 0.6, "a confident mistake"
    surest = opened.nlargest(200, "sure")
    assert surest.sure.mean() > surest.correct.mean() + 0.05, "too sure among the surest"
    assert abs(opened.sure.mean() - opened.correct.mean()) < 0.02, "and over all windows not"
