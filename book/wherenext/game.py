"""The front page's questions and who says what; a quiz tool has typed answers, these are computed.

Each question is a test window of the town, chosen by a rule that looks at no answer (`chosen`).
Everybody chooses among the other places of the week: the reader, and three models, whose answers
are computed here from what the package ships.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, shipped
from pgt.predictor.contextual import MEMORY
from pgt.predictor.memory import with_history
from pgt.predictor.predictor import NextLocation
from pgt.windows import Dataset, Windows, prepare
from wherenext import city as towns
from wherenext.results import read_results

QUESTIONS = 12
FEWEST, MOST = 4, 6  # different places in the week: enough to go wrong, few enough for a phone
# The run that chose the kernel's numbers, on the validation windows of the town.
KERNEL = "city/kernel_memory-memory_100-unknown-None"
Places = list[Any]
Answer = Callable[[int, Places], int]


@dataclass(frozen=True)
class Question:
    """One week, and where the person went then."""

    window: int  # which test window it is
    role: str  # what the person is, such as "student"
    visits: pd.DataFrame  # of the week, oldest first; ``place`` is a number into ``places``
    places: pd.DataFrame  # by first visit: location_id, name, kind, lon, lat
    now: pd.Timestamp  # when the last visit ended
    truth: int  # number of the place where the person went
    guesses: dict[str, int]  # what each model holds for likeliest, but for where the person is

    @property
    def here(self) -> int:
        """Number of the place that the person leaves."""
        return int(self.visits.place.iloc[-1])


def chosen(windows: Windows, n: int = QUESTIONS) -> list[int]:
    """Which windows are asked: of ``n`` people, evenly spread, the middle one that qualifies.

    Such a week has 4 to 6 places; the person leaves that of most visits, and goes to another one.
    """
    fit = np.array([i for i in np.flatnonzero(windows.in_window) if _qualifies(windows, int(i))])
    people = np.unique(windows.users[fit])
    some = people[np.linspace(0, len(people) - 1, min(n, len(people))).round().astype(int)]
    return [int(own[len(own) // 2]) for own in (fit[windows.users[fit] == who] for who in some)]


def _qualifies(windows: Windows, i: int) -> bool:
    places = windows.visits_of(i).location_id
    here, visits = places.iloc[-1], places.value_counts()
    leaves = here != windows.target_of(i).location_id and visits[here] == visits.max()
    return bool(leaves and FEWEST <= len(visits) <= MOST)


def players(data: Dataset, visits: pd.DataFrame) -> dict[str, Answer]:
    """Who plays against the reader, by the names on the page."""
    run = read_results("beyond").header["runs"][KERNEL]
    numbers = {name: run[name] for name in ("decay", "base", "same", "clock", "width")}
    kernel = ContextKernel(**numbers).fit(data.train)
    past = with_history(data, memory=MEMORY).test
    network, _ = load_model(shipped("city"))
    predictor = NextLocation.pretrained()

    def best(scores: torch.Tensor, places: Places) -> int:
        ids = data.test.vocabulary.encode_locations(pd.Series(places))
        return int(scores[torch.as_tensor(np.asarray(ids))].argmax())

    def rule(i: int, places: Places) -> int:
        """The context kernel, over the person's last hundred visits."""
        return best(kernel.scores(past.batch([i]))[0], places)

    @torch.no_grad()
    def transformer(i: int, places: Places) -> int:
        """The Pointer-Generator Transformer that is shipped, trained on the town."""
        batch = data.test.batch([i], network.config.max_len)
        return best(network.eval()(batch).log_probs[0], places)

    def pointer(i: int, places: Places) -> int:
        """The predictor that is shipped, which has not seen the town."""
        target = data.test.target_of(i)
        own = visits[(visits.user_id == target.user_id) & (visits.started_at < target.started_at)]
        told = predictor.predict(own, top=len(own)).location_id
        return places.index(next(place for place in told if place in places))

    return {"Rule": rule, "PGT": transformer, "Pointer": pointer}


def questions() -> list[Question]:
    """All questions, with everybody's answers."""
    town = towns.load()
    data = prepare(town.visits, protocol="exact")
    answers = players(data, town.visits)
    about, roles = town.places.set_index("location_id"), town.people.set_index("user_id").role
    found = []
    for i in chosen(data.test):
        visits, target = data.test.visits_of(i), data.test.target_of(i)
        ids = visits.location_id.unique().tolist()
        others = [place for place in ids if place != visits.location_id.iloc[-1]]
        found.append(
            Question(
                window=i,
                role=str(roles[target.user_id]),
                visits=visits.assign(place=visits.location_id.map(ids.index)),
                places=about.loc[ids][["name", "kind", "lon", "lat"]].reset_index(),
                now=visits.finished_at.iloc[-1],
                truth=ids.index(target.location_id),
                guesses={name: ids.index(others[ask(i, others)]) for name, ask in answers.items()},
            )
        )
    return found
