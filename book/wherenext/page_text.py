"""Text and numbers from data on their way into a page: shown as they are, never run.

They are guarded against HTML, JavaScript and Jinja, since branca reads what a map element wrote
as a template once more: ``{{ … }}`` in the name of a place would run as Python.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

# In JSON an opening brace is followed by one of these only inside a string.
_JINJA = re.compile(r"\{(?=[{%#])")


def safe_html(text: object) -> str:
    """Text, or anything as `str` writes it, without a tag, a quote or an opening brace."""
    return html.escape(str(text), quote=True).replace("{", "&#123;")


def safe_json(value: Any) -> str:
    """JSON in one line of ASCII: no text in it ends the script of a page, or is a template."""
    text = json.dumps(value, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return _JINJA.sub(r"\\u007b", text)


def framed(picture: str, caption: str) -> str:
    """A picture in a figure of the page, with its caption below."""
    below = f"<figcaption>{safe_html(caption)}</figcaption>"
    return f'<figure class="pgt-figure">{picture}{below}</figure>'
