"""Sphinx extension: exercises with an answer get a form; MyST-NB's cells answer only with a kernel.

A cell tagged ``try`` that calls ``check.exercise("4.1", …)`` gets a form above it, if the answer
to 4.1 has fields. The form checks what a reader types against the same `wherenext.exercises.Answer`
that the cell checks against, in the page and without a network: ``answers.js`` builds it. Without
a script nothing is shown, and a notebook knows nothing of it.
"""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np
from docutils import nodes
from reading import code_cells
from sphinx.application import Sphinx
from sphinx.util import logging
from wherenext.exercises import ANSWERS, Answer

logger = logging.getLogger(__name__)

ASKED = re.compile(r'check\.exercise\(\s*"([\d.]+)"')
ROUNDING = (
    "Whole numbers.", "One decimal is enough.", "Two decimals are enough.",
    "Three decimals are enough.", "Four decimals are enough.",
)  # fmt: skip
CODE = "It takes code: run the chapter on Colab or at home."
PLACE = '<div class="pgt-answer"'


def form(answer: Answer) -> dict[str, Any] | None:
    """What the page's script needs of an answer, ready for JSON; None where it has no fields."""
    if not answer.fields:
        return None
    fields: list[dict[str, Any]] = []
    for field in answer.fields:
        about: dict[str, Any] = {"label": field.label}
        if field.choices:
            about["choices"] = list(field.choices)
        else:
            # Whoever rounds to the digits that are asked for is right, at the very edge as well.
            about |= {"unit": field.unit, "within": max(answer.atol, 0.5 * 10**-field.digits)}
        fields.append(about)
    right = flat(answer.value)
    if len(right) != len(fields):
        raise ValueError(f"{len(fields)} fields for an answer of {len(right)} parts")
    digits = [field.digits for field in answer.fields if not field.choices]
    hints = [ROUNDING[max(digits)]] if digits else []
    return {
        "fields": fields,
        "right": right,
        "slips": [{"answer": flat(slip), "why": why} for slip, why in answer.slips],
        "hint": " ".join(hints + [CODE] * answer.code),
        "then": answer.then,
    }


def flat(value: Any) -> list[Any]:
    """The words or numbers of an answer in one list."""
    if isinstance(value, tuple) and all(isinstance(part, str) for part in value):
        return list(value)
    numbers: list[Any] = np.asarray(value, dtype=float).ravel().tolist()
    return numbers


def markup(number: str, about: dict[str, Any]) -> str:
    """The place of a form, empty and hidden until the script fills it.

    The answer is in base64, so that a look at the source does not give it away. That is a courtesy
    to the reader and no secret: the solution is on the same page.
    """
    packed = base64.b64encode(json.dumps(about).encode("ascii")).decode("ascii")
    return f'{PLACE} data-exercise="{html.escape(number)}" data-answer="{packed}" hidden></div>'


def add_forms(_app: Sphinx, doctree: nodes.document) -> None:
    """Put a form above each cell that asks for an answer with fields."""
    for cell in list(code_cells(doctree)):
        asked = ASKED.search(cell[0].astext()) if "tag_try" in cell["classes"] else None
        if asked and asked[1] not in ANSWERS:
            logger.warning("There is no answer to exercise %s.", asked[1], location=cell)
        elif asked and (about := form(ANSWERS[asked[1]]())):
            place = nodes.raw("", markup(asked[1], about), format="html")
            cell.parent.insert(cell.parent.index(cell), place)
            if cell[-1].astext().startswith("Not yet"):  # the form says so
                cell.pop()


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", add_forms)
