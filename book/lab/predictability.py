"""How predictable the next place is at all.

    PGT_GEOLIFE=… python book/lab/run.py predictability

writes ``book/results/predictability.json``. Values are in percent. By ``table``:

- entropy: the bound of Song et al. on accuracy from each person's sequence (``group``), averaged
  over the test windows.
- agreement: ``value`` is how often two past situations that are alike in ``group`` agree, ``bound``
  the accuracy possible at most (if two draws from the same chances p agree with probability a, the
  sum of p², the best guess is right with a probability between a and √a: Cover and Hart 1967, doi
  10.1109/TIT.1967.1053964). The group "finest" takes every window with the most alike situations
  that it has; the others are of the windows that have two of the most alike. Its ``low`` and
  ``high`` are a 95 % interval over people; "finest, 30 min" and "finest, 2 h" take half an hour or
  two hours where it takes one.
- likeness used: of the windows of "finest", the share in which this was the most alike; "another
  place" has those in which only the hour was, or nothing.
- novelty: targets that the person has not visited within ``group``.
- truth: the city's own chances. With the "time known" the guess uses all that the simulator does
  before it chooses; with the "time unknown", all but when the next visit will be, and what the
  length of the stay tells; its "agreement" is how often two draws from these chances agree.

No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from wherenext import city

from lab import data_sets
from lab.ceilings import alike, entropies, novelty
from lab.city_chances import choice_probabilities
from lab.data_sets import DATA
from lab.reports import Report, Row
from pgt.predictor.memory import HistoryWindows, with_history
from pgt.windows import Windows

KEYS = ("geolife_exact", "city")


def truths(windows: Windows) -> Iterator[Row]:
    """The best accuracy that the simulator's own chances allow at the test windows' targets."""
    town = city.load()
    tested = choice_probabilities(town)[(town.visits.split == "test").to_numpy()]
    found = tested.iloc[windows.target]
    for group, column in (("time known", "best"), ("time known, hits", "hit"),
                          ("time unknown", "hit_unaware"),
                          ("time unknown, agreement", "agree_unaware")):  # fmt: skip
        yield {"table": "truth", "group": group, "value": 100 * float(found[column].mean())}


def measured(key: str) -> Iterator[Row]:
    """Every row of one data set."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
    windows = with_history(data_sets.dataset(key), memory=1).test
    assert isinstance(windows, HistoryWindows)
    truth = truths(data_sets.dataset(key).test) if key == "city" else ()
    for row in (*entropies(windows), *novelty(windows), *truth, *alike(windows)):
        yield about | row


def _rows() -> Iterator[Row]:
    for key in KEYS:
        yield from measured(key)


REPORT = Report(
    question="How predictable is the next place at all?", rows=_rows, data=KEYS,
)  # fmt: skip
