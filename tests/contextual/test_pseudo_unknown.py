"""Rehearsed training windows look like those of a later split."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from pgt.errors import DataError
from pgt.history import NOT_SEEN, as_if_earlier, with_history, with_pseudo_unknowns
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, prepare

from ..helpers import random_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    """People who find new places all the time."""
    visits = random_visits(3, visits=120, places=60)
    return prepare(visits, protocol="published")


@pytest.mark.parametrize("whole", [True, False])
def test_new_places_become_unknown_and_others_stay(data: Dataset, whole: bool) -> None:
    train, later = data.train, as_if_earlier(data.train, 0.5, whole_windows=whole)
    number = train.visits.groupby("user_id").cumcount()
    half = number < 0.5 * train.visits.groupby("user_id").user_id.transform("size")
    known = set(train.visits.location_id[half])
    ids = later.features[0, 1:].numpy()
    for place, then, now in zip(
        train.visits.location_id, train.features[0, 1:].numpy(), ids, strict=True
    ):
        assert now == (then if place in known else UNKNOWN)
    assert (ids == UNKNOWN).any() and not (train.features[0, 1:] == UNKNOWN).any()
    asked = later.first if whole else later.target
    assert len(later) and not half.to_numpy()[asked].any()


@pytest.mark.parametrize(("memory", "older"), [(0, 0), (30, 10)])
def test_rehearsal_adds_windows_that_keep_to_themselves(
    data: Dataset, memory: int, older: int
) -> None:
    pseudo_unknowns = with_pseudo_unknowns(data, memory, older, shares=(0.4, 0.7))
    size = len(data.train.visits)
    rows = pseudo_unknowns.rows(np.arange(len(pseudo_unknowns))).numpy()
    copies = pseudo_unknowns.target // size
    assert set(copies) == {0, 1, 2}
    for i in range(len(pseudo_unknowns)):
        assert set(rows[i][rows[i] >= 0] // size) == {copies[i]}
    assert (pseudo_unknowns.targets == UNKNOWN).any() and (copies == 0).sum() == len(data.train)
    first = pseudo_unknowns.batch(np.flatnonzero(copies == 0))
    assert not (first.target == UNKNOWN).any()
    batch = pseudo_unknowns.batch(np.arange(len(pseudo_unknowns)))
    assert (batch.target.numpy() == pseudo_unknowns.targets).all()


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_without_a_memory_the_whole_window_lies_after_the_moment(
    data: Dataset, share: float
) -> None:
    pseudo_unknowns = with_pseudo_unknowns(data, shares=(share,))
    size = len(data.train.visits)
    of = data.train.visits.groupby("user_id")
    late = of.cumcount() >= share * of.user_id.transform("size")
    batch = pseudo_unknowns.batch(np.arange(len(pseudo_unknowns)))
    again = np.flatnonzero(pseudo_unknowns.target >= size)
    rows = pseudo_unknowns.rows(again).numpy()
    assert late.to_numpy()[rows[rows >= 0] - size].all()
    # As in the splits: a window of the copy is one of the plain ones, all later ones are there.
    plain = data.train.first[late.to_numpy()[data.train.first]]
    assert (pseudo_unknowns.first[again] - size == plain).all() and len(again) < len(data.train)
    assert (batch.before[:, 0] == NOT_SEEN).all()


def test_with_a_memory_all_later_targets_are_asked(data: Dataset) -> None:
    share = 0.5
    pseudo_unknowns = with_pseudo_unknowns(data, 1000, 10, shares=(share,))
    size = len(data.train.visits)
    of = data.train.visits.groupby("user_id")
    late = (of.cumcount() >= share * of.user_id.transform("size")).to_numpy()
    again = np.flatnonzero(pseudo_unknowns.target >= size)
    expected = data.train.target[late[data.train.target]]
    assert (pseudo_unknowns.target[again] - size == expected).all()
    # The past before the moment is remembered, and of that no place is unknown.
    batch = pseudo_unknowns.batch(again)
    row = torch.from_numpy(pseudo_unknowns.rows(again).numpy()) - size
    early = torch.from_numpy(~late)[row.clamp(min=0)] & (row >= 0)
    assert early.any() and (batch.location[early] > UNKNOWN).all()
    assert (batch.location[~early & (row >= 0)] == UNKNOWN).any()
    # What came before a visit is told in the words of the same copy.
    following = batch.before[:, 1:][~batch.padding[:, 1:]]
    assert (following == batch.location[:, :-1][~batch.padding[:, 1:]]).all()


def test_no_share_is_no_pseudo_unknown(data: Dataset) -> None:
    plain, none = with_history(data, 20, 5).train, with_pseudo_unknowns(data, 20, 5, shares=())
    index = np.arange(len(plain))
    one, two = plain.batch(index), none.batch(index)
    assert len(none) == len(plain) and (none.in_window == plain.in_window).all()
    for field in fields(one):
        assert torch.equal(getattr(one, field.name), getattr(two, field.name)), field.name


def test_text_ids_are_rehearsed_too(data: Dataset) -> None:
    visits = random_visits(3, visits=120, places=60)
    named = prepare(visits.assign(location_id="place " + visits.location_id.astype(str)))
    assert (
        (with_pseudo_unknowns(named).targets == UNKNOWN)
        == (with_pseudo_unknowns(data).targets == UNKNOWN)
    ).all()


def test_windows_that_remember_cannot_be_rehearsed(data: Dataset) -> None:
    with pytest.raises(DataError, match="remember already"):
        with_pseudo_unknowns(with_history(data, 20))


def test_a_share_must_be_one(data: Dataset) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        with_pseudo_unknowns(data, shares=(1.0,))
