"""Networks between the original and PGT differ in the one part that they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from lab.hybrids import Original, OriginalConfig, WithDecoder
from wherenext import city

from pgt.config import ModelConfig
from pgt.windows import Dataset, prepare

CONFIG = ModelConfig(n_locations=50, n_users=4, d_model=16, n_heads=2, d_feedforward=32, dropout=0)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(city.load().visits, protocol="exact")


@pytest.fixture(scope="module")
def sized(data: Dataset) -> ModelConfig:
    return replace(CONFIG, n_locations=data.vocabulary.n_locations, n_users=data.vocabulary.n_users)


@pytest.mark.parametrize("decoder", [True, False])
def test_the_original_reads_places_and_nothing_else(data: Dataset, decoder: bool) -> None:
    torch.manual_seed(0)
    config = OriginalConfig(data.vocabulary.n_locations, 8, 8, decoder=decoder)
    model = Original(config).eval()
    batch = data.test.batch([0, 1, 2])
    said = model(batch).log_probs
    assert torch.allclose(said.exp().sum(1), torch.ones(3), atol=1e-5)
    for name in ("time", "weekday", "duration", "user"):
        other = replace(batch, **{name: torch.ones_like(getattr(batch, name))})
        assert torch.equal(model(other).log_probs, said)
    shuffled = replace(batch, location=batch.location.flip(1), length=batch.length)
    assert not torch.allclose(model(shuffled).log_probs, said, atol=1e-4)
    alone = model(data.test.batch([1])).log_probs
    assert torch.allclose(alone[0], said[1], atol=1e-5)  # padding has no part in it
    assert (model.decoder is None) != decoder


def test_the_decoder_of_pgt_takes_part(sized: ModelConfig, data: Dataset) -> None:
    torch.manual_seed(0)
    model = WithDecoder(sized).eval()
    batch = data.test.batch([0, 1, 2])
    out = model(batch)
    assert torch.allclose(out.log_probs.exp().sum(1), torch.ones(3), atol=1e-5)
    assert torch.equal(out.pointer_attention > 0, ~batch.padding)
    torch.nn.init.normal_(model.start)  # a zero would hide the first step of what fuses it
    model.train()
    model(batch).log_probs.logsumexp(0).sum().backward()
    for name, parameter in model.decoder.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    with pytest.raises(ValueError, match="needs the whole model"):
        WithDecoder(replace(sized, without=("gate",)))
