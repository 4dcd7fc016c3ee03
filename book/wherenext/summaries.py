"""Trip diaries of the simulated city with their summaries, and how good a summary is.

A diary tells of every stay, day by day, until it has `STAYS` of them. Its summary: how full the
days were and whether they brought anything new; where the person was longest; where else; how many
errands. Names have to be copied; words such as "busy" and "errands" have to be generated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from wherenext.city import City
from wherenext.relatives.summarizer import (
    Hypothesis,
    Pair,
    PointerGenerator,
    Text,
    Words,
    beam_search,
    text_batch,
)

STAYS = 4
PLACES = (2, 4)  # the fewest and the most places beside home
SHARES = (0.7, 0.1, 0.2)  # of the people: train, valid, test

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
PURPOSE = {
    "food": "to eat", "shopping": "to shop", "work": "to work", "leisure": "for fun",
    "errand": "to settle something", "health": "for a check-up", "park": "for a walk",
    "school": "to learn", "transit": "to change", "home": "to see somebody",
}  # fmt: skip
ERRANDS = ("shopping", "errand", "health")


class Stay(NamedTuple):
    """A visit, as a diary tells of it."""

    day: str  # 2023-01-31
    weekday: str
    at: str  # to the half hour, as in 16:30
    hours: float  # 0.5 or whole; 13 for anything longer than 12.5
    place: int
    name: str
    kind: str
    new: bool
    at_home: bool


class Diary(NamedTuple):
    """One diary, and its summary."""

    user_id: int
    source: tuple[str, ...]
    summary: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """Source and summary."""
        return self[1:]


@dataclass(frozen=True)
class Diaries:
    """Diaries of three groups of people."""

    train: list[Diary]
    valid: list[Diary]
    test: list[Diary]

    def words(self, n_words: int | None = None) -> Words:
        """The words that most people of the training diaries use, each counted once a person."""
        spoken: dict[int, set[str]] = {}
        for diary in self.train:
            spoken.setdefault(diary.user_id, set()).update(diary.source, diary.summary)
        return Words.most_frequent([sorted(words) for words in spoken.values()], n_words)


def write_diaries(city: City, seed: int = 0) -> Diaries:
    """Write a city's diaries; in training one starts on every day, else after the last one."""
    rng = np.random.default_rng(seed)
    stays = stays_of(city)
    people = rng.permutation(sorted(stays))
    ends = (np.cumsum(SHARES)[:2] * len(people)).round().astype(int)
    splits = []
    for k, group in enumerate(np.split(people, ends)):
        diaries: list[Diary] = []
        for user in sorted(group.tolist()):
            diaries += _of_person(user, stays[user], rng, overlapping=k == 0)
        splits.append(diaries)
    return Diaries(*splits)


def stays_of(city: City) -> dict[int, list[Stay]]:
    """Every person's visits, in order."""
    visits = city.visits.sort_values(["user_id", "started_at"], kind="stable")
    places = city.places.set_index("location_id")
    name = places.name.str.replace("^The ", "the ", regex=True)
    home = city.people.set_index("user_id").home
    started = visits.started_at
    hours = ((visits.finished_at - started).dt.total_seconds() / 3600).to_numpy()
    rounded = np.where(hours < 0.75, 0.5, np.where(hours > 12.5, 13, hours.round()))
    columns = (
        started.dt.strftime("%Y-%m-%d"),
        started.dt.day_of_week.map(dict(enumerate(WEEKDAYS))),
        started.dt.round("30min").dt.strftime("%H:%M"),
        rounded.tolist(),
        visits.location_id,
        visits.location_id.map(name),
        visits.location_id.map(places.kind),
        visits.explored,
        visits.location_id == visits.user_id.map(home),
    )
    found: dict[int, list[Stay]] = {}
    for user, *stay in zip(visits.user_id.tolist(), *columns, strict=True):
        found.setdefault(user, []).append(Stay(*stay))
    return found


def _of_person(
    user: int, stays: Sequence[Stay], rng: np.random.Generator, overlapping: bool
) -> Iterator[Diary]:
    """The diaries of one person."""
    days = [list(day) for _, day in groupby(stays, lambda stay: stay.day)]
    start = 0
    while start < len(days):
        end, enough = start, list[Stay]()
        while end < len(days) and len(enough) < STAYS:
            enough += days[end]
            end += 1
        n_places = len({stay.place for stay in enough if not stay.at_home})
        if len(enough) >= STAYS and PLACES[0] <= n_places <= PLACES[1]:
            yield Diary(user, tuple(tell(enough, rng).split()), tuple(summarize(enough).split()))
        start = start + 1 if overlapping else end


def length(hours: float) -> str:
    """The length of a stay in words."""
    if hours < 1:
        return "half an hour"
    if hours > 12:
        return "over twelve hours"
    return f"{NUMBERS[int(hours)]} hour" + ("s" if hours > 1 else "")


def tell(stays: Sequence[Stay], rng: np.random.Generator) -> str:
    """A sentence for each day and each stay; the wording is drawn."""
    sentences, day = [], ""
    for stay in stays:
        if stay.day != day:
            day = stay.day
            sentences.append(f"{stay.weekday} .")
        long, new = length(stay.hours), " for the first time" if stay.new else ""
        at, name, why = stay.at, stay.name, PURPOSE[stay.kind]
        ways = [
            f"at {at} to {name} {why}{new} , {long} .",
            f"{name} at {at} {why} , {long}{new} .",
            f"then {why}{new} to {name} at {at} , {long} .",
        ]
        if stay.at_home:
            ways = [f"at {at} home , {long} .", f"home at {at} , {long} ."]
        sentences.append(ways[rng.integers(len(ways))])
    return " ".join(sentences)


def summarize(stays: Sequence[Stay]) -> str:
    """Four sentences; the longest of stays that are written as equally long is the first."""
    out = [stay for stay in stays if not stay.at_home]
    names = {stay.place: stay.name for stay in out}  # in order of the first stay
    longest = max(out, key=lambda stay: stay.hours).place
    new = {stay.place for stay in out if stay.new}
    marked = {place: name + " ( new )" * (place in new) for place, name in names.items()}
    days = len({stay.day for stay in stays})
    fullness = "quiet" if len(names) <= 2 else "lively" if len(names) == 3 else "busy"
    errands = sum(stay.kind in ERRANDS for stay in out)
    count = NUMBERS[errands] if errands < len(NUMBERS) else "many"
    return (
        f"{NUMBERS[days]} {fullness} day{'s' * (days > 1)} of "
        f"{'discovery' if new else 'routine'} . mostly at {marked.pop(longest)} . "
        f"also {' , '.join(marked.values())} . {count} errand{'s' * (errands != 1)} ."
    )


# ---- How good a summary is -----------------------------------------------------------------------

ROUGE = ("rouge1", "rouge2", "rougeL")
SENTENCES = ("days", "mostly", "also", "errands")
CHUNK = 64  # diaries that are summarized at once


def unknown_right(
    summary: Text, reference: Text, words: Words, source: Text
) -> tuple[int, int, int]:
    """How many words outside the vocabulary are right, wanted and written.

    >>> words = Words(["at"])
    >>> unknown_right("at Elm Elm".split(), "at Elm Row".split(), words, "at Elm Row".split())
    (1, 2, 2)
    """
    wanted = Counter(word for word in reference if word not in words and word in source)
    written = Counter(word for word in summary if word not in words)
    return (wanted & written).total(), wanted.total(), written.total()


def scores(summaries: Sequence[Text], diaries: Sequence[Diary], words: Words) -> dict[str, float]:
    """What summaries are worth, in percent."""
    from rouge_score.rouge_scorer import RougeScorer  # slow to import, and no part of pgt

    both = list(zip(summaries, diaries, strict=True))
    score = RougeScorer(list(ROUGE)).score  # Lin (2004), F-measures
    rouge = [score(" ".join(one.summary), " ".join(text)) for text, one in both]
    values = {name: 100 * np.mean([one[name].fmeasure for one in rouge]) for name in ROUGE}
    right, wanted, _ = np.sum(
        [unknown_right(text, one.summary, words, one.source) for text, one in both], axis=0
    )
    values["unknown_right"] = 100 * right / wanted
    for n in (1, 2, 3, 4):
        grams = [[*zip(*(text[k:] for k in range(n)), strict=False)] for text in summaries]
        new, every = (sum(map(len, some)) for some in (map(set, grams), grams))
        values[f"repeated_{n}"] = 100 * (every - new) / max(every, 1)
    values["exact"] = 100 * np.mean([tuple(text) == one.summary for text, one in both])
    for k, name in enumerate(SENTENCES):
        values[name] = 100 * np.mean(
            [sentence(text, k) == sentence(one.summary, k) for text, one in both]
        )
    return {name: float(value) for name, value in values.items()}


def sentence(text: Text, k: int) -> list[str]:
    """The ``k``-th sentence, from 0; empty if there is none."""
    parts = " ".join(text).split(" .")
    return parts[k].split() if k < len(parts) else []


def places_of(text: Text) -> list[str]:
    """The places of a summary, that of the longest stay first.

    >>> places_of("one quiet day of routine . mostly at Elm Row ( new ) . also Spoon .".split())
    ['Elm Row', 'Spoon']
    """
    mostly, also = (sentence(text, SENTENCES.index(name)) for name in ("mostly", "also"))
    lists = *mostly[2:], ",", *also[1:]  # without "mostly at" and "also"
    return " ".join(lists).replace(" ( new )", "").split(" , ")


def first_is_longest(diary: Diary) -> bool:
    """Whether the first place in a diary is that of the longest stay."""
    text, places = " ".join(diary.source), places_of(diary.summary)
    return min(places, key=text.find) == places[0]


def written(
    model: PointerGenerator, words: Words, diaries: Sequence[Diary], beam: int
) -> tuple[list[list[str]], list[Hypothesis]]:
    """The summaries of diaries, and the drafts they come from."""
    texts, drafts = [], []
    for start in range(0, len(diaries), CHUNK):
        part = [diary.pair for diary in diaries[start : start + CHUNK]]
        batch = text_batch(part, words, model.config.max_source, model.config.max_summary)
        found = beam_search(model, batch, beam)
        drafts += found
        texts += [one.words(words, oov) for one, oov in zip(found, batch.oov, strict=True)]
    return texts, drafts
