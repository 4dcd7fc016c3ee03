"""Figures with a script of their own, in a notebook's output or as a page without network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from pgt.files import write_text
from wherenext.page_text import safe_html, safe_json


def web(name: str) -> str:
    """The text of a file of ``wherenext/web``."""
    return resources.files("wherenext").joinpath("web", name).read_text("utf-8")


def scripted(body: str, data: Any, sheets: Iterable[str], scripts: Iterable[str]) -> str:
    """HTML with its styles before it, and its scripts after it, which know ``data`` as ``page``."""
    style, code = "".join(map(web, sheets)), "\n".join(map(web, scripts))
    return (
        f"<style>{style}</style>\n{body}<script>\n(() => {{\n"
        f"const page = {safe_json(data)};\n{code}}})();\n</script>"
    )


class WebFigure(ABC):
    """A figure as one piece of HTML, for the notebook to display or to be saved as a page."""

    title: str
    caption: str

    @abstractmethod
    def _repr_html_(self) -> str:
        """The figure itself."""

    def __repr__(self) -> str:
        return f"{self.title} ({self.caption})"

    def html(self) -> str:
        """A whole page, which opens from disk as well."""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{safe_html(self.title)}</title>\n"
            "<style>body{margin:0 auto;padding:12px;max-width:1100px;"
            "font:16px/1.5 system-ui,sans-serif}"
            "@media screen{html[data-theme=dark] body{background:#14181d}}</style>\n"
            '<script>{const dark = matchMedia("(prefers-color-scheme: dark)");\n'
            'const set = () => (document.documentElement.dataset.theme = dark.matches ? "dark" : '
            '"light");\nset();\ndark.addEventListener("change", set);}</script>\n'
            f"</head>\n<body>\n<main>{self._repr_html_()}</main>\n</body>\n</html>\n"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page; the name appears only once the file is complete."""
        return write_text(path, self.html())
