"""What would spoil an answer without an error is said in one sentence, and only then."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import pgt
from pgt.errors import DataError
from pgt.readers.pieces import join_pieces
from pgt.visit_checks import visit_checks
from pgt.visits import check, microseconds, split_by_days

from .helpers import routine_visits


def said(visits: pd.DataFrame, **how: object) -> str:
    """All notes of `prepare`."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        pgt.prepare(visits, **how)  # type: ignore[arg-type]
    return " ".join(str(note.message) for note in notes)


def test_usual_visits_are_not_doubted() -> None:
    assert [*visit_checks(check(routine_visits(users=6, days=60)))] == []
    assert said(routine_visits(users=6, days=60), protocol="exact") == ""


def test_check_ins_repeated_within_minutes_are_noted() -> None:
    once = routine_visits(users=6, days=40)
    once = once.assign(finished_at=once.started_at)
    later = once.assign(**{name: once[name] + pd.Timedelta(minutes=2)
                           for name in ("started_at", "finished_at")})  # fmt: skip
    assert "check-ins repeated" in said(pd.concat([once, later]), protocol="exact")
    assert said(once, protocol="exact") == ""


def test_one_person_in_two_places_at_once_and_one_place_in_two_cities() -> None:
    one = routine_visits(users=6, days=40)
    one = one.assign(lon=16.37 + 0.001 * pd.factorize(one.location_id)[0], lat=48.2)
    two = one.assign(lat=47.07, lon=one.lon - 0.9, location_id=one.location_id.to_numpy()[::-1])
    two["started_at"] += pd.Timedelta(minutes=7)
    two["finished_at"] += pd.Timedelta(minutes=9)
    apart = two.assign(user_id=two.user_id + 100)
    notes = said(pd.concat([one, two]), protocol="exact")
    assert "still at another place" in notes and "more than 5 km apart" in notes
    notes = said(pd.concat([one, apart]), protocol="exact")
    assert "still at another place" not in notes and "more than 5 km apart" in notes
    renamed = apart.assign(location_id="b" + apart.location_id.astype(str))
    both = pd.concat([one.assign(location_id=one.location_id.astype(str)), renamed])
    assert said(both, protocol="exact") == ""


def test_a_split_that_knows_the_future_is_refused() -> None:
    visits = check(routine_visits(users=6, days=40))
    rng = np.random.default_rng(0)
    drawn = visits.assign(split=rng.choice(["train", "valid", "test"], len(visits)))
    names = {"train": "test", "test": "train"}
    backwards = split_by_days(visits).replace({"split": names})
    for table in (drawn, backwards):
        with pytest.raises(DataError, match="train come before valid"):
            pgt.prepare(table)
    by_people = visits.assign(split=np.where(visits.user_id % 2 == 0, "train", "test"))
    assert "has not seen" in said(by_people)


def test_few_people_with_a_window_are_noted() -> None:
    many = routine_visits(users=20, days=30)
    brief = many[many.user_id > 2].groupby("user_id").head(2)
    notes = said(pd.concat([many[many.user_id <= 2], brief]), protocol="exact")
    assert "of 20 people have a window" in notes


def test_a_split_without_valid_rows_is_said_by_fit() -> None:
    visits = split_by_days(check(routine_visits(users=4, days=60)))
    data = pgt.prepare(visits.replace({"split": {"valid": "test"}}), protocol="exact")
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    model = pgt.PointerGeneratorTransformer(pgt.ModelConfig(*size))
    with pytest.raises(DataError, match="no row that says 'valid'"):
        pgt.fit(model, data.train, data.valid, progress=False)


def test_one_number_is_a_batch_of_one() -> None:
    data = pgt.prepare(routine_visits(users=4, days=60))
    assert len(data.train.batch(0)) == 1  # type: ignore[arg-type]
    assert len(pgt.with_history(data, memory=20).train.batch(0)) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"days": 4}, {"min_visits": 8}, {"protocol": "exact"}])
def test_a_loaded_model_has_the_windows_of_its_training(how: dict, tmp_path: object) -> None:
    visits, path = routine_visits(users=4, days=60), f"{tmp_path}/m.safetensors"
    data = pgt.prepare(visits, **how)
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    pgt.save_model(path, pgt.PointerGeneratorTransformer(pgt.ModelConfig(*size)), data.vocabulary)
    _, vocabulary = pgt.load_model(path)
    again = pgt.prepare(visits, vocabulary=vocabulary)
    assert again.config == data.config and (again.test.first == data.test.first).all()
    assert (again.test.target == data.test.target).all()
    notes = said(visits, vocabulary=vocabulary, days=5)
    assert "days=5 and not" in notes


def test_a_loaded_memory_is_named_if_another_is_used() -> None:
    data = pgt.with_history(pgt.prepare(routine_visits(users=4, days=60), protocol="exact"), 20, 5)
    vocabulary = data.vocabulary
    again = pgt.prepare(routine_visits(users=4, days=60), vocabulary=vocabulary)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pgt.with_history(again, 20, 5).config == data.config
    with pytest.warns(UserWarning, match="memory=20 and older=5; these windows have memory=30"):
        pgt.with_history(again, 30, 5)


def cut(visits: pd.DataFrame) -> pd.DataFrame:
    """Each visit in three pieces that touch."""
    third = (visits.finished_at - visits.started_at) / 3
    return pd.concat([
        visits.assign(started_at=visits.started_at + k * third,
                      finished_at=visits.started_at + (k + 1) * third)
        for k in range(3)
    ])  # fmt: skip


@pytest.mark.parametrize("pieces", ["touch", "overlap", "are whole"])
def test_pieces_of_a_stay_are_one_visit(pieces: str) -> None:
    whole = check(routine_visits(users=3, days=20))
    table = cut(whole) if pieces == "touch" else whole
    if pieces == "overlap":
        minute = pd.Timedelta(minutes=1)
        other = whole.assign(started_at=whole.started_at + minute)
        table = pd.concat([whole, other.assign(finished_at=whole.finished_at)])
    found, n = join_pieces(check(table))
    found = check(found)
    assert n == len(table) - len(whole)
    assert found.location_id.tolist() == whole.location_id.tolist()
    for name in ("started_at", "finished_at"):
        assert np.abs(microseconds(found[name]) - microseconds(whole[name])).max() <= 2


def test_check_ins_are_one_only_in_a_row_and_within_minutes() -> None:
    at = pd.to_datetime(
        ["2024-05-01 09:00", "2024-05-01 09:10", "2024-05-01 09:20", "2024-05-01 09:30",
         "2024-05-01 10:30"], utc=True,
    )  # fmt: skip
    table = pd.DataFrame({"user_id": 1, "location_id": ["a", "a", "b", "a", "a"],
                          "started_at": at, "finished_at": at})  # fmt: skip
    found, n = join_pieces(table)
    assert (found.location_id.tolist(), n) == (["a", "b", "a", "a"], 1)
