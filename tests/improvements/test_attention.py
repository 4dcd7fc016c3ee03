"""Attention with something added: each kind does what its name says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pgt import improvements
from pgt.config import ModelConfig
from pgt.improvements import (
    DISTANCES,
    RECENT,
    CausalSelfAttention,
    PostNormLayer,
    RecentFirstSelfAttention,
    RelativeSelfAttention,
    RotarySelfAttention,
    improved,
)
from pgt.model import EncoderLayer, SelfAttention
from pgt.windows import prepare

from ..helpers import random_visits, tiny_config

CONFIG = ModelConfig(50, 5, d_model=16, n_heads=2, d_feedforward=32, dropout=0.0)
KINDS = [RelativeSelfAttention, RecentFirstSelfAttention, CausalSelfAttention, RotarySelfAttention]


def of(kind: type[SelfAttention], seed: int = 0) -> Any:
    """The part with random weights, in double precision."""
    torch.manual_seed(seed)
    part = kind(CONFIG).double().eval()
    with torch.no_grad():
        for values in part.parameters():
            values.normal_()
    return part


def vectors(n: int = 9, b: int = 3) -> tuple[Tensor, Tensor]:
    """(B, L, D) numbers and (B, L) padding of windows of different lengths."""
    x = torch.randn(b, n, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([n, n - 2, n // 2])[:b]
    return x, torch.arange(n) >= lengths[:, None]


def scores(weights: Tensor) -> Tensor:
    """Log-weights up to a constant a row."""
    return weights.log() - weights.log().mean(-1, keepdim=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_of_nothing_is_plain_attention(kind: type[SelfAttention]) -> None:
    x, padding = vectors()
    if kind in (CausalSelfAttention, RotarySelfAttention):  # nothing to hide, nothing to turn
        x, padding = x[:, :1], padding[:, :1]
    part, plain = of(kind), SelfAttention(CONFIG).double().eval()
    if hasattr(part, "table"):
        nn.init.zeros_(part.table)
    plain.load_state_dict({k: v for k, v in part.state_dict().items() if k != "table"})
    for ours, theirs in zip(part(x, padding), plain(x, padding), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_sum_to_one_over_the_visits_that_are_there(kind: type[SelfAttention]) -> None:
    x, padding = vectors()
    _, weights = of(kind)(x, padding)
    assert torch.allclose(weights.sum(-1), torch.ones((), dtype=torch.float64))
    assert not weights.masked_select(padding[:, None, None].expand_as(weights)).any()


def test_the_relative_bias_depends_on_the_distance_only() -> None:
    part = of(RelativeSelfAttention)
    bias = part.bias(torch.zeros(2, 80, dtype=torch.bool))[0]  # (H, L, L)
    for apart in range(-79, 80):
        line = torch.diagonal(bias, apart, 1, 2)  # (H, 80 - |apart|)
        assert (line == line[:, :1]).all()
        entry = min(max(apart, -DISTANCES), DISTANCES) + DISTANCES  # key minus query
        assert torch.equal(line[:, 0], part.table[entry])
    assert not torch.equal(bias[:, 0, 1], bias[:, 1, 0])  # before is not after
    assert torch.equal(bias[:, 0, DISTANCES], bias[:, 0, 79])  # far is far


def test_the_relative_bias_is_added_before_the_softmax() -> None:
    part, (x, padding) = of(RelativeSelfAttention), vectors()
    _, with_bias = part(x, padding)
    bias = part.bias(padding)
    nn.init.zeros_(part.table)
    _, without = part(x, padding)
    first = slice(0, 1)  # a window without padding
    expected = scores(without[first] * bias.exp())
    torch.testing.assert_close(scores(with_bias[first]), expected, atol=1e-9, rtol=0)


def test_with_relative_positions_only_shifting_a_window_changes_nothing() -> None:
    """No sinusoid, so that the encoder knows no absolute position."""
    data = prepare(random_visits(2, users=3, visits=90), protocol="exact")
    for names, moved in ((("relative_bias",), False), (("rope",), False), ((), True)):
        torch.manual_seed(0)
        model = improved(tiny_config(data), data.train, *names).double().eval()
        x = torch.randn(1, 8, 16, dtype=torch.float64)
        before = torch.randn(1, 5, 16, dtype=torch.float64)
        encoder: Any = model.encoder
        none = torch.zeros(1, 8, dtype=torch.bool)
        alone, _ = encoder(x, none)
        # Five visits before it that nobody can see: shifted, and nothing else.
        for layer in encoder.layers:
            layer.attention.register_forward_pre_hook(_hide_first(5))
        shifted, _ = encoder(torch.cat([before, x], 1), torch.zeros(1, 13, dtype=torch.bool))
        same = torch.allclose(alone, shifted[:, 5:], atol=1e-10)
        assert same != moved, names


def _hide_first(n: int) -> Any:
    def hook(module: nn.Module, arguments: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, padding = arguments
        padding = padding.clone()
        padding[:, :n] = True
        return x, padding

    return hook


def test_rotary_scores_are_the_same_wherever_the_window_stands() -> None:
    part = of(RotarySelfAttention)
    heads = torch.randn(1, 2, 30, 8, dtype=torch.float64)
    other = torch.randn(1, 2, 30, 8, dtype=torch.float64)

    def at(x: Tensor, shift: int) -> Tensor:
        """The vectors, turned as if they stood ``shift`` visits later."""
        return part.turn(torch.cat([x.new_zeros(1, 2, shift, 8), x], dim=2))[:, :, shift:]

    here = at(heads, 0) @ at(other, 0).transpose(-2, -1)
    for shift in (1, 7, 40):
        there = at(heads, shift) @ at(other, shift).transpose(-2, -1)
        torch.testing.assert_close(there, here, atol=1e-10, rtol=0)
    torch.testing.assert_close(part.turn(heads).norm(dim=-1), heads.norm(dim=-1))  # only turned
    assert torch.equal(part.turn(heads)[:, :, 0], heads[:, :, 0])
    plain = heads @ other.transpose(-2, -1)
    assert not torch.allclose(here, plain)


def test_rotary_angles_are_those_of_the_paper() -> None:
    """Pairs of dimensions as complex numbers, multiplied by e^(i m theta_k)."""
    part = of(RotarySelfAttention)
    x = torch.randn(1, 1, 6, 8, dtype=torch.float64)
    pairs = x.numpy()[0, 0].reshape(6, 4, 2)
    numbers = pairs[..., 0] + 1j * pairs[..., 1]
    speed = 10000.0 ** (-2 * np.arange(4) / 8)
    turned = numbers * np.exp(1j * np.arange(6)[:, None] * speed)
    expected = np.stack([turned.real, turned.imag], axis=-1).reshape(6, 8)
    assert np.allclose(part.turn(x).numpy()[0, 0], expected, atol=1e-12)


def test_causal_attention_never_looks_ahead() -> None:
    part, (x, padding) = of(CausalSelfAttention), vectors()
    out, weights = part(x, padding)
    assert not weights.triu(1).any()
    for later in range(1, 9):
        other = x.clone()
        other[:, later:] = 5.0
        changed, _ = part(other, padding)
        assert torch.equal(changed[:, :later], out[:, :later])
        assert not torch.allclose(changed[0, later:], out[0, later:])


def test_in_the_whole_encoder_a_later_visit_never_changes_an_earlier_one() -> None:
    data = prepare(random_visits(2, users=3, visits=90), protocol="exact")
    for name, looks in (("causal", False), ("plain", True)):
        torch.manual_seed(0)
        model = improved(tiny_config(data), data.train, name).double().eval()
        encoder: Any = model.encoder
        x, padding = vectors()
        out, _ = encoder(x, padding)
        other = x.clone()
        other[:, 4:] += 1.0
        changed, _ = encoder(other, padding)
        assert torch.equal(changed[:, :4], out[:, :4]) != looks


def test_the_bias_to_recent_and_first_visits_is_where_it_belongs() -> None:
    part = of(RecentFirstSelfAttention)
    assert (RecentFirstSelfAttention(CONFIG).table == 1).all()
    lengths = (12, 7, 3, 1)
    padding = torch.arange(12) >= torch.tensor(lengths)[:, None]
    bias = part.bias(padding).detach().numpy()  # (B, H, 1, L)
    table = part.table.detach().numpy()
    for b, length in enumerate(lengths):
        for j in range(length):
            expected = table[0] * (j == 0)
            if length - j <= RECENT:
                expected = expected + table[length - j]
            assert np.allclose(bias[b, :, 0, j], expected), (length, j)


def test_post_norm_is_pytorchs() -> None:
    torch.manual_seed(0)
    reference = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=False
    ).double()
    layer = PostNormLayer(CONFIG).double().eval()
    with torch.no_grad():
        for values in reference.parameters():
            values.normal_()
    theirs = reference.state_dict()
    layer.load_state_dict(
        {
            "norm_attention.weight": theirs["norm1.weight"],
            "norm_attention.bias": theirs["norm1.bias"],
            "norm_feedforward.weight": theirs["norm2.weight"],
            "norm_feedforward.bias": theirs["norm2.bias"],
            "attention.project.weight": theirs["self_attn.in_proj_weight"],
            "attention.project.bias": theirs["self_attn.in_proj_bias"],
            "attention.out.weight": theirs["self_attn.out_proj.weight"],
            "attention.out.bias": theirs["self_attn.out_proj.bias"],
            "feedforward.0.weight": theirs["linear1.weight"],
            "feedforward.0.bias": theirs["linear1.bias"],
            "feedforward.3.weight": theirs["linear2.weight"],
            "feedforward.3.bias": theirs["linear2.bias"],
        }
    )
    x, padding = vectors()
    ours, _ = layer(x, padding)
    expected = reference(x, src_key_padding_mask=padding)
    torch.testing.assert_close(ours[~padding], expected[~padding], atol=1e-12, rtol=0)
    pre = EncoderLayer(CONFIG).double().eval()
    pre.load_state_dict(layer.state_dict())
    assert not torch.allclose(pre(x, padding)[0], ours)


def test_a_kind_must_say_what_it_adds() -> None:
    with pytest.raises(NotImplementedError):
        of(improvements.BiasedSelfAttention)(*vectors())
