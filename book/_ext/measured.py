"""Numbers in prose that look measured and have no source beside them; no linter of prose asks.

What a reader sees as prose is read: Markdown cells, and in code cells the sentences, captions and
alternative texts that are shown, without the values that are computed into them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Hit:
    """A number that looks measured."""

    number: str
    unit: str
    start: int  # where it is in ``passage``
    passage: str  # the paragraph, list item or table row that it stands in

    @property
    def text(self) -> str:
        """As it stands: with a percent sign, or with its unit."""
        return f"{self.number} {self.unit}".strip()

    @property
    def context(self) -> str:
        """A few words before and after it."""
        return self.passage[max(0, self.start - 40) : self.start + 60].strip()

    def within(self, phrase: str) -> bool:
        """Whether it stands inside this phrase of the passage."""
        first = self.passage.find(phrase)
        while first >= 0:
            if first <= self.start < first + len(phrase):
                return True
            first = self.passage.find(phrase, first + 1)
        return False


def is_source(address: str, known: frozenset[str]) -> bool:
    """Whether a link leads to a work of the bibliography or to the errata.

    >>> is_source("https://doi.org/10.1/A", frozenset({"https://doi.org/10.1/a"}))
    True
    >>> is_source("03_windows.ipynb", frozenset())
    False
    """
    if re.match(r"(?:.*/)?(?:errata|bibliography)\b", address):
        return True
    return (address.lower() if address.startswith("https://doi.org/") else address) in known


def paragraphs(markdown: str, known: frozenset[str] = frozenset()) -> Iterator[list[str]]:
    """Paragraphs without code, maths and headings; each split into its items or table rows.

    >>> list(paragraphs("# Title 3\\n\\nOne `2`\\nthree.\\n\\n| a | b |\\n| 1 | 2 |"))
    [['One three.'], ['| a | b |', '| 1 | 2 |']]
    """

    def link(match: re.Match[str]) -> str:
        return match[1] + (f" {SOURCE}" if is_source(match[2], known) else "")

    text = NOISE.sub(" ", LINK.sub(link, markdown))
    lines = [re.sub(r"^\s*>\s?", "", line) for line in text.splitlines()]
    text = "\n".join("" if line.lstrip().startswith("#") else line for line in lines)
    for block in re.split(r"\n\s*\n", text):
        items = [" ".join(item.split()) for item in ITEM.split(block)]
        if items := [item for item in items if item]:
            yield items


def suspicious(markdown: str, known: frozenset[str] = frozenset()) -> list[Hit]:
    """The numbers in Markdown that look measured and have no source beside them.

    >>> [hit.text for hit in suspicious("It is right 41.3 % of the time, in 1,200 windows.")]
    ['41.3 %', '1,200 windows']
    >>> suspicious("See chapter 7. The design documents say 41.3 %.")
    []
    """
    hits = []
    introduced = False
    for items in paragraphs(markdown, known):
        # The sentence above a list, or the head of a table, speaks for all of it.
        if not introduced and not _cites(items[0]):
            for item in items:
                if not _cites(item):
                    hits += list(_in_passage(item))
        introduced = _cites(items[-1]) and items[-1].removesuffix(SOURCE).rstrip().endswith(":")
    return hits


def _cites(passage: str) -> bool:
    return SOURCE in passage or bool(DOCUMENTS.search(passage))


def _in_passage(passage: str) -> Iterator[Hit]:
    # Names are blanked, not cut out, so that places in the passage stay what they are.
    text = NAMES.sub(lambda match: "_" * len(match[0]), passage)
    scored = bool(SCORE.search(passage))
    for match in NUMBER.finditer(text):
        number, unit = match["number"], match["unit"] or ""
        digits = len(re.sub(r"\D", "", number))
        score = scored and not unit and digits >= 2
        measured = bool(re.fullmatch(rf"{MEASURED}|s|x", unit))
        if "." in number or digits >= 3 or measured or score:
            yield Hit(number, unit, match.start(), passage)
    for match in IN_WORDS.finditer(text):
        yield Hit(match["number"], match["unit"], match.start(), passage)


def spoken(code: str) -> list[str]:
    """What a code cell shows as prose: Markdown, captions and alternative texts.

    >>> spoken('show(fig, alt="A map.", caption=f"It is {x} %, not 41 %.")')
    ['A map.', 'It is … %, not 41 %.']
    """
    found = []
    for node in ast.walk(ast.parse(plain(code))):
        if not isinstance(node, ast.Call):
            continue
        shown = [word.value for word in node.keywords if word.arg in SHOWN]
        shown += node.args[:1] if called(node) in MARKUP else []
        found += [text for value in shown if (text := _literal(value))]
    return found


def called(call: ast.Call) -> str:
    """The name of what is called, without what it belongs to; empty where it has none."""
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def _literal(node: ast.expr) -> str:
    """The text of a string, an f-string or a sum of them; a value is an ellipsis."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_literal(node.body)} {_literal(node.orelse)}"
    return "…"


def plain(code: str) -> str:
    """Code of a cell without the lines that only a notebook understands."""
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.MULTILINE)


def settings(code: str) -> set[str]:
    """The numbers that code is written with; neither comments nor strings count.

    >>> sorted(settings("n = 2_000  # of 7\\nname = '12'; p = .5"))
    ['.5', '0.5', '2000']
    """
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(plain(code)).readline):
        if token.type == tokenize.NUMBER:
            number = token.string.replace("_", "")
            found.add(number)
            if re.fullmatch(r"[\d.]+(?:e-?\d+)?", number):
                found.add(f"{float(number):g}" if float(number) < 1e6 else number)
    return found


def is_setting(hit: Hit, numbers: set[str]) -> bool:
    """Whether a number of the prose is one that the page's code is written with.

    A small number with a unit of what is measured, such as 20 %, is in some cell by chance.

    >>> is_setting(suspicious("It sees 150 visits, or 20 %.")[0], {"150", "20"})
    True
    >>> is_setting(suspicious("It sees 150 visits, or 20 %.")[1], {"150", "20"})
    False
    """
    number = hit.number.replace(",", "")
    short = len(re.sub(r"\D", "", number)) < 3
    if short and re.fullmatch(rf"{MEASURED}|s|x", hit.unit):
        return False
    return number in numbers
