"""The page of the package: every public name and every module, and where their links lead."""

from __future__ import annotations

import api
import pytest
import terms
import yaml

import pgt

from .sphinx_helpers import ROOT, Built, build

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
SETTINGS = {
    name: CONFIG[name] for name in CONFIG if name.startswith(("autodoc", "napoleon", "default"))
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The page as it is, beside a chapter that uses the package, the glossary, and the index."""
    lists = "\n\n".join(f'<div id="{place}"></div>' for place in terms.PLACES)
    pages = {
        "01_start": "# One: Start\n\nThis is `pgt.metrics.evaluate`, a **gate**.\n",
        "glossary": "# Glossary\n\n```{glossary}\ngate\n  A number.\n```\n",
        "api": (ROOT / "book" / "api.md").read_text(encoding="utf-8"),
        "genindex": f"# Index\n\n{lists}\n",
    }
    more = {"index_glossary": "glossary.md", "index_api": "api.md", **SETTINGS}
    extensions = ("sphinx.ext.autodoc", "sphinx.ext.napoleon", "api", "terms")
    conf = "\n".join(["nitpicky = True", *(f"{name} = {value!r}" for name, value in more.items())])
    return build(tmp_path_factory.mktemp("api"), pages, *extensions, more=conf)


def test_builds_without_a_warning(book: Built) -> None:
    assert book.warnings == ""


def test_shows_every_public_name_and_every_module(book: Built) -> None:
    page = book.page("api")
    assert all(f'id="pgt.{name}"' in page for name in pgt.__all__)
    assert all(f'id="{module.name}"' in page and module.says for module in api.modules())
    assert {module.name for module in api.modules()} >= {
        "pgt.windows",
        "wherenext.city",
        "wherenext.town_map",
    }
    assert len(page) < 300_000  # letters: a page is read on phones too


def test_modules_lead_to_sources_that_are_there(book: Built) -> None:
    for module in api.modules():
        assert (ROOT / module.path).is_file()
        assert f'href="{api.REPOSITORY}{module.path}"' in book.page("api")


def test_the_index_leads_to_the_modules_and_is_not_filled_by_the_page(
    book: Built,
) -> None:
    index = book.page("genindex")
    assert 'href="api.html#pgt.metrics"' in index
    assert "in module pgt" not in index
