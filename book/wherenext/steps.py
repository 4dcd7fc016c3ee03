"""One prediction put into words and pictures, step by step; `walkthrough` shows them.

Pictures are HTML that takes its colours from the figure's style sheet; all text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wherenext.page_text import safe_html
from wherenext.trace import Trace

TOP = 7  # places that are listed
FACTS = {  # short names for the seven facts
    "location": "place", "user": "person", "time": "hour", "weekday": "day", "recency": "ago",
    "duration": "stay", "position_from_end": "back",
}  # fmt: skip
SIGNS = "Teal is above zero, ochre below."
LEVELS = 8  # of darkness in a heat strip
WIDE, LABEL = 400, 40  # units: of a heat strip, and of the names beside its rows


@dataclass(frozen=True)
class Step:
    """One step: a title, the parts of the network that work, a sentence or two, and a picture."""

    title: str
    parts: tuple[str, ...]
    says: str
    picture: str


def steps_of(found: Trace, names: Mapping[object, str]) -> Iterator[Step]:
    """All steps, in order; ``names`` has what places are called, by ``location_id``."""
    writer = _Writer(found, names)
    yield from writer.visits_to_vectors()
    yield writer.attention()
    yield from writer.pointer()
    yield from writer.places()


# ---- Marks ---------------------------------------------------------------------------------------


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, and no zero below zero."""
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0 else text).replace("-", "−")


def heat(
    values: np.ndarray, rows: Sequence[str], alt: str, *,
    heads: Sequence[tuple[str, int]] = (), high: float = 18,
) -> str:  # fmt: skip
    """A matrix as a strip of cells: the darker, the further from zero, in a colour for each sign.

    ``heads``: names above the columns, and over how many each reaches; ``high``: of a row.
    """
    n, wide = values.shape
    cell, up = (WIDE - LABEL) / wide, 17 if heads else 0
    largest = np.abs(values).max() or 1.0
    level = np.sign(values) * np.ceil(LEVELS * np.abs(values) / largest)  # −8 … 8
    marks = []
    for step in np.unique(level[level != 0]).astype(int):
        path = "".join(f"M{column} {row}h1" for row, column in np.argwhere(level == step))
        kind, shade = "above" if step > 0 else "below", abs(step) / LEVELS
        marks.append(f'<path class="{kind}" stroke-opacity="{shade:.3g}" d="{path}"/>')

    def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{x:.4g}" y="{y:g}" text-anchor="{anchor}">{safe_html(words)}</text>'

    texts = [
        text(LABEL - 6, up + (row + 0.5) * high + 4.5, name, "end") for row, name in enumerate(rows)
    ]
    start = 0
    for name, reach in heads:
        texts.append(text(LABEL + (start + reach / 2) * cell, 12, name))
        start += reach
    scale = f'transform="translate({LABEL} {up + high / 2:g}) scale({cell:.5g} {high:g})"'
    return (
        f'<svg class="heat" role="img" aria-label="{safe_html(alt)}" '
        f'viewBox="0 0 {WIDE} {up + n * high:g}">'
        f'<rect class="ground" x="{LABEL}" y="{up}" width="{WIDE - LABEL}" height="{n * high:g}"/>'
        f"<g {scale}>{''.join(marks)}</g>{''.join(texts)}</svg>"
    )


def bar(*parts: tuple[float, str]) -> str:
    """A bar of (share of the whole width, class) parts, side by side."""
    inside = "".join(f'<i class="{kind}" style="width:{100 * p:.2f}%"></i>' for p, kind in parts)
    return f'<div class="bar" aria-hidden="true">{inside}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of finished HTML; the first column names its rows, no name heads bars."""
    top = "".join(f'<th scope="col">{safe_html(one)}</th>' if one else "<td></td>" for one in heads)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


# ---- Steps ---------------------------------------------------------------------------------------


class _Writer:
    """Puts a trace into words and pictures."""

    def __init__(self, found: Trace, names: Mapping[object, str]) -> None:
        self.trace, self.look, self.visits = found, found.look, found.look.visits
        self.names = names
        places = self.visits.location_id
        self.letters = {  # A, B, … Z, A2, B2, …
            place: chr(ord("A") + n % 26) + (str(n // 26 + 1) if n >= 26 else "")
            for n, place in enumerate(places.unique())
        }
        # As "11 A": a visit's number, and the letter of its place.
        self.rows = [f"{n} {self.letters[place]}" for n, place in enumerate(places, start=1)]

    def name(self, location_id: object) -> str:
        """What a place is called."""
        unnamed = "an unknown place" if location_id is None else f"place {location_id}"
        return self.names.get(location_id, unnamed)

    def place(self, location_id: object, before: str = "") -> str:
        """A place with its letter, if it has one, and its name, as HTML."""
        letter = self.letters.get(location_id)
        mark = f'<b class="letter">{letter}</b> ' if letter else ""
        return f'<span class="place">{mark}{before}{safe_html(self.name(location_id))}</span>'

    def visits_to_vectors(self) -> Iterator[Step]:
        """The raw visits, whole numbers, embeddings, projection, sinusoid."""
        found = self.trace
        rows = [
            [f'<span class="visit"><span>{n}</span>{self.place(visit.location_id)}</span>',
             f"{visit.started_at:%a %H:%M} – {visit.finished_at:%H:%M}"]
            for n, visit in enumerate(self.visits.itertuples(), start=1)
        ]  # fmt: skip
        yield Step(
            "The visits", ("visits",),
            f"One person, {len(rows)} visits to {len(self.letters)} places. Each place gets a "
            "letter. Where next?",
            table(["visit", "from – to"], rows),
        )  # fmt: skip
        rows = [
            [name, *(str(found.ids[fact][n]) for fact in FACTS)] for n, name in enumerate(self.rows)
        ]
        yield Step(
            "Whole numbers", ("embeddings",),
            "Every fact becomes a whole number: which row to look up in its table of vectors.",
            table(["visit", *FACTS.values()], rows),
        )  # fmt: skip
        width = found.embedded.shape[1]
        wide = [(FACTS[name], size) for name, size in found.widths.items()]
        heads = [*wide[:2], ("the other five", sum(size for _, size in wide[2:]))]
        yield Step(
            "Seven vectors", ("embeddings",),
            f"The seven vectors of a visit, side by side: {width} numbers. Visits to one place "
            f"have the same vector of the place. {SIGNS}",
            heat(found.embedded, self.rows, f"{width} numbers a visit.", heads=heads),
        )  # fmt: skip
        d = found.projected.shape[1]
        yield Step(
            "One vector", ("projection",),
            f"A linear layer and a normalisation make {d} numbers of them. {SIGNS}",
            heat(found.projected, self.rows, f"{d} numbers for each visit."),
        )  # fmt: skip
        waves = found.placed - found.projected
        yield Step(
            "Where in the row", ("position",),
            "The sinusoid (above) is added, so that order counts. Below: the sum.",
            heat(waves, self.rows, "The sinusoid of each visit.", high=13)
            + heat(found.placed, self.rows, "The sum for each visit.", high=13),
        )  # fmt: skip

    def attention(self) -> Step:
        """All heads; the script shows one of them, without it the most selective is seen."""
        weights = self.look.self_attention  # (layers, H, L, L)
        layers, heads, length, _ = weights.shape
        best = int(weights[:, :, -1].max(-1).argmax())
        columns = [(name.split()[0], 1) for name in self.rows]
        options, maps = [], []
        for n, one in enumerate(weights.reshape(-1, length, length)):
            name = f"layer {n // heads + 1}, head {n % heads + 1}"
            most = int(one[-1].argmax())
            sentence = (
                f"Here visit {self.rows[-1]} looks most at visit {self.rows[most]}: "
                f"{number(one[-1, most])}."
            )
            picture = heat(one, self.rows, f"Attention of {name}. {sentence}", heads=columns,
                           high=20)  # fmt: skip
            hidden = "" if n == best else " hidden"
            options.append(f'<option value="{n}"{"" if hidden else " selected"}>{name}</option>')
            maps.append(
                f'<div data-head="{n}"{hidden}>{picture}<p class="numbers">{sentence}</p></div>'
            )
        choice = f'<label class="choice">Attention of <select>{"".join(options)}</select></label>'
        return Step(
            "Attention", ("encoder",),
            f"A row is a visit that looks, a column one that is looked at; each row sums to one. "
            f"The {layers} layers have {heads} heads each; this is one of them.",
            f'<div class="heads">{choice}{"".join(maps)}</div>',
        )  # fmt: skip

    def pointer(self) -> Iterator[Step]:
        """The context, scores with the position bias, weights, and their sums."""
        encoded, scores, bias = self.trace.encoded, self.trace.scores, self.trace.bias
        yield Step(
            "The context", ("context",),
            "What the encoder makes of each visit. The last row is the context: generator and gate "
            "see nothing else.",
            heat(encoded, self.rows, f"{encoded.shape[1]} numbers for each visit."),
        )  # fmt: skip
        rows = [
            [name, number(score, 3), number(plus, 3), number(score + plus, 3)]
            for name, score, plus in zip(self.rows, scores, bias, strict=True)
        ]
        yield Step(
            "Scores and position bias", ("pointer", "bias"),
            "The context asks, every visit answers: query times key, divided by √D. The bias of "
            "the visit's position is added.",
            table(["visit", "query · key / √D", "+ bias", "= score"], rows),
        )  # fmt: skip
        weights = self.visits.attention.to_numpy()
        rows = [
            [name, bar((weight / weights.max(), "copied")), number(weight, 3)]
            for name, weight in zip(self.rows, weights, strict=True)
        ]
        yield Step(
            "Pointer weights", ("pointer",),
            "A softmax turns the scores into weights, which sum to one.",
            table(["visit", "", "weight"], rows),
        )  # fmt: skip
        copies, rows = self.trace.copies, []
        for place, total in copies.items():
            own = weights[(self.visits.location_id == place).to_numpy()]
            terms = " + ".join(number(weight, 3) for weight in own)
            sums = f"<small>{terms}</small>" if len(own) > 1 else ""
            sentence = self.place(place) + bar((total / copies.max(), "copied")) + sums
            rows.append([sentence, number(total, 3)])
        yield Step(
            "Copies", ("copies",),
            "The weights of visits to one place are added up. No other place can be copied.",
            table(["place", "copied"], rows),
        )  # fmt: skip

    def places(self) -> Iterator[Step]:
        """Generator, gate, mixture and answer."""
        gate, generated = self.look.gate, self.trace.generated
        first, truth = generated.head(TOP), self.look.target.location_id
        sentence = ""
        if truth in generated.index:  # else it is one of the places that are merged into one
            rank = int(generated.index.get_loc(truth)) + 1
            sentence = (
                f" The place where they went is number {rank:,}, with "
                f"{number(generated[truth], 4)}."
            )
        rows = [
            [self.place(place) + bar((p / first.max(), "generated")), number(p, 4)]
            for place, p in first.items()
        ]
        yield Step(
            "The generator", ("generator",),
            f"From the context, a probability for each of {len(generated):,} places. These are the "
            f"{len(first)} likeliest; all others share {number(1 - first.sum(), 3)}.{sentence}",
            table(["place", "generated"], rows),
        )  # fmt: skip
        yield Step(
            "The gate", ("gate",),
            f"From the context, one number: {number(self.trace.logit)}. Its sigmoid is the gate, "
            f"{number(gate, 3)}: the share that is copied. The rest is generated.",
            bar((gate, "copied"), (1 - gate, "generated"))
            + f'<p class="ends"><span>copied {number(gate, 3)}</span>'
            f"<span>generated {number(1 - gate, 3)}</span></p>",
        )  # fmt: skip
        mixed = self.look.candidates.head(TOP)
        longest = float(mixed.probability.max())
        rows = [
            [self.place(one.location_id)
             + bar((one.copied / longest, "copied"), (one.generated / longest, "generated")),
             number(one.copied, 4), number(one.generated, 4), number(one.probability, 4)]
            for one in mixed.itertuples()
        ]  # fmt: skip
        yield Step(
            "The mixture", ("mixture",),
            f"Each place gets {number(gate, 3)} of what is copied plus {number(1 - gate, 3)} of "
            "what is generated.",
            table(["place", "copied", "gen.", "sum"], rows),
        )  # fmt: skip
        given = self.look.target_probability
        rows = [
            [self.place(one.location_id, "✓ " if one.is_target else "")
             + bar((one.probability, "truth" if one.is_target else "other")),
             f"{number(100 * one.probability, 1)} %"]
            for one in mixed.itertuples()
        ]  # fmt: skip
        right = bool(mixed.is_target.iloc[0])
        yield Step(
            "The answer", ("answer",),
            f"They went to {self.name(truth)}. The model's first guess was "
            f"{'right' if right else 'wrong'}. It gave this place {number(100 * given, 1)} %, "
            f"so the loss is −ln {number(given, 4)} = {number(-math.log(given), 3)} nats.",
            table(["place", "probability"], rows),
        )  # fmt: skip
