"""Sentences of the chapters that hold only if a result comes out one way."""

from __future__ import annotations

import re

import execute
import pytest

from ..helpers import ROOT, give_up
from ..promises.chapters import tables


def printed(chapter: str, begin: str) -> list[list[str]]:
    """The rows of the first printed table of a chapter that has this text in its first lines."""
    path = ROOT / "book" / f"{chapter}.ipynb"
    if not execute.is_fresh() or execute.record(path) is None:
        give_up(f"{chapter} has not been executed as it is now: run `make chapters`.")
    found = tables(execute.executed(path))
    table = next(t for t in found if begin in " ".join(t.splitlines()[:2]))
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.built
def test_claims_of_03() -> None:
    gaps = [number(row[1]) for row in printed("03_windows", "target is home")[2:]]
    assert gaps == sorted(gaps) and gaps[-1] > 1.5 * gaps[0]  # "far more often at home"
    shares = {row[0]: row[1:] for row in printed("03_windows", "exact, %")}
    exact, published = map(number, shares["unknown targets"][:2])
    assert published > 2 * exact  # "more than doubles"
    assert shares["known targets"][0] == shares["known targets"][1]  # "do not change"


@pytest.mark.built
def test_claims_of_05() -> None:
    rows = [row for row in printed("05_embeddings", "by chance") if row[0].startswith("a ")]
    assert len(rows) == 3 and all(
        number(row[3]) > 0.1 for row in rows
    )  # "no more often than by chance"
    lost = {row[0]: row[1] for row in printed("05_embeddings", "Acc@1 lost")}
    busy = number(lost["shuffled among places with 20 visits or more"])
    one_kind = number(lost["only between places of one kind"])
    rest = number(lost["shuffled among the others"])
    assert busy > 3 * rest and one_kind > busy / 2  # "most of the loss", "which home"


@pytest.mark.built
def test_claims_of_06() -> None:
    right, wrong = (
        number(row[1]) for row in printed("06_position_and_encoder", "%") if "Acc@1" in row[0]
    )
    assert wrong > right - 0.5  # "accuracy does not notice this bug"
    rows = printed("06_position_and_encoder", "difference on valid")
    ends = {
        row[0]: [[number(end) for end in re.split(" to ", row[k])] for k in (2, 3)]
        for row in rows
        if " to " in row[2]
    }
    assert len(ends) == 6
    assert all(high > 0 for both in ends.values() for _, high in both)  # "none clearly worse"
    ahead = [kind for kind, (_, test) in ends.items() if test[0] > 0]
    assert ahead == ["no attention"] and ends["no attention"][0][0] < 0  # "but not on valid"
