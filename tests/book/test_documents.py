"""The page on the design documents: what it links to exists, and no section is left out."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from toc import REPOSITORY

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "documents.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")
LINKS = dict(re.findall(r"^\[(\w+)\]: (\S+)$", PAGE, re.MULTILINE))
CODE = sorted(set(re.findall(r"\[`([\w.]+)`\]\[(\w+)\]", PAGE)))
NAMES = """loc_emb user_emb time_emb weekday_emb recency_emb duration_emb pos_from_end_emb
    input_proj pos_encoding pointer_query pointer_key position_bias scatter_add_
    gen_head ptr_gen_gate final_probs PointerNetworkV45 PointerGeneratorTransformer
    coverage p_gen masked_self_attention aggregate_nodes_temporal_feature
    global_gated_update LightweightMoE FocalLoss RoPE"""
# How many sections a part of the page must have, and how their names begin.
SECTIONS = {"Architecture": ("§", 11), "Components": ("§", 14), "Original and proposed": ("", 6),
            "Improvements": ("", 10)}  # fmt: skip


def attribute(thing: Any, name: str) -> Any:
    """An attribute, or the type of a field of a dataclass that has no default."""
    return getattr(thing, name, None) or thing.__annotations__[name]


@pytest.mark.parametrize(("name", "label"), CODE)
def test_code_exists_where_its_link_leads(name: str, label: str) -> None:
    path = LINKS[label].removeprefix(REPOSITORY)
    assert (ROOT / path).is_file()
    module: Any = import_module(path.removesuffix(".py").replace("/", "."))
    assert reduce(attribute, name.split("."), module) is not None


def test_chapters_and_errata_exist_and_numbers_are_those_of_the_chapters() -> None:
    for label in re.findall(r"(?<!\])\[(\d+)\](?![:(\[])", PAGE):
        assert re.fullmatch(rf"0?{label}_\w+\.ipynb", LINKS[label])
        assert (ROOT / "book" / LINKS[label]).is_file()
    told = set(re.findall(r"\[[^]]*\b(\d+)\]\(#erratum-(\d+)\)", PAGE))
    assert all(shown == number for shown, number in told)
    assert {number for _, number in told} == set(re.findall(r"^\(erratum-(\d+)\)=", ERRATA, re.M))


def test_every_section_of_the_documents_and_every_name_is_there() -> None:
    parts = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))
    for title, (mark, last) in SECTIONS.items():
        numbers = {int(n) for row in re.findall(rf"^\| ({mark}\d.*?) \|", parts[title], re.M)
                   for n in re.findall(rf"(?:^|, |to ){mark}(\d+)", row)}  # fmt: skip
        assert numbers == set(range(1, last + 1)), title
    assert not {name for name in NAMES.split() if name not in PAGE}
