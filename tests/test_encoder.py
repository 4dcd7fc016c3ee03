"""The encoder: where it begins, and what changes nothing for a visit.

What it computes is compared with PyTorch's layers and with the paper in ``test_model.py``.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.model import Encoder, EncoderLayer, SelfAttention

LENGTHS = torch.tensor([9, 1, 4, 7])


def config(**changes: object) -> ModelConfig:
    size = {"d_model": 16, "n_heads": 4, "n_layers": 3, "d_feedforward": 32, "max_len": 12}
    return ModelConfig(10, 3, **{**size, "dropout": 0.0, **changes})  # type: ignore[arg-type]


@pytest.fixture
def encoder() -> Encoder:
    """In double precision, away from its first weights."""
    torch.manual_seed(0)
    made = Encoder(config()).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.3)
    return made.eval()


@pytest.fixture
def x() -> Tensor:
    return torch.randn(4, 9, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def padding() -> Tensor:
    return torch.arange(9) >= LENGTHS[:, None]


def close(one: Tensor, two: Tensor) -> None:
    torch.testing.assert_close(one, two, atol=1e-12, rtol=0)


# --- what changes nothing


def test_what_stands_in_the_padding_and_how_much_of_it_there_is_change_nothing(
    encoder: Encoder, x: Tensor, padding: Tensor
) -> None:
    whole, _ = encoder(x, padding)
    other = torch.where(padding[..., None], 100 * torch.ones_like(x), x)
    close(encoder(other, padding)[0][~padding], whole[~padding])
    wide = encoder(nn.functional.pad(x, (0, 0, 0, 3)), nn.functional.pad(padding, (0, 3), value=1))
    close(wide[0][:, :9][~padding], whole[~padding])


def test_batch_mates_and_batch_size_change_nothing(
    encoder: Encoder, x: Tensor, padding: Tensor
) -> None:
    whole, _ = encoder(x, padding)
    for row, n in enumerate(LENGTHS.tolist()):
        alone, _ = encoder(x[[row], :n], padding[[row], :n])
        close(alone[0], whole[row, :n])


def test_every_visit_sees_every_other_and_nothing_of_the_padding(
    encoder: Encoder, x: Tensor, padding: Tensor
) -> None:
    x.requires_grad_()
    out, _ = encoder(x, padding)
    out[:, 0].sum().backward()  # of the first visit alone
    assert x.grad is not None
    assert (x.grad[~padding].abs().sum(1) > 0).all()
    assert (x.grad[padding] == 0).all()


def test_without_positions_the_order_changes_nothing_and_with_them_it_does(
    encoder: Encoder, x: Tensor
) -> None:
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    inside = torch.zeros(4, 9, dtype=torch.bool)
    blind = Encoder(config(without=("sinusoid",))).double().eval()
    blind.load_state_dict(encoder.state_dict())
    for one, same in ((blind, True), (encoder, False)):
        turned, straight = one(x[:, order], inside)[0], one(x, inside)[0][:, order]
        assert torch.allclose(turned, straight, atol=1e-12, rtol=0) == same


# --- gradients


def test_gradients_are_those_of_finite_differences(padding: Tensor) -> None:
    torch.manual_seed(3)
    layer = EncoderLayer(config(d_model=4, n_heads=2, d_feedforward=6)).double().eval()
    x = torch.randn(4, 9, 4, dtype=torch.float64)[:, :4].requires_grad_()
    inside = padding[:, :4]
    assert torch.autograd.gradcheck(lambda x: layer(x, inside)[0][~inside], (x,))


# --- where it begins


def test_attention_begins_like_pytorchs() -> None:
    d = 96
    torch.manual_seed(0)
    ours, theirs = SelfAttention(config(d_model=d)), nn.MultiheadAttention(d, 4)
    limit = math.sqrt(6 / (d + 3 * d))  # Glorot and Bengio (2010)
    for weight in (ours.project.weight, theirs.in_proj_weight):
        assert weight.abs().max() <= limit
        assert weight.abs().max() > 0.99 * limit
        assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    for one, other in (
        (ours.project.bias, theirs.in_proj_bias),
        (ours.out.bias, theirs.out_proj.bias),
    ):
        assert torch.equal(one, other) and (one == 0).all()


def test_at_the_start_every_layer_only_adds_to_what_comes_in_and_keeps_its_scale(
    x: Tensor, padding: Tensor
) -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(config(d_model=16)).double().eval()
    out, _ = layer(x, padding)
    added = (out - x)[~padding]
    assert 0 < added.std() < x[~padding].std()


# --- what is kept, and what is shown


def test_dropout_acts_in_training_alone(x: Tensor, padding: Tensor) -> None:
    torch.manual_seed(0)
    noisy = Encoder(config(dropout=0.5)).double()
    one, two = (noisy(x, padding)[0] for _ in range(2))
    assert not torch.equal(one, two)
    noisy.eval()
    assert torch.equal(noisy(x, padding)[0], noisy(x, padding)[0])
