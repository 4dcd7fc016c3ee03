"""GETNext in our own words: who sees whom, with the right wiring and with the published one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from wherenext.relatives.getnext import (
    PADDING,
    Axis,
    GETNext,
    Graph,
    Sessions,
    Settings,
    epochs,
    ranks,
)

from pgt.model import sinusoids

N, USERS = 9, 4
SMALL = Settings(
    d_place=8, d_user=8, d_time=4, d_category=4, d_graph=(4, 8), d_map=8, d_feedforward=16,
    batch_size=4, epochs=2,
)  # fmt: skip


def sessions(seed: int = 0, n: int = 12) -> Sessions:
    """Random sessions of three to seven visits."""
    generator = torch.Generator().manual_seed(seed)
    place = torch.randint(N, (n, 7), generator=generator)
    length = torch.randint(3, 8, (n,), generator=generator)
    place[torch.arange(7) >= length[:, None]] = PADDING
    time = torch.rand(n, 7, generator=generator)
    return Sessions(place, time, torch.randint(USERS, (n,), generator=generator))


def model(attends: Axis) -> GETNext:
    """A small network, in evaluation mode."""
    torch.manual_seed(0)
    return GETNext(Graph.of(sessions(), N), USERS, attends, SMALL).eval()


def scores(network: GETNext, place: Tensor, own: Sessions) -> Tensor:
    """(B, L, N) what is said after every visit; NaN at padding."""
    real = place != PADDING
    out = torch.full((*place.shape, N), torch.nan)
    with torch.no_grad():
        out[real] = network(place, own.time, own.user, real)[0]
    return out


def other_place(place: Tensor, row: int, column: int) -> Tensor:
    """The same places but one."""
    changed = place.clone()
    changed[row, column] = (changed[row, column] + 1) % N
    return changed


def differs(attends: Axis, row: int, column: int) -> Tensor:
    """(B, L) where the answers change when one visit does."""
    own, network = sessions(), model(attends)
    before = scores(network, own.place, own)
    after = scores(network, other_place(own.place, row, column), own)
    return ((before - after).abs() > 1e-5).any(-1)


def test_the_right_wiring_sees_its_own_past_alone() -> None:
    """A visit matters to its session's later answers, to no earlier one, and to no other's."""
    changed = differs("over time", 3, 1)
    rows, columns = changed.nonzero(as_tuple=True)
    assert set(rows.tolist()) == {3}
    assert columns.min() == 1 and columns.max() == sessions().length[3] - 1


def test_the_published_wiring_sees_the_rows_above_and_no_past() -> None:
    """A visit matters to the same position of its own and lower rows, and to nothing else."""
    changed = differs("over the batch", 3, 1)
    rows, columns = changed.nonzero(as_tuple=True)
    assert set(columns.tolist()) == {1}
    assert set(rows.tolist()) == set(range(3, 12))


@pytest.mark.parametrize(
    ("attends", "batch_first"), [("over time", True), ("over the batch", False)]
)
def test_the_encoder_is_torchs_with_and_without_batch_first(
    attends: Axis, batch_first: bool
) -> None:
    """Working out visits in one row gives what torch's layers give for the padded batch."""
    own, network = sessions(), model(attends)
    place = own.place
    real = place != PADDING
    layer = nn.TransformerEncoderLayer(
        network.width, SMALL.n_heads, SMALL.d_feedforward, SMALL.dropout, batch_first=batch_first
    )
    encoder = nn.TransformerEncoder(layer, SMALL.n_layers, enable_nested_tensor=False).eval()
    encoder.load_state_dict(network.encoder.state_dict())
    whose = own.user[:, None].expand(place.shape)
    with torch.no_grad():
        x = network.visits(place.flatten(), own.time.flatten(), whose.flatten())
        x = x.view(*place.shape, -1) * network.width**0.5
        n = place.shape[1 if batch_first else 0]
        order = torch.arange(n)[None, :, None] if batch_first else torch.arange(n)[:, None, None]
        x = x + sinusoids(n, network.width)[order.squeeze(-1)].expand_as(x)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        expected = encoder(x, mask=mask)[real]
        found = network.encode(place, own.time, own.user)[real]
    assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("attends", ["over time", "over the batch"])
def test_it_learns_the_same_twice(attends: Axis) -> None:
    """Training lowers the loss; one seed gives one network, whoever throws dice in between."""
    train = sessions(n=40)
    found = []
    for disturbed in (False, True):
        torch.manual_seed(1)
        network = GETNext(Graph.of(train, N), USERS, attends, replace(SMALL, epochs=6))
        history = []
        for row in epochs(network, train, sessions(1), 1):
            history.append(row)
            if disturbed:
                torch.rand(1)
        assert history[-1]["loss"] < history[0]["loss"]
        found.append((history, ranks(network, sessions(1), 4)[0].tolist()))
    assert found[0] == found[1]


def test_padding_is_nothing_to_a_session() -> None:
    """With the right wiring a session alone is answered as in a batch of longer ones."""
    own, network = sessions(), model("over time")
    together = ranks(network, own, 12)[0]
    alone = torch.cat([ranks(network, own.pick(torch.tensor([i])), 1)[0] for i in range(12)])
    assert together.tolist() == alone.tolist()
