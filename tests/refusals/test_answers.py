"""A model whose numbers are none says so, instead of leaving people out."""

from __future__ import annotations

import math

import pytest
import torch
import wherenext.city

import pgt
from pgt.predict import predict
from pgt.refusals.answers import require_answers


def test_impossible_answers_are_refused() -> None:
    require_answers(torch.tensor([[-1.0, -math.inf]]))
    for bad in ([[-1.0, math.nan]], [[-1.0], [-math.inf]], [[math.nan]]):
        with pytest.raises(pgt.DataError, match="gives no place a probability"):
            require_answers(torch.tensor(bad))


@pytest.mark.parametrize("size", [1e30, math.nan])
def test_nobody_is_left_out_by_damaged_weights(size: float) -> None:
    model, vocabulary = pgt.load_model(pgt.checkpoint.shipped("city"))
    windows = pgt.checkpoint.load_windows_config(pgt.checkpoint.shipped("city"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(size)
    with pytest.raises(pgt.DataError, match="its weights are damaged, or far too large"):
        predict(model, vocabulary, wherenext.city.load().visits, windows=windows)
