"""Sentences of the chapters that hold only if a result comes out one way."""

from __future__ import annotations

import pytest

from ..helpers import give_up
from ..promises import adaptor
from ..promises.chapters import tables


def rows(name: str) -> dict[str, list[float]]:
    """The numbers of an executed chapter's tables, by the head of the row; the last counts."""
    notebook = adaptor.executed(name)
    if notebook is None:
        give_up(f"{name} has not been executed as it is now: run `make chapters`.")
    found: dict[str, list[float]] = {}
    for line in (line for table in tables(notebook) for line in table.splitlines()):
        head, *cells = line.split(" | ")
        try:
            found[head] = [float(cell) for cell in cells]
        except ValueError:
            continue  # a row of words
    return found


@pytest.mark.built
def test_claims_of_07() -> None:
    table = rows("07_pointer")
    by_sum, by_bar = table["the trained bias"]
    assert by_sum > by_bar  # "adding up is right more often"
    assert abs(by_sum - table["no bias"][0]) < 0.5  # the trained bias "does next to nothing"
    pointed, visits, _ = table["known"]
    assert pointed > 1.2 * visits  # "it has learned something"
    pointed, visits, _ = table["never seen"]
    assert abs(pointed / visits - 1) < 0.1  # "it counts"


@pytest.mark.built
def test_claims_of_08() -> None:
    table = rows("08_generator_and_gate")
    hits = [table[gate][0] for gate in ("the model's gate", "constant", "oracle")]
    assert max(hits) - min(hits) < 0.2  # "even an oracle hardly moves Acc@1"
    elsewhere, explored = table["return, not in the window"], table["exploration"]
    assert elsewhere[1] == explored[1] == 0  # "r = 0 exactly"
    assert 0 < elsewhere[2] - explored[2] < 0.1  # the gate tells them apart "a little"
    assert table["the model's"][0] < 1 < table["alone"][0]  # "hardly better than guessing"


@pytest.mark.built
def test_claims_of_09() -> None:
    lists, pointer, _ = rows("09_model")["DIY"]
    assert lists > 90 and pointer < 1  # "nearly all parameters are lists", "less than one per cent"
