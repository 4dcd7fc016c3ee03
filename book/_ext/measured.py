"""Numbers in prose that look measured and have no source beside them; no linter of prose asks.

What a reader sees as prose is read: Markdown cells, and in code cells the sentences, captions and
alternative texts that are shown, without the values that are computed into them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from typing import NamedTuple

SOURCE = "[source]"  # what a link to a source becomes before numbers are looked for

# Units of what is measured (any number with one is suspicious), and of what is mostly counted or
# set (suspicious from three digits on, as a bare number is).
MEASURED = r"%|per ?cent|percentage points?|points?|seconds?|ms|times|GB|MB|nats|bits"
COUNTED = (
    r"minutes?|min|hours?|days|weeks|metres|m|km|windows|visits|people|users|places|locations|"
    r"parameters|epochs|steps|seeds|rows"
)
WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred"
)
NUMBER = re.compile(
    r"(?<![\w.,/#\\^@])(?<!\d[-–])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+)"
    rf"(?:[\s-]*(?P<unit>(?:{MEASURED}|{COUNTED})(?![A-Za-z])|[sx](?![A-Za-z])))?(?![A-Za-z]|[.,]\d|-\d)"
)
IN_WORDS = re.compile(
    rf"\b(?P<number>(?:{WORDS})(?:[- ](?:{WORDS}))?) (?P<unit>per ?cent|percentage points?|points|seconds|ms|nats|"
    r"times (?:as|more|faster|slower|better|worse|larger|smaller|less))\b",
    re.IGNORECASE,
)
SCORE = re.compile(r"\b(?:Acc@\d+|accuracy|MRR|NDCG|F1|recall|precision)\b", re.IGNORECASE)

# Taken out before numbers are looked for: code, numbers that a run fills in, maths, HTML, addresses.
NOISE = re.compile(
    r"^```.*?^```|\{\{.*?\}\}|\$\$.*?\$\$|`[^`]*`|<!--.*?-->|<[a-zA-Z/][^>]*>|"
    r"\$(?:(?!\n\s*\n)[^$])+\$|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\[([^\][]*)\]\(([^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")
DOCUMENTS = re.compile(r"\b(?:design|the|their|these) documents\b", re.IGNORECASE)
# Numbers that only name something (chapter 7, exercise 2.1, equation (7.3), Acc@10, 2014, 32 bits,
# a 95 % interval), and the line at the top of a chapter that says how long it takes, roughly.
NAMES = re.compile(
    r"(?:\b(?:chapters?|exercises?|equations?|solutions?|sections?|figures?|parts?|steps?|layers?|"
    r"heads?|errat(?:um|a)|versions?|Python|seed|id|row|entry|position|visit|index|CC BY)|§)"
    r"\s*\(?\d+(?:[.–-]\d+)*\)?(?:(?:,| and|, and| to| or)\s+\(?\d+(?:\.\d+)*\)?)*|"
    r"\b(?:Acc|NDCG|Recall)@\d+(?:\s*(?:,|and|or)\s*@?\d+)*|\bF1\b|\b(?:1[89]|20)\d\d(?:s|\b)|"
    r"\b(?:16|32|64) bits|\b9[05] (?:%|per cent) intervals?|\*It takes\*.*? to run",
    re.IGNORECASE,
)
ITEM = re.compile(r"\n(?=\s*(?:[-*+]|\d+\.)\s|\s*\|)")
SHOWN = {"alt", "caption"}  # keywords of functions that draw, whose text is shown
MARKUP = {"Markdown", "HTML"}  # functions whose first argument is


class Hit(NamedTuple):
    """A number that looks measured, as it stands, its unit, and a few words around it."""

    number: str
    unit: str
    context: str


def is_source(address: str, known: Collection[str]) -> bool:
    """Whether a link leads to a work of the bibliography or to the errata."""
    if re.match(r"(?:.*/)?(?:errata|bibliography)\b", address):
        return True
    return (address.lower() if address.startswith("https://doi.org/") else address) in known


def paragraphs(markdown: str, known: Collection[str] = ()) -> Iterator[list[str]]:
    """Paragraphs without code, maths and headings; each split into its items or table rows."""

    def link(match: re.Match[str]) -> str:
        return match[1] + (f" {SOURCE}" if is_source(match[2], known) else "")

    text = NOISE.sub(" ", LINK.sub(link, markdown))
    text = re.sub(r"(?m)^\s*>[ \t]?", "", text)
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^\s*#.*$", "", text)):
        items = [" ".join(item.split()) for item in ITEM.split(block)]
        if items := [item for item in items if item]:
            yield items


def suspicious(
    markdown: str, known: Collection[str] = (), excused: Collection[str] = ()
) -> list[Hit]:
    """The numbers in Markdown that look measured and have no source beside them.

    ``known`` are addresses of works of the bibliography, ``excused`` phrases with numbers.
    """
    hits: list[Hit] = []
    introduced = False
    for items in paragraphs(markdown, known):
        # The sentence above a list, or the head of a table, speaks for all of it.
        if not introduced and not _cites(items[0]):
            for item in items:
                if not _cites(item):
                    for phrase in excused:
                        item = item.replace(phrase, "_")
                    hits += _in_passage(item)
        introduced = _cites(items[-1]) and items[-1].removesuffix(SOURCE).rstrip().endswith(":")
    return hits


def _cites(passage: str) -> bool:
    return SOURCE in passage or bool(DOCUMENTS.search(passage))


def _in_passage(passage: str) -> Iterator[Hit]:
    # Names are blanked, not cut out, so that places in the passage stay what they are.
    text = NAMES.sub(lambda match: "_" * len(match[0]), passage)
    scored = bool(SCORE.search(passage))
    for match in [*NUMBER.finditer(text), *IN_WORDS.finditer(text)]:
        number, unit = match["number"], match["unit"] or ""
        digits = len(re.sub(r"\D", "", number))
        score = scored and not unit and digits >= 2
        measured = bool(re.fullmatch(rf"{MEASURED}|s|x", unit))
        if "." in number or digits >= 3 or measured or score or match.re is IN_WORDS:
            yield Hit(number, unit, passage[max(0, match.start() - 40) : match.start() + 60])


def spoken(code: str) -> list[str]:
    """What a code cell shows as prose: Markdown, captions and alternative texts."""
    found = []
    for node in ast.walk(ast.parse(plain(code))):
        if isinstance(node, ast.Call):
            shown = [word.value for word in node.keywords if word.arg in SHOWN]
            shown += node.args[:1] if called(node) in MARKUP else []
            for value in shown:
                parts = (one.value for one in ast.walk(value) if isinstance(one, ast.Constant))
                found.append("…".join(part for part in parts if isinstance(part, str)))
    return found


def called(call: ast.Call) -> str:
    """The name of what is called, without what it belongs to; empty where it has none."""
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def plain(code: str) -> str:
    """Code of a cell without the lines that only a notebook understands."""
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.MULTILINE)


def settings(code: str) -> set[str]:
    """The numbers that code is written with; neither comments nor strings count."""
    tokens = tokenize.generate_tokens(io.StringIO(plain(code)).readline)
    found = {one.string.replace("_", "") for one in tokens if one.type == tokenize.NUMBER}
    simple = (number for number in found if re.fullmatch(r"[\d.]+(?:e-?\d+)?", number))
    return found | {f"{float(one):g}" for one in simple if float(one) < 1e6}


def is_setting(hit: Hit, numbers: set[str]) -> bool:
    """Whether a number of the prose is one that the page's code is written with.

    A small number with a unit of what is measured, such as 20 %, is in some cell by chance.
    """
    number = hit.number.replace(",", "")
    short = len(re.sub(r"\D", "", number)) < 3
    return number in numbers and not (short and re.fullmatch(rf"{MEASURED}|s|x", hit.unit))
