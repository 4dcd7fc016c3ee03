"""How well diaries are summarized: with and without a pointer, coverage and a beam, for chapter 16.

    python -m pgt.relatives.summarizer_report

writes ``book/results/summarizer.json``. A row is ``what`` was tried with one ``seed`` and one
``search`` (greedy or beam), on the test diaries; scores are in percent. Rows without a seed are of
rules that learn nothing: "first words" is the beginning of the diary, as long as a summary usually
is; "reference" is the true summaries themselves. All networks of a seed see the same batches, and
as many of them. One seed of Adagrad, the optimizer of the paper, is there to compare.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt import city
from pgt.relatives.beam import Draft, beam_search
from pgt.relatives.diaries import Diaries, Diary, write_diaries
from pgt.relatives.summarizer import SMALL, PointerGenerator
from pgt.relatives.summarizer_train import SummarizerTraining, new_summarizer, stream, train
from pgt.relatives.summary_scores import repeated, rouge, unknown_right
from pgt.relatives.words import Text, Words, text_batch
from pgt.reports import write_report
from pgt.results import results_folder

SEEDS = (0, 1, 2)
TRAINING = SummarizerTraining()
ADAGRAD = replace(TRAINING, optimizer="adagrad", learning_rate=0.15)
SENTENCES = ("days", "mostly", "also", "errands")
CHUNK = 64


def fingerprint(diaries: Diaries) -> str:
    """A short hash of every word of the diaries.

    Examples
    --------
    >>> fingerprint(Diaries([], [], []))
    '4f53cda18c2b'
    """
    told = [[d.pair for d in part] for part in (diaries.train, diaries.valid, diaries.test)]
    flat = [" ".join((*source, "|", *summary)) for part in told for source, summary in part]
    return hashlib.sha256(str(flat).encode()).hexdigest()[:12]


def scores(summaries: Sequence[Text], diaries: Sequence[Diary], words: Words) -> dict[str, float]:
    """What summaries are worth, in percent."""
    references = [diary.summary for diary in diaries]
    both = list(zip(summaries, diaries, strict=True))
    found = 100 * rouge(summaries, references).mean()
    values = found.to_dict()
    right, asked, said = np.sum(
        [unknown_right(text, one.summary, words, one.source) for text, one in both], axis=0
    )
    values["unknown_right"] = 100 * right / asked
    values["unknown_precision"] = 100 * right / said if said else np.nan
    for n in (1, 2, 3, 4):
        again, every = np.sum([repeated(text, n) for text in summaries], axis=0)
        values[f"repeated_{n}"] = 100 * again / max(every, 1)
    values["exact"] = 100 * np.mean([tuple(text) == one.summary for text, one in both])
    for k, name in enumerate(SENTENCES):
        values[name] = 100 * np.mean(
            [sentence(text, k) == sentence(one.summary, k) for text, one in both]
        )
    values["length"] = float(np.mean([len(text) for text in summaries]))
    return {name: float(value) for name, value in values.items()}


def sentence(text: Text, k: int) -> list[str]:
    """The ``k``-th sentence, from 0; empty if there is none.

    Examples
    --------
    >>> sentence("one day . no errands .".split(), 1)
    ['no', 'errands']
    """
    parts = " ".join(text).split(" .")
    return parts[k].split() if k < len(parts) else []


def written(
    model: PointerGenerator, words: Words, diaries: Sequence[Diary], beam: int
) -> tuple[list[list[str]], list[Draft]]:
    """The summaries of diaries, and the drafts they come from."""
    texts, drafts = [], []
    for start in range(0, len(diaries), CHUNK):
        part = [diary.pair for diary in diaries[start : start + CHUNK]]
        batch = text_batch(part, words, model.config.max_source, model.config.max_summary)
        found = beam_search(model, batch, beam)
        drafts += found
        texts += [one.words(words, lent) for one, lent in zip(found, batch.lent, strict=True)]
    return texts, drafts


def networks(
    diaries: Diaries, training: SummarizerTraining
) -> Iterator[tuple[str, PointerGenerator, Words, pd.DataFrame]]:
    """The trained networks of one seed: what it is, the model, its vocabulary, its history."""
    pairs = [diary.pair for diary in diaries.train]
    words, every = diaries.words(SMALL.n_words), diaries.words()
    both = training.steps + training.coverage_steps
    for what, known in (
        ("sequence to sequence", words),
        ("sequence to sequence, all words", every),
    ):
        config = replace(SMALL, n_words=len(known), pointer=False)
        model = new_summarizer(config, training, known)
        history = train(model, stream(pairs, known, config, training), both, training)
        yield what, model.eval(), known, history
    yield from pointers(pairs, words, training)


def pointers(
    pairs: Sequence[tuple[Text, Text]], words: Words, training: SummarizerTraining
) -> Iterator[tuple[str, PointerGenerator, Words, pd.DataFrame]]:
    """The pointer-generator with and without coverage, which differ in the last steps only."""
    begun = new_summarizer(SMALL, training, words)
    first = train(begun, stream(pairs, words, SMALL, training), training.steps, training)
    for what, model in (
        ("pointer-generator", copy.deepcopy(begun)),
        ("pointer-generator, coverage", begun.with_coverage()),
    ):
        rest = islice(stream(pairs, words, SMALL, training), training.steps, None)
        last = train(model, rest, training.coverage_steps, training)
        yield what, model.eval(), words, pd.concat([first, last], ignore_index=True)


def measured(diaries: Diaries) -> Iterator[dict[str, Any]]:
    """All rows."""
    words = diaries.words(SMALL.n_words)
    about = {"split": "test", "group": "all", "n": len(diaries.test)}
    usual = round(np.mean([len(diary.summary) for diary in diaries.train]))
    rules = {
        "first words": [diary.source[:usual] for diary in diaries.test],
        "reference": [diary.summary for diary in diaries.test],
    }
    for what, texts in rules.items():
        yield about | {"what": what, "seed": None} | scores(texts, diaries.test, words)
    for seed in SEEDS:
        training = replace(TRAINING, seed=seed)
        for what, model, known, history in networks(diaries, training):
            searches = {"greedy": 1, "beam": SMALL.beam} if model.config.pointer else {"greedy": 1}
            for search, beam in searches.items():
                yield row(what, search, beam, seed, model, known, history, diaries) | about
    pairs = [diary.pair for diary in diaries.train]
    *_, (what, model, known, history) = pointers(pairs, words, ADAGRAD)
    yield row(f"{what}, Adagrad", "greedy", 1, 0, model, known, history, diaries) | about


def row(
    what: str, search: str, beam: int, seed: int, model: PointerGenerator, known: Words,
    history: pd.DataFrame, diaries: Diaries,
) -> dict[str, Any]:  # fmt: skip
    """One row."""
    texts, drafts = written(model, known, diaries.test, beam)
    # A word is unknown if the small vocabulary lacks it, whatever the network's own one.
    values = scores(texts, diaries.test, diaries.words(SMALL.n_words))
    end = history.tail(TRAINING.coverage_steps)
    values["p_gen"] = float(np.mean([p for draft in drafts for p in draft.p_gen]))
    values["p_gen_training"] = float(end.p_gen.mean())
    values["log_prob"] = float(np.mean([draft.score for draft in drafts]))
    values["train_words"] = float(end.words.mean())
    found = {"what": what, "seed": seed, "search": search, "parameters": model.n_parameters()}
    print(f"{what}, {search}, seed {seed}: ROUGE-1 {values['rouge1']:.1f}, names "
          f"{values['unknown_right']:.1f}", flush=True)  # fmt: skip
    return found | values


def main() -> int:
    """Measure, print and write."""
    torch.set_num_threads(1)
    began = time.process_time()  # one thread
    diaries = write_diaries(city.load())
    rows = list(measured(diaries))
    print(
        write_report(
            results_folder() / "summarizer.json",
            question="What do pointer, coverage and beam search do for summaries of diaries?",
            module="relatives.summarizer_report",
            data=[
                {
                    "name": "trip diaries of the city",
                    "fingerprint": fingerprint(diaries),
                    "diaries to train on": len(diaries.train),
                    "to test on": len(diaries.test),
                }
            ],
            seconds=time.process_time() - began,
            rows=rows,
            training=vars(TRAINING),
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
