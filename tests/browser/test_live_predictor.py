"""The model trained on nobody in a page: the package's numbers, from a file that is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city
from wherenext.live_predictor import as_text, live

from pgt.predictor.predictor import NextLocation
from pgt.visits import CheckedVisits, check

from ..helpers import random_visits

pytestmark = pytest.mark.browser
CLOSE = 1e-5  # float32 there, float64 here; measured: 3e-7

ANSWER = """
([text, at]) => {
  const { model, readTable, timeOf, askAbout, asOf } = document.querySelector(".pgt-own").own;
  const person = readTable(text, "a table").people[0], about = askAbout(model, person.visits);
  const time = at === null ? null : timeOf(at);
  const begun = time ? person.visits.filter((visit) => visit.start <= time.moment).length
    : person.visits.length;
  const asked = time ? asOf(model, about, begun, time.moment) : about;
  const answer = asked.answer(begun, time && time.wall);
  return { ...answer, places: answer.places.map(([place, p]) => [person.titles[place - 2], p]) };
}
"""
DROP = """
([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, { type: "text/csv" }));
  const box = document.querySelector(".pgt-own [data-own=drop]");
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const more = { dataTransfer: files, bubbles: true, cancelable: true };
    box.dispatchEvent(new DragEvent(kind, more));
  }
}
"""


@pytest.fixture(scope="module")
def model() -> NextLocation:
    return NextLocation.pretrained()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory, model: NextLocation) -> Path:
    return live(model).save(tmp_path_factory.mktemp("nobody") / "live.html")


@pytest.fixture(scope="module")
def histories() -> dict[str, pd.DataFrame]:
    """People whom the page must answer as the package does."""
    visits = city.load().visits
    counts = visits.user_id.value_counts()
    busy, usual, few = (check(visits[visits.user_id == counts.index[i]]) for i in (0, 30, 60))
    last = random_visits(seed=1, users=1, visits=450, places=240)
    return {
        "more visits and places than the memory": check(last),
        "a busy person": busy,
        "a usual person": usual,
        "a person with few visits": few,
        "three visits": usual.head(3),
        "a single visit": usual.head(1),
        "check-ins without ends": usual.assign(finished_at=usual.started_at),
        "one place only": usual.head(40).assign(location_id="home"),
        "visits that overlap": usual.assign(finished_at=usual.finished_at + pd.Timedelta(hours=5)),
    }


@pytest.fixture
def opened(alone: Any, page_file: Path) -> Any:
    """A function that opens the page when its model has answered."""

    @contextmanager
    def open_page(**options: Any) -> Iterator[Any]:
        with alone(page_file, **options) as page:
            ready(page)
            yield page

    return open_page


def ready(page: Any) -> None:
    page.wait_for_function("!document.querySelector('.pgt-own').dataset.busy")


def said(page: Any, name: str) -> str:
    text: str = page.locator(f"[data-own={name}]").inner_text()
    return text


def top(page: Any) -> list[list[str]]:
    """The rows of the ten likeliest places."""
    rows: list[list[str]] = page.locator("[data-own=top] tr").evaluate_all(
        "all => all.map(r => [r.querySelector('th').innerText, r.lastChild.innerText])"
    )
    return rows


def answers(expected: pd.DataFrame) -> list[list[str]]:
    """The package's answer, written as such rows."""
    return [[str(row.location_id), f"{row.probability:.3f}"] for row in expected.itertuples()]


def give(page: Any, text: str, name: str = "mine.csv") -> None:
    """Choose a file, as a person does with the button."""
    page.set_input_files(
        "[data-own=file]", {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )
    page.wait_for_function(
        "name => document.querySelector('[data-own=wrong]').textContent !== ''"
        " || document.querySelector('[data-own=read]').textContent.startsWith(name)",
        arg=name,
    )
    ready(page)


def test_every_answer_is_that_of_the_package(
    opened: Any, model: NextLocation, histories: dict[str, pd.DataFrame]
) -> None:
    with opened() as page:
        for number, (about, visits) in enumerate(histories.items()):
            middle, last = visits.started_at.iloc[len(visits) // 2], visits.started_at.iloc[-1]
            later = [middle + pd.Timedelta(minutes=11), last + pd.Timedelta(hours=7)]
            for at in (None, later[number % 2]):
                # The page takes visits as they are; it does not join the pieces of a stay.
                as_they_are = CheckedVisits(check(visits))
                expected = model.predict(as_they_are, top=10_000, at=at)
                moment = None if at is None else at.isoformat()
                found = page.evaluate(ANSWER, [as_text(visits), moment])
                by_place = dict(found["places"])
                names = expected.location_id.astype(str)
                ours = names.map(by_place).to_numpy(dtype=float)
                theirs = expected.probability.to_numpy(dtype=float)
                assert len(by_place) == len(expected), about
                assert np.abs(ours - theirs).max() < CLOSE, (about, at)
                # The same order, except where float32 sees no difference.
                assert (np.diff(ours) < 1e-6).all(), (about, at)
                new = expected.somewhere_new.iloc[0]
                assert found["somewhereNew"] == pytest.approx(new, abs=1e-9), about
                whole = sum(by_place.values()) + found["somewhereNew"]
                assert whole == pytest.approx(1, abs=1e-9)


def test_a_file_that_is_dropped_is_read_and_answered(
    opened: Any, model: NextLocation, histories: dict[str, pd.DataFrame]
) -> None:
    visits = histories["a usual person"]
    with opened() as page:
        page.evaluate(DROP, ["mine.csv", as_text(visits)])
        page.wait_for_function(
            "document.querySelector('[data-own=read]').textContent.startsWith('mine.csv')"
        )
        ready(page)
        count = f"{len(visits):,} visits of 1 person to {visits.location_id.nunique()} places"
        assert count in said(page, "read")
        assert top(page) == answers(model.predict(visits, top=10))
        # One step back in time, somebody knows what came next, and it is judged.
        page.locator("[data-own=back]").click()
        ready(page)
        went = str(visits.location_id.iloc[-1])
        assert f"They went to {went}" in said(page, "told")
        page.locator("[data-own=again]").click()
        ready(page)
        assert said(page, "read").startswith("A sample")


def test_hostile_text_in_a_file_is_text(opened: Any) -> None:
    evil = "</script></style><img src=x onerror=alert(1)>{{7*191}}"
    rows = "".join(
        f'"{evil}","{evil}{n % 2}",2024-05-{1 + n:02d} 09:00,2024-05-{1 + n:02d} 10:00,1{n % 2},4\n'
        for n in range(9)
    )
    with opened() as page:
        header = "user_id,location_id,started_at,finished_at,lon,lat\n"
        give(page, header + rows, name=f"{evil}.csv")
        assert evil in said(page, "told") and evil in said(page, "read")
        assert page.locator(".pgt-own img").count() == 0
        assert evil in page.locator("[data-own=person] option").first.inner_text()


WRONG = {
    "has no column for the place (it has a, b); rename that column to": "a,b\n1,2\n",
    "has no column for when a visit begins": "place,b\n1,2\n",
    "make visits of it first": "lon,lat,time\n1,2,2024-01-01 00:00\n",
    'Both "time" and "start" could be started_at': "place,time,start\n1,2,3\n",
    "has no row that can be used": "place,time\n1,1714500000\n",
    "is empty": "",
    "is JSON": '{"a": 1}',
    "is a zip archive": "PK\x03\x04zip",
}


def test_a_wrong_file_gets_one_sentence_and_changes_nothing(opened: Any) -> None:
    with opened() as page:
        before = said(page, "told"), said(page, "read")
        for sentence, text in WRONG.items():
            page.evaluate("document.querySelector('[data-own=wrong]').textContent = ''")
            give(page, text)
            assert sentence in said(page, "wrong")
            assert (said(page, "told"), said(page, "read")) == before
