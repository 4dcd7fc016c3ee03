"""How well diaries are summarized: with and without a pointer, coverage and a beam, for chapter 16.

    python book/lab/run.py summarizer

writes ``book/results/summarizer.json``. A row is ``what`` was tried with one ``seed`` and one
``search`` (greedy or beam), on the test diaries; scores are in percent. Rows without a seed are of
rules that learn nothing: "first words" is the beginning of the diary, as long as a summary usually
is; "reference" is the true summaries themselves. All networks of a seed see the same batches, and
as many of them; "trained longer" goes on until it has made `LONGER` times as many steps. One seed
of Adagrad, the optimizer of the paper, is there to compare.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from wherenext import city
from wherenext.relatives.summarizer import (
    SMALL,
    PointerGenerator,
    SummarizerTraining,
    Text,
    Words,
    new_summarizer,
    stream,
    train,
)
from wherenext.summaries import (
    Diaries,
    places_of,
    scores,
    sentence,
    unknown_right,
    write_diaries,
    written,
)

from lab.reports import Report, Row

SEEDS = (0, 1, 2)
LONGER = 5  # times as many steps
TRAINING = SummarizerTraining()
ADAGRAD = replace(TRAINING, optimizer="adagrad", learning_rate=0.15)


def fingerprint(diaries: Diaries) -> str:
    """A short hash of every word of the diaries."""
    pairs = [[d.pair for d in part] for part in (diaries.train, diaries.valid, diaries.test)]
    flat = [" ".join((*source, "|", *summary)) for part in pairs for source, summary in part]
    return hashlib.sha256(str(flat).encode()).hexdigest()[:12]


Network = tuple[str, PointerGenerator, Words]  # what it is, the model, its vocabulary


def networks(diaries: Diaries, training: SummarizerTraining) -> Iterator[Network]:
    """The trained networks of one seed; one that comes again has learned more."""
    pairs = [diary.pair for diary in diaries.train]
    words, every = diaries.words(SMALL.n_words), diaries.words()
    both = training.steps + training.coverage_steps

    def longer(what: str, model: PointerGenerator, known: Words) -> Network:
        rest = islice(stream(pairs, known, model.config, training), both, None)
        train(model, rest, (LONGER - 1) * both, training)
        return f"{what}, trained longer", model.eval(), known

    for what, known in (
        ("sequence to sequence", words),
        ("sequence to sequence, all words", every),
    ):
        config = replace(SMALL, n_words=len(known), pointer=False)
        model = new_summarizer(config, training, known)
        train(model, stream(pairs, known, config, training), both, training)
        yield what, model.eval(), known
    yield longer(what, model, every)
    for what, model, known in pointers(pairs, words, training):
        yield what, model, known
        if what == "pointer-generator":
            yield longer(what, model, known)


def pointers(
    pairs: Sequence[tuple[Text, Text]], words: Words, training: SummarizerTraining
) -> Iterator[Network]:
    """The pointer-generator with and without coverage, which differ in the last steps only."""
    begun = new_summarizer(SMALL, training, words)
    train(begun, stream(pairs, words, SMALL, training), training.steps, training)
    for what, model in (
        ("pointer-generator", copy.deepcopy(begun)),
        ("pointer-generator, coverage", begun.with_coverage()),
    ):
        rest = islice(stream(pairs, words, SMALL, training), training.steps, None)
        train(model, rest, training.coverage_steps, training)
        yield what, model.eval(), words


def measured(diaries: Diaries) -> Iterator[Row]:
    """All rows."""
    about = {"split": "test", "group": "all", "n": len(diaries.test)}
    usual = round(np.mean([len(diary.summary) for diary in diaries.train]))
    rules = {
        "first words": [diary.source[:usual] for diary in diaries.test],
        "reference": [diary.summary for diary in diaries.test],
    }
    for what, texts in rules.items():
        yield about | {"what": what, "seed": None} | worth(texts, diaries)
    for seed in SEEDS:
        for what, model, known in networks(diaries, replace(TRAINING, seed=seed)):
            searches = {"greedy": 1, "beam": SMALL.beam} if model.config.pointer else {"greedy": 1}
            for search, beam in searches.items():
                yield (
                    about
                    | {"what": what, "seed": seed, "search": search}
                    | scored(model, known, beam, diaries)
                )
    pairs = [diary.pair for diary in diaries.train]
    *_, (what, model, known) = pointers(pairs, diaries.words(SMALL.n_words), ADAGRAD)
    adagrad = {"what": f"{what}, Adagrad", "seed": 0, "search": "greedy"}
    yield about | adagrad | scored(model, known, 1, diaries)


def scored(model: PointerGenerator, known: Words, beam: int, diaries: Diaries) -> dict[str, float]:
    """What a network's summaries of the test diaries are worth."""
    return worth(written(model, known, diaries.test, beam)[0], diaries)


def worth(texts: Sequence[Text], diaries: Diaries) -> dict[str, float]:
    """What summaries of the test diaries are worth, in percent."""
    # A word is unknown if the small vocabulary lacks it, whatever the network's own one.
    small, every = diaries.words(SMALL.n_words), diaries.words()
    values = scores(texts, diaries.test, small)
    both = list(zip(texts, diaries.test, strict=True))
    lacked, never = (
        np.sum([unknown_right(text, d.summary, words, d.source) for text, d in both], axis=0)
        for words in (small, every)  # `every` lacks what no training diary has
    )
    right, wanted, _ = lacked - never
    values |= {"met_right": 100 * right / wanted, "never_right": 100 * never[0] / never[1]}
    repeats = [len(set(places)) < len(places) for places in map(places_of, texts)]
    values["place_twice"] = 100 * float(np.mean(repeats))
    # Whoever writes much of a diary has many of its names; a whole sentence shows more.
    second = [(sentence(text, 1), sentence(d.summary, 1)) for text, d in both]
    of_new = [text == true for text, true in second if any(word not in every for word in true)]
    values["mostly_never"] = 100 * float(np.mean(of_new))
    return values


def _rows() -> Iterator[Row]:
    yield from measured(write_diaries(city.load()))


def _data(_: list[Row]) -> list[Row]:
    diaries = write_diaries(city.load())
    return [{
        "name": "trip diaries of the city",
        "fingerprint": fingerprint(diaries),
        "diaries to train on": len(diaries.train),
        "to test on": len(diaries.test),
    }]  # fmt: skip


REPORT = Report(
    question="What do pointer, coverage and beam search do for summaries of diaries?",
    rows=_rows,
    data=_data,
    more={"training": vars(TRAINING), "longer": LONGER},
)
