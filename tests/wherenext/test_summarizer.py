"""The pointer-generator network: what must hold exactly."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from wherenext.relatives.summarizer import (
    DOCUMENT,
    SMALL,
    START,
    STOP,
    PointerGenerator,
    SummarizerTraining,
    TextBatch,
    Words,
    beam_search,
    fit_summarizer,
    text_batch,
)

WORDS = Words("at home one two hours busy . mostly".split())
PAIRS = [
    ("at home two hours . at Elm Row one hours .".split(), "busy . mostly at Elm Row .".split()),
    ("at Tin Owl two hours . home".split(), "mostly at Tin Owl .".split()),
    ("at Elm Elm two hours".split(), "busy at Elm Mole .".split()),
]
TINY = replace(
    SMALL, n_words=len(WORDS), embedding=6, hidden=5, max_summary=9, coverage=True, beam=3
)


def model_of(seed: int = 0, noise: float = 0.4, **changes: object) -> PointerGenerator:
    torch.manual_seed(seed)
    model = PointerGenerator(replace(TINY, **changes)).double().eval()  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(noise * torch.randn_like(parameter))
    return model


@pytest.fixture
def batch() -> TextBatch:
    return text_batch(PAIRS, WORDS)


def test_erratum_22_the_count_of_the_paper_needs_output_and_cell_in_attention_and_gate() -> None:
    # See et al. (2017), section 5: 21,499,600; the pointer adds 1153 and coverage 512.
    models = [PointerGenerator(replace(DOCUMENT, pointer=pointer, coverage=coverage))
              for pointer, coverage in ((False, False), (True, False), (True, True))]  # fmt: skip
    expected = [21_499_600, 21_499_600 + 1153, 21_499_600 + 1153 + 512]
    assert [model.n_parameters() for model in models] == expected
    hidden = DOCUMENT.hidden
    assert models[0].decoder.attention.of_state.in_features == 2 * hidden
    assert models[0].project.in_features == hidden + 2 * hidden


def test_the_mixture_sums_to_one_over_the_extended_vocabulary(batch: TextBatch) -> None:
    model = model_of()
    output = model(batch)
    distribution = model.distribution(output, batch)
    assert distribution.shape[-1] == len(WORDS) + 2
    assert torch.allclose(distribution.sum(-1), torch.ones(()).double(), atol=1e-12)
    assert (distribution >= 0).all()
    picked = distribution.gather(-1, batch.target[..., None])[..., 0]
    assert torch.allclose(model.of_target(output, batch), picked, atol=1e-14)


def test_padding_and_batch_mates_change_nothing(batch: TextBatch) -> None:
    model = model_of()
    together = model(batch)
    losses = []
    for row, pair in enumerate(PAIRS):
        single = text_batch([pair], WORDS)
        alone = model(single)
        steps, length = single.target.shape[1], int(single.length[0])
        here = together.attention[row, :steps]
        for ours, theirs in ((together.p_gen[row, :steps], alone.p_gen[0]),
                             (together.vocabulary[row, :steps], alone.vocabulary[0]),
                             (here[:, :length], alone.attention[0])):  # fmt: skip
            torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)
        assert (here[:, length:] == 0).all()
        losses.append(model.loss(single).total)
    assert torch.allclose(model.loss(batch).total, torch.stack(losses).mean(), atol=1e-12)


def test_coverage_begins_without_effect_on_attention(batch: TextBatch) -> None:
    without = model_of(coverage=False)
    with_it = without.with_coverage()
    assert with_it.config.coverage and with_it.loss(batch).total > without.loss(batch).total
    assert torch.equal(without(batch).attention, with_it(batch).attention)


def slow_loss(
    model: PointerGenerator, pair: tuple[list[str], list[str]]
) -> tuple[float, list[list[float]]]:
    """The loss and the attention that is used: words, LSTM cells, sums, one by one."""
    state = dict(model.state_dict())
    hidden, size = model.config.hidden, model.config.n_words
    source, summary = pair
    extended, oov = WORDS.extend(source)

    def cell(x: Tensor, h: Tensor, c: Tensor, where: str, end: str) -> tuple[Tensor, Tensor]:
        gates = state[f"{where}weight_ih{end}"] @ x + state[f"{where}bias_ih{end}"]
        gates = gates + state[f"{where}weight_hh{end}"] @ h
        i, f, g, o = gates.split(hidden)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def linear(name: str, x: Tensor) -> Tensor:
        return state[f"{name}.weight"] @ x + state[f"{name}.bias"]

    embed = state["embedding.weight"]
    ways, last = [], []
    for end, order in (("_l0", 1), ("_l0_reverse", -1)):
        h = c = torch.zeros(hidden).double()
        states = []
        for number in WORDS.encode(source)[::order]:
            h, c = cell(embed[number], h, c, "encoder.lstm.", end)
            states.append(h)
        ways.append(states[::order])
        last.append((h, c))
    memory = [torch.cat(both) for both in zip(*ways, strict=True)]
    h = linear("reduce.h", torch.cat([last[0][0], last[1][0]])).relu()
    c = linear("reduce.c", torch.cat([last[0][1], last[1][1]])).relu()
    context = torch.zeros(2 * hidden).double()
    coverage = [0.0] * len(source)
    total, used = 0.0, []
    answers = [*WORDS.encode_summary(summary, oov), STOP]
    for given, answer in zip([START, *WORDS.encode(summary)], answers, strict=True):
        fused = linear("decoder.fuse", torch.cat([embed[given], context]))
        h, c = cell(fused, h, c, "decoder.cell.", "")
        scores = []
        for k, one in enumerate(memory):
            inside = state["decoder.attention.of_memory.weight"] @ one
            inside = inside + linear("decoder.attention.of_state", torch.cat([c, h]))
            inside = inside + state["decoder.attention.of_coverage"] * coverage[k]
            scores.append(float(state["decoder.attention.v"] @ inside.tanh()))
        weights = [math.exp(score) for score in scores]
        attention = [weight / sum(weights) for weight in weights]
        context = sum(a * one for a, one in zip(attention, memory, strict=True))
        p_gen = float(linear("gate", torch.cat([context, c, h, fused])).sigmoid())
        logits = linear("generate", linear("project", torch.cat([h, context])))
        said = float(logits.softmax(0)[answer]) if answer < size else 0.0
        copied = sum(a for a, number in zip(attention, extended, strict=True) if number == answer)
        fine = sum(min(a, seen) for a, seen in zip(attention, coverage, strict=True))
        total += -math.log(p_gen * said + (1 - p_gen) * copied) + fine
        coverage = [seen + a for seen, a in zip(coverage, attention, strict=True)]
        used.append(attention)
    return total / len(used), used


def test_loss_and_the_attention_shown_are_those_of_a_slow_loop(batch: TextBatch) -> None:
    model = model_of()
    with torch.no_grad():
        assert model.decoder.attention.of_coverage is not None
        model.decoder.attention.of_coverage.uniform_(-1, 1)
    losses, shown = [], model(batch).attention
    for row, pair in enumerate(PAIRS):
        loss, used = slow_loss(model, pair)
        losses.append(loss)
        here = shown[row, : len(used), : len(used[0])].tolist()
        assert here == [pytest.approx(one, abs=1e-12) for one in used]
    assert model.loss(batch).total.item() == pytest.approx(sum(losses) / len(losses), rel=1e-12)


def test_it_overfits_one_batch_and_copies_names(batch: TextBatch) -> None:
    config = replace(TINY, embedding=16, hidden=24)
    training = SummarizerTraining(steps=160, coverage_steps=30, batch=3, learning_rate=0.01)
    trained, _ = fit_summarizer(config, training, WORDS, PAIRS)
    assert trained.loss(batch).words < 0.15
    drafts = beam_search(trained, batch, beam=1)
    assert not any(one.requires_grad for draft in drafts for one in draft.attention)
    for draft, oov, (_, summary) in zip(drafts[:2], batch.oov, PAIRS, strict=False):
        assert draft.words(WORDS, oov) == summary
        assert any(number >= len(WORDS) for number in draft.numbers)


def log_prob(model: PointerGenerator, pair: tuple[list[str], list[str]], numbers: tuple[int, ...]
             ) -> float:  # fmt: skip
    """Of a summary, by teacher forcing."""
    _, oov = WORDS.extend(pair[0])
    batch = text_batch([(pair[0], WORDS.decode(numbers, oov))], WORDS)
    rows = model.distribution(model(batch), batch)[0]
    return sum(rows[k, number].log().item() for k, number in enumerate(numbers))


def test_a_beam_as_wide_as_everything_finds_the_best(batch: TextBatch) -> None:
    """All summaries of at most three words, tried one by one."""
    model = model_of(5, max_summary=3)
    single = text_batch(PAIRS[1:2], WORDS)
    size = len(WORDS) + len(single.oov[0])
    (found,) = beam_search(model, single, beam=size**2 + 1)
    every = [(STOP,), *((a, STOP) for a in range(size) if a != STOP)]
    every += [(a, b, STOP) for a in range(size) for b in range(size) if STOP not in (a, b)]
    best = max(log_prob(model, PAIRS[1], one) / len(one) for one in every)
    assert found.score == pytest.approx(best, abs=1e-9)
