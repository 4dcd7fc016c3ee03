"""Forms for exercises: each holds its `Answer`, and the page's source does not show it."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import answers
import numpy as np
import pytest
from wherenext.exercises import ANSWERS, answer_to

from .sphinx_helpers import Built, build

PLACE = re.compile(
    r'<div class="pgt-answer" data-exercise="([\d.]+)" data-answer="([\w+/=]+)" hidden></div>'
)
WITH_FORMS = [number for number in ANSWERS if answer_to(number).fields]
HEAD = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n"
NO_KERNEL = (
    'extensions[0] = "myst_nb"\nsource_suffix = {".md": "myst-nb"}\nnb_execution_mode = "off"\n'
    "nb_code_prompt_show = nb_code_prompt_hide = ''"
)


def cell(code: str, tag: str = "try") -> str:
    return f"```{{code-cell}}\n:tags: [{tag}]\n{code}\n```\n"


PAGES = {
    "01_forms": HEAD + "# One\n\n" + "".join(
        f"**Exercise** {number}.\n\n" + cell(f'mine = ...\ncheck.exercise("{number}", mine)')
        for number in ANSWERS
    ),
    "02_none": HEAD + "# Two\n\n" + cell('check.exercise("4.1", [21.6, 52.8])', "solution"),
    "03_missing": HEAD + "# Three\n\n" + cell('check.exercise("99.1", ...)'),
}  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("book")
    return build(folder, PAGES, "answers", more=NO_KERNEL)


def unpacked(page: str) -> dict[str, dict[str, Any]]:
    """What the forms of a page hold, by exercise."""
    return {number: json.loads(base64.b64decode(kept)) for number, kept in PLACE.findall(page)}


def test_each_form_holds_its_answer_and_the_tolerance_of_a_person(book: Built) -> None:
    found = unpacked(book.page("01_forms"))
    assert list(found) == WITH_FORMS
    for number, about in found.items():
        answer = answer_to(number)
        assert [field["label"] for field in about["fields"]] == [f.label for f in answer.fields]
        assert [slip["why"] for slip in about["slips"]] == [why for _, why in answer.slips]
        assert about["then"] == answer.then != ""
        for kept, true in zip(
            [about["right"], *(slip["answer"] for slip in about["slips"])],
            [answer.value, *(slip for slip, _ in answer.slips)],
            strict=True,
        ):
            assert kept == (list(true) if isinstance(true, tuple) else np.ravel(true).tolist())
        for field, value, asked in zip(about["fields"], about["right"], answer.fields, strict=True):
            if asked.choices:
                assert value in field["choices"] == list(asked.choices)
            else:
                assert abs(round(value, asked.digits) - value) <= field["within"] * 1.001


def test_the_source_gives_no_answer_away(book: Built) -> None:
    page = book.page("01_forms")
    for number in WITH_FORMS:
        answer = answer_to(number)
        assert answer.then not in page
        assert all(why not in page for _, why in answer.slips)
    places = "".join(match[0] for match in PLACE.finditer(page))
    for word in ("shopping", "visit order", "0.1875", "33.75", "17994"):
        assert word not in places


@pytest.mark.parametrize("number", WITH_FORMS)
def test_each_slip_fits_the_fields_and_can_be_made(number: str) -> None:
    """A slip is reached: it is not right by the form's tolerance, and words are offered."""
    about = answers.form(answer_to(number))
    assert about is not None
    for slip in about["slips"]:
        pairs = list(zip(about["fields"], slip["answer"], about["right"], strict=True))
        assert any(
            value != true if "choices" in field else abs(value - true) > field["within"] * 1.001
            for field, value, true in pairs
        ), slip["why"]
        assert all(value in field["choices"] for field, value, _ in pairs if "choices" in field)
