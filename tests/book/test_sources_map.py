"""The map of documents to code and chapters is complete, and leads somewhere.

The documents are not part of the repository. So the list of their sections and rows is here.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import jupytext
import pytest
from sources_map import DOCUMENTS, Entry, as_markdown, read_map
from toc import REPOSITORY

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = read_map()

# What the documents have, in their order: section -> rows.
SECTIONS: dict[str, dict[str, list[str]]] = {
    "comparison": {
        "High level": [
            "summarizer: overview",
            "summarizer: encoder",
            "summarizer: decoder",
            "summarizer: attention",
            "summarizer: pointer",
            "summarizer: generator",
            "summarizer: coverage",
            "proposed: overview",
            "proposed: feature fusion",
            "proposed: encoder",
            "proposed: pointer",
            "proposed: generator",
            "proposed: gate",
        ],
        "1 Input processing": [
            "input type",
            "embedding",
            "embedding width",
            "vocabulary",
            "padding",
            "unknown words",
        ],
        "2 Encoder": [
            "type",
            "layers",
            "hidden size",
            "output size",
            "attention heads",
            "position encoding",
            "normalisation",
            "activation",
        ],
        "3 Decoder": ["type", "steps", "initial state", "teacher forcing", "beam search"],
        "4 Attention": ["type", "computation", "masking", "coverage"],
        "5 Gate": ["input", "computation", "blend"],
        "6 Output": ["vocabulary size", "extended vocabulary", "final operation", "output length"],
        "Data flow, original": [
            "1 encoding",
            "2 state reduction",
            "3a decoder input",
            "3b context",
            "3c decoder step",
            "3d vocabulary distribution",
            "3e attention distribution",
            "3f generation probability",
            "3g final distribution",
            "4 output",
        ],
        "Data flow, proposed": [
            "1 feature extraction",
            "2 feature fusion",
            "3 encoding",
            "4 context",
            "5 pointer attention",
            "6 generation",
            "7 combination",
            "8 output",
        ],
        "Detailed diagram, original": [
            "embedding layer",
            "BiLSTM, forward and backward",
            "state reduction",
            "input fusion",
            "LSTM cell",
            "Bahdanau attention",
            "generation probability",
            "output projection",
            "final distribution",
        ],
        "Detailed diagram, proposed": [
            "example inputs",
            "embedding layers",
            "feature fusion",
            "encoder layer",
            "context extraction",
            "pointer mechanism",
            "generation head",
            "gated combination",
        ],
        "Why a Transformer": [
            "parallelisation",
            "long range",
            "training speed",
            "interpretability",
            "short sequences",
        ],
        "Why no decoder": ["one answer", "output size", "direct prediction", "argmax"],
        "Why several embeddings": [
            "location and context",
            "locations need time",
            "time, day, user",
        ],
        "Why position from the end": ["counting", "recent is predictive"],
        "Summary table": ["embedding", "encoder", "attention", "decoder", "gate", "output"],
    },
    "temporal": {
        "Motivation": ["regular and irregular items", "recurrent networks lose time"],
        "Component": [
            "input: sequences from the weighted graph",
            "output: one representation an item",
            "masked self-attention: equation",
            "mask matrix",
            "weighted aggregation: equation",
        ],
        "Code": [
            "masked self-attention: parameters",
            "heads, concatenated",
            "heads, averaged",
            "heads: refused values",
            "mask in code",
            "aggregation by lengths",
            "items of several users in a batch",
        ],
    },
    "improvements": {
        "Data characteristics": [
            "sequence lengths",
            "locations out of balance",
            "targets out of balance",
            "sequential patterns",
            "temporal patterns",
            "people differ",
        ],
        "Proposals": [
            "1 relative position",
            "2 gated feed-forward",
            "3 pre-norm",
            "4 several time scales",
            "5 embeddings by frequency",
            "6 cross-attention",
            "7 mixture of experts",
            "8 recent and first visits",
            "9 focal loss",
            "9 class-balanced loss",
            "9 label smoothing",
            "10 several heads",
            "10 mixture of softmaxes",
            "10 adaptive softmax",
            "10 temperature",
        ],
        "To do for certain": [
            "pre-norm",
            "GeGLU",
            "relative bias",
            "time on several scales",
            "another loss",
            "all five together",
        ],
        "To do with care": ["experts", "cross-attention", "adaptive embeddings"],
        "To avoid": ["rotary positions", "heavy augmentation", "very deep models"],
        "Parameter budget": [
            "embeddings",
            "encoder layers",
            "output layer",
            "what is left",
            "same size, better used",
        ],
    },
}


def resolve(code: str) -> Any:
    """What ``module:attribute`` names."""
    module, _, path = code.partition(":")
    thing: Any = import_module(module)
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def headings(chapter: str) -> list[str]:
    """The sections of a chapter."""
    path = ROOT / "book" / f"{chapter}.py"
    assert path.is_file(), f"There is no chapter {chapter}."
    cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "markdown"]
    return re.findall(r"^##+ (.+)$", "\n".join(cells), re.M)


def test_every_row_of_the_documents_is_in_the_map() -> None:
    mapped: dict[str, dict[str, list[str]]] = {}
    for entry in ENTRIES:
        mapped.setdefault(entry.document, {}).setdefault(entry.section, []).append(entry.row)
    assert mapped == SECTIONS
    assert set(mapped) == set(DOCUMENTS)


@pytest.mark.parametrize("code", sorted({code for entry in ENTRIES for code in entry.code}))
def test_code_of_the_map_exists(code: str) -> None:
    assert resolve(code) is not None


def test_links_to_code_lead_to_files_of_the_repository() -> None:
    text = "\n".join(as_markdown(ENTRIES, document) for document in DOCUMENTS)
    files = set(re.findall(rf"\]\({re.escape(REPOSITORY)}([^)]+)\)", text))
    assert any(file.startswith("book/lab/") for file in files)
    assert not {file for file in files if not (ROOT / file).is_file()}


@pytest.mark.parametrize("chapter", sorted({entry.chapter for entry in ENTRIES}))
def test_sections_of_the_map_exist(chapter: str) -> None:
    there = headings(chapter)
    missing = {e.heading for e in ENTRIES if e.chapter == chapter and e.heading} - set(there)
    assert not missing, f"{chapter} has no section {sorted(missing)}."


def test_every_row_has_code_and_a_chapter() -> None:
    for entry in ENTRIES:
        assert entry.code and re.fullmatch(r"\d\d_\w+", entry.chapter), entry


def test_the_table_shows_every_row_once() -> None:
    for document in DOCUMENTS:
        own = [entry for entry in ENTRIES if entry.document == document]
        rows = as_markdown(ENTRIES, document).splitlines()[2:]
        assert [row.split(" | ")[1] for row in rows] == [entry.row for entry in own]
        shown = [cell for row in rows if (cell := row.split(" | ")[0].removeprefix("|").strip())]
        assert Counter(shown) == Counter(dict.fromkeys((e.section for e in own), 1))
        assert all(".ipynb)" in row and "](https://" in row for row in rows)


def test_what_is_wrong_in_the_map_would_be_noticed() -> None:
    with pytest.raises(ModuleNotFoundError):
        resolve("pgt.nowhere:Thing")
    with pytest.raises(AttributeError):
        resolve("pgt.batch:Batch.nothing")
    assert "No such section" not in headings("09_model")
    wrong = Entry("comparison", "x", "y", ("pgt.batch:Batch",), "09_model", "")
    assert "[chapter 9](09_model.ipynb) |" in as_markdown([wrong], "comparison")
