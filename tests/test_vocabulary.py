"""Which integer stands for what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pgt.visits import DataError
from pgt.vocabulary import PADDING, UNKNOWN, Vocabulary


def table(kind: type) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "user_id": [kind(u) for u in (3, 3, 1, 9)],
            "location_id": [kind(p) for p in (30, 20, 20, 40)],
            "split": ["train", "train", "valid", "test"],
        }
    )


@pytest.mark.parametrize("kind", [int, str])
def test_erratum_17_known_places_come_first_and_others_only_when_exact(kind: type) -> None:
    published = Vocabulary.build(table(kind))
    exact = Vocabulary.build(table(kind), "exact")
    assert published.locations == (kind(20), kind(30))
    assert exact.locations == (kind(20), kind(30), kind(40))
    assert published.users == exact.users == (kind(3),)
    assert published.n_known == exact.n_known == 2
    places = table(kind).location_id
    assert published.encode_locations(places).tolist() == [3, 2, 2, UNKNOWN]
    assert exact.encode_locations(places).tolist() == [3, 2, 2, 4]
    assert published.encode_users(table(kind).user_id).tolist() == [1, 1, 0, 0]
    assert (published.n_locations, exact.n_locations, exact.n_users) == (4, 5, 2)


@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_decode_undoes_encode_and_no_place_is_padding(protocol: str) -> None:
    vocabulary = Vocabulary.build(table(str), protocol)
    ids = vocabulary.encode_locations(pd.Series(vocabulary.locations))
    assert vocabulary.decode(ids).tolist() == list(vocabulary.locations)
    assert vocabulary.decode(np.array([PADDING, UNKNOWN])).tolist() == [None, None]
    assert ids.min() == 2
    assert vocabulary.is_known(np.arange(vocabulary.n_locations)).tolist() == (
        [False, False, True, True] + [False] * (vocabulary.n_locations - 4)
    )


def test_json_keeps_types_and_the_fingerprint_tells_vocabularies_apart() -> None:
    one, two = Vocabulary.build(table(int)), Vocabulary.build(table(str))
    for vocabulary in (one, two):
        again = Vocabulary.from_json(vocabulary.to_json())
        assert again == vocabulary
        assert again.fingerprint() == vocabulary.fingerprint()
    assert one.fingerprint() != two.fingerprint()
    assert one.fingerprint() != Vocabulary.build(table(int), "exact").fingerprint()


def test_places_that_share_nothing_are_refused() -> None:
    vocabulary = Vocabulary.build(table(int))
    vocabulary.require_shared(pd.Series([99, 20]))
    with pytest.raises(DataError, match="another vocabulary"):
        vocabulary.require_shared(pd.Series([98, 99]))
    with pytest.raises(DataError, match="another vocabulary"):  # the text "20" is not 20
        vocabulary.require_shared(pd.Series(["20"]))


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match="published"):
        Vocabulary.build(table(int), "both")  # type: ignore[arg-type]
