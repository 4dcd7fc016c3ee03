"""The front page: its numbers are measured, its contents complete, its parts say what they do."""

from __future__ import annotations

import re
from pathlib import Path

import facts
import pytest
from wherenext import game
from wherenext.results import read_results

ROOT = Path(__file__).resolve().parents[2]
FRONT = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
TELLING = FRONT + (ROOT / "book" / "documents.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(facts.FACTS))
def test_every_fact_is_a_number_and_is_told(name: str) -> None:
    shown = r"([a-z ]+: )?[−+]?[\d,]+(\.\d+)?(\u00a0%)?( of \d+)?( \[.*\])?"
    assert re.fullmatch(shown, facts.fact(name))
    assert f"{{fact}}`{name}`" in TELLING, "a fact that no page tells"


def test_pages_tell_known_facts_and_type_no_score() -> None:
    told = set(re.findall(r"\{fact\}`([^`]*)`", TELLING))
    assert told == facts.FACTS.keys()


def test_words_around_the_facts_are_still_true() -> None:
    """The sentences of the front page claim an order; the measured numbers must have it."""

    def value(name: str) -> float:
        return float(re.sub(r"[^\d.−+]", "", facts.fact(name)).replace("−", "-"))

    # the rule is ahead in one city; in the other the two are level over all windows
    exact, new_york = read_results("geolife_exact"), read_results("last_visit")
    _, low, _ = exact.difference({"model": "kernel"}, {"model": "pgt", "variant": "full"})
    assert low > 0 and value("kernel") > value("pgt")
    _, low, high = new_york.difference({"model": "pgt"}, {"model": "kernel"})
    assert low < 0 < high
    # "a longer past helps everybody"
    gains = ("gain", "rule-gain", "new-york-gain", "new-york-rule-gain")
    assert all(value(name) > 1 for name in gains)
    # "it is ahead": the intervals leave out zero
    leads = ("lead", "week-lead", "pgt-lead-of-ten", "new-york-lead-of-ten",
             "new-york-lead-on-known")  # fmt: skip
    assert all(re.search(r"^\+.*\[\d", facts.fact(name)) for name in leads)
    # who was trained there is better, and not by much
    for city in ("", "new-york-"):
        assert value(f"{city}pgt") < value(f"{city}nobody") < value(f"{city}contextual")


@pytest.fixture(scope="module")
def asked() -> list[game.Question]:
    """The questions of the game."""
    return game.questions()


def test_each_question_is_a_week_of_another_person_who_goes_to_one_of_its_places(
    asked: list[game.Question],
) -> None:
    assert len(asked) == game.QUESTIONS
    assert len({question.visits.user_id.iloc[0] for question in asked}) == len(asked)
    for question in asked:
        ids = question.places.location_id.tolist()
        assert set(question.visits.location_id) == set(ids)
        assert len(ids) - 1 >= 3, "too few to choose from"
        assert question.truth in range(len(ids)) and question.truth != question.here
        assert question.visits.place.value_counts()[question.here] == (
            question.visits.place.value_counts().max()
        )
        assert question.guesses.keys() == {"Rule", "PGT", "Pointer"}
        assert all(place in range(len(ids)) for place in question.guesses.values())
        assert question.here not in question.guesses.values()
