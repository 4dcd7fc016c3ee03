"""Trip diaries: what they say is what happened, and what a summary needs."""

from __future__ import annotations

import numpy as np
import pytest
from wherenext import city
from wherenext.relatives.summarizer import SMALL
from wherenext.summaries import (
    Diaries,
    places_of,
    stays_of,
    tell,
    write_diaries,
)


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


@pytest.fixture(scope="module")
def diaries(town: city.City) -> Diaries:
    return write_diaries(town)


def test_people_are_in_one_split_only(diaries: Diaries) -> None:
    groups = [{d.user_id for d in part} for part in (diaries.train, diaries.valid, diaries.test)]
    assert all(groups)
    assert not groups[0] & groups[1] and not groups[0] & groups[2] and not groups[1] & groups[2]


def test_every_name_can_be_copied_and_some_words_have_to_be_generated(diaries: Diaries) -> None:
    words = diaries.words(SMALL.n_words)
    assert len(words) == SMALL.n_words
    never = {word for d in diaries.train for word in d.summary} - {
        word for d in diaries.train for word in d.source
    }
    assert {"busy", "quiet", "routine", "discovery", "errands"} <= never
    for diary in diaries.test:
        unknown = [word for word in diary.summary if word not in words]
        assert set(unknown) <= set(diary.source)
    # Nearly every name of a place has a word that is outside the vocabulary.
    share = np.mean([any(word not in words for word in d.summary) for d in diaries.test])
    assert share > 0.95
    assert all(word in words for word in never)


def test_the_places_of_a_summary_are_each_named_once_and_stand_in_its_diary(
    diaries: Diaries,
) -> None:
    for diary in diaries.test:
        places, source = places_of(diary.summary), " ".join(diary.source)
        assert len({*places}) == len(places) >= 2
        assert all(name and name in source for name in places)
    for cut in range(len(diaries.test[0].summary)):  # a network may write anything
        assert isinstance(places_of(diaries.test[0].summary[:cut]), list)


def test_every_stay_is_told(town: city.City) -> None:
    everyone = stays_of(town)
    assert sum(map(len, everyone.values())) == len(town.visits)
    some = everyone[18][:7]
    told = tell(some, np.random.default_rng(0))
    for one in some:
        assert one.at in told and ("home" if one.at_home else one.name) in told
    assert told.count(" .") == len(some) + len({one.day for one in some})
    assert told.count("for the first time") == sum(one.new and not one.at_home for one in some)
