"""Sphinx extension: measured numbers on pages without code.

Chapters compute their numbers in cells. A page such as the front page has none, so it names a
fact, as in ``{fact}`kernel```, and the build puts the number there. A fact that is not known, or
whose results are not there, is a warning, and warnings fail the build. (MyST-NB's glue would have to
be imported by chapters, on Colab too.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from front_chart import own_rows
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole
from wherenext.comparison import CLAIMS, compare, verdict
from wherenext.results import Results, read_results

from pgt.config import ABLATIONS

Where = dict[str, Any]
Fact = tuple[str, Callable[[Results], str]]  # a results file, and what to read from it


def percent(**where: Any) -> Callable[[Results], str]:
    """The mean test Acc@1 of some rows, in per cent."""

    def written(results: Results) -> str:
        rows = own_rows(results, **where)
        if rows.empty:
            raise KeyError(f"{results.name}.json has no row with {where}.")
        return f"{rows['acc@1'].mean():.1f}\u00a0%"

    return written


def lead(
    one: Where, other: Where, metric: str = "acc@1", group: str = "all", **where: Any
) -> Callable[[Results], str]:
    """How far rows are ahead of others on the same windows, with its 95 % interval, in points."""
    same = {"target_time": "unknown", **where}
    return lambda results: _interval(*results.difference(one | same, other | same, metric, group))


def gain(more: Where, less: Where, **where: Any) -> Callable[[Results], str]:
    """As `lead`, without the interval."""
    return lambda results: lead(more, less, **where)(results).partition(" ")[0]


def change(one: Where, other: Where, column: str = "acc@1") -> Callable[[Results], str]:
    """How far rows are from others, in points, on average over the seeds that both have."""

    def written(results: Results) -> str:
        of = results.rows.set_index("seed")
        here, there = (of[(of[list(where)] == pd.Series(where)).all(axis=1)][column]
                       for where in (one, other))  # fmt: skip
        return f"{(here - there).mean():+z.1f}".replace("-", "−")

    return written


def with_interval(row: Mapping[Any, Any]) -> str:
    """Acc@1 of a row, with its interval over people."""
    return f"{row['acc@1']:.1f}\u00a0% [{row['low']:.1f}, {row['high']:.1f}]"


def board(
    model: str = "contextual", past: str = "every earlier visit", told: bool = False
) -> Callable[[Results], str]:
    """Acc@1 on New York's leaderboard, with the interval over people."""

    def written(results: Results) -> str:
        rows = results.rows.query(f"model == {model!r} and seed.isna() and told == {told}")
        (row,) = rows[rows.past == past].to_dict("records")
        return with_interval(row)

    return written


def of_getnext(table: str, **which: str) -> Callable[[Results], str]:
    """Acc@1 on our board's sessions, with the interval over people."""

    def written(results: Results) -> str:
        rows = results.rows.query(f"table == {table!r} and rule == 'ours' and seed.isna()")
        (row,) = rows[(rows[[*which]] == [*which.values()]).all(axis=1)].to_dict("records")
        return with_interval(row)

    return written


def prompted(model: str, past: str) -> Callable[[Results], str]:
    """Acc@1 on all the prompts, with the interval over people."""

    def written(results: Results) -> str:
        rows = results.rows.query("questions == 'prompts' and not known")
        (row,) = rows[(rows.model == model) & (rows.past == past)].to_dict("records")
        return with_interval(row)

    return written


def judged(variant: str) -> Callable[[Results], str]:
    """The verdict on a proposal on GeoLife, and the interval that holds for all at once."""

    def written(results: Results) -> str:
        mean, low, high = proposals(results.folder).loc[variant, ["mean", "low_all", "high_all"]]
        return f"{verdict(low, high, CLAIMS.expected[variant])}: {_interval(mean, low, high)}"

    return written


@cache
def proposals(folder: Path) -> pd.DataFrame:
    """Every proposal against plain PGT on GeoLife, as chapter 19 compares them."""
    results = read_results("improvements", folder)
    own = results.rows[results.rows.model == "improved"].variant.unique()
    variants = {v: {"model": "improved", "variant": v} for v in own}
    plain = variants.pop("plain")
    del variants["no_smoothing"]  # the documents' settings for GeoLife have none
    return compare(results, variants, plain, draws=4000, data="geolife").table()


def without(variant: str) -> Callable[[Results], str]:
    """How DNNTSP on the baskets differs with one of its parts changed, in points of NDCG@10."""

    def written(results: Results) -> str:
        rows = results.rows.query(f"data == 'dc' and variant == {variant!r}").set_index("group")
        return _interval(*rows["ndcg@10"].loc[["gain", "gain low", "gain high"]])

    return written


def _interval(points: float, low: float, high: float) -> str:
    return f"{points:+z.1f} [{low:z.1f}, {high:z.1f}]".replace("-", "−")


GEOLIFE: Where = {"data": "geolife", "protocol": "exact"}
NEW_YORK: Where = {"data": "new york", "protocol": "published"}
MEMORY: Where = {"model": "contextual", "variant": "full"}
WEEK: Where = {"model": "contextual", "variant": "window"}
RULE_MEMORY, RULE_WEEK = {"model": "kernel_memory"}, {"model": "kernel"}
PGT: Where = {"model": "pgt", "variant": "full"}
PGT_TUNED: Where = {"model": "pgt", "variant": "tuned"}
FACTS: dict[str, Fact] = {
    "kernel": ("geolife_exact", percent(**RULE_WEEK, **GEOLIFE)),
    "pgt": ("geolife_exact", percent(**PGT, **GEOLIFE)),
    "pgt-tuned": ("geolife_exact", percent(**PGT_TUNED, **GEOLIFE)),
    "new-york-kernel": ("last_visit", percent(**RULE_WEEK, **NEW_YORK)),
    "new-york-pgt": ("last_visit", percent(**PGT, **NEW_YORK)),
    "pgt-lead-of-ten": ("geolife_exact", lead(PGT_TUNED, RULE_WEEK, "acc@10", **GEOLIFE)),
    "new-york-lead-of-ten": ("last_visit", lead(PGT, RULE_WEEK, "acc@10", **NEW_YORK)),
    "new-york-lead-on-known": ("last_visit", lead(PGT, RULE_WEEK, group="known", **NEW_YORK)),
    "gain": ("beyond", gain(MEMORY, WEEK, **GEOLIFE)),
    "rule-gain": ("beyond", gain(RULE_MEMORY, RULE_WEEK, **GEOLIFE)),
    "new-york-gain": ("last_visit", gain(MEMORY, WEEK, **NEW_YORK)),
    "new-york-rule-gain": ("last_visit", gain(RULE_MEMORY, RULE_WEEK, **NEW_YORK)),
    "lead": ("beyond", lead(MEMORY, RULE_MEMORY, **GEOLIFE)),
    "week-lead": ("beyond", lead(WEEK, RULE_WEEK, **GEOLIFE)),
    "nobody": ("nobody", percent(model="predictor", **GEOLIFE)),
    "new-york-nobody": ("nobody", percent(model="predictor", **NEW_YORK)),
    "contextual": ("beyond", percent(**MEMORY, **GEOLIFE)),
    "new-york-contextual": ("last_visit", percent(**MEMORY, **NEW_YORK)),
    "board": ("leaderboard", board()),
    "board-same-past": ("leaderboard", board(past="training and session")),
    "board-frequent": ("leaderboard", board("most_frequent")),
    "prompts": ("leaderboard", board(past="prompt", told=True)),
    "prompts-predictor": ("leaderboard", board("predictor", past="prompt", told=True)),
    "getnext": ("getnext", of_getnext("scores", wiring="over time")),
    "getnext-frequent": ("getnext", of_getnext("simple", model="most_frequent")),
    "prompts-chosen": ("prompts", prompted("five together", "prompt and training")),
}

# Those of the page on the design documents: Acc@1 on GeoLife in points, unless it says otherwise.
PROPOSALS = (
    "relative_bias", "geglu", "post_norm", "multi_scale_time", "adaptive_embeddings",
    "adaptive_reversed", "cross_attention", "experts", "recent_and_first", "focal", "balanced",
    "more_smoothing", "many_heads", "mixture_of_softmaxes", "adaptive_softmax", "rope",
    "four_layers", "augmented", "all_five",
)  # fmt: skip
PUBLISHED: Where = {"data": "geolife", "protocol": "published", "target_time": "day"}
TOWN = {"data": "city", "split": "test", "group": "all", "model": "pgt"}
BIAS = {"what": "city", "variant": "as documented"}
SUMMARY = {"what": "pointer-generator", "search": "greedy"}
COVERED = SUMMARY | {"what": "pointer-generator, coverage"}
parts = {name: lead({"variant": name}, {"variant": "full"}, **PUBLISHED) for name in ABLATIONS}
sets = ("no_graph", "no_attention", "no_time", "no_gate", "mean_heads")
FACTS |= {
    name.replace("_", "-"): ("ablations", read) for name, read in parts.items() if name != "full"
}
FACTS |= {name.replace("_", "-"): ("improvements", judged(name)) for name in PROPOSALS}
FACTS |= {f"sets-{name.replace('_', '-')}": ("temporal_sets", without(name)) for name in sets}
FACTS |= {
    "no-bias": ("position_bias", change(BIAS | {"variant": "bias off"}, BIAS)),
    "decoder": (
        "side_by_side", change(TOWN | {"variant": "with decoder"}, TOWN | {"variant": "full"}),
    ),
    "bilstm": ("improvements", lead({"variant": "bilstm"}, {"variant": "plain"}, data="geolife")),
    "summary-pointer": (
        "summarizer", change(SUMMARY, SUMMARY | {"what": "sequence to sequence"}, "rouge1"),
    ),
    "summary-coverage": ("summarizer", change(COVERED, SUMMARY, "repeated_3")),
    "summary-beam": ("summarizer", change(SUMMARY | {"search": "beam"}, SUMMARY, "rouge1")),
}  # fmt: skip


def fact(name: str, folder: Path | None = None) -> str:
    """The number of a fact, as it is printed."""
    file, read = FACTS[name]
    return read(read_results(file, folder))


class Number(SphinxRole):
    """A role that becomes a number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The number, or a warning."""
        try:
            shown = fact(self.text, Path(self.env.srcdir) / "book" / "results")
        except (KeyError, ValueError, FileNotFoundError) as error:
            problem = f"No {self.name} {self.text}: {error}"
            message = self.inliner.reporter.warning(problem, line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        return [nodes.inline(self.rawtext, shown, classes=["fact"])], []


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_role("fact", Number())
