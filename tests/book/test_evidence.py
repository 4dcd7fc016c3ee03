"""Numbers in the prose have sources, and the results files are fresh."""

from __future__ import annotations

import re
from pathlib import Path

import evidence
from facts import GEOLIFE, NEW_YORK, RULE_MEMORY, fact, percent
from front_chart import CITIES, bars
from intervals import held
from wherenext.results import read_results

ROOT = Path(__file__).resolve().parents[2]


def test_every_number_of_the_book_has_a_source() -> None:
    assert list(evidence.unsourced(ROOT)) == []


def test_every_results_file_is_fresh_and_read() -> None:
    assert list(evidence.doubtful(ROOT)) == []


def spans(name: str) -> list[str]:
    """The interval of a model's score in each city, as README writes it."""
    found = []
    for city in CITIES:
        for bar in bars(city):
            if bar.name == city.names.get(name, name):
                found.append(f"[{bar.low:.1f}, {bar.high:.1f}]")
    return found


def test_the_readme_says_what_the_files_say() -> None:
    first, table, rest = re.split(
        r"(?m)((?:^\|.*\n)+)", (ROOT / "README.md").read_text(), maxsplit=1
    )
    rule = [
        percent(**RULE_MEMORY, **where)(read_results(file))
        for file, where in (("beyond", GEOLIFE), ("last_visit", NEW_YORK))
    ]
    rows = {
        "Trained on nobody": [fact("nobody"), fact("new-york-nobody")],
        "Contextual, memory": [fact("contextual"), fact("new-york-contextual")],
        "PGT, tuned": [fact("pgt-tuned")],
        "PGT, as documented": [fact("pgt"), fact("new-york-pgt")],
        "Context kernel": [fact("kernel"), fact("new-york-kernel")],
        "Kernel, 100 visits": rule,
    }
    for line, (name, facts) in zip(table.splitlines()[2:], rows.items(), strict=True):
        said = [f"{one} {span}" for one, span in zip(facts, spans(name), strict=True)]
        said += ["–"] * (len(CITIES) - len(said))
        assert line.endswith(f"| {' | '.join(said)} |".replace("\u00a0", " "))
    readme = " ".join((first + rest).split())
    for name in ("board-same-past", "board", "board-frequent", "prompts", "prompts-predictor",
                 "prompts-chosen", "getnext", "getnext-frequent"):  # fmt: skip
        told = fact(name).replace("\u00a0", " ")
        assert told in readme, "the leaderboard was measured anew: README tells the old figures"
    equal = read_results("equal_pasts").rows.query("table == 'scores'").set_index("model").round(1)
    pgt, kernel_row = equal.loc["pgt"], equal.loc["kernel"]
    assert f"{pgt['acc@1']:.1f} % [{pgt.low:.1f}, {pgt.high:.1f}]" in readme
    assert (
        f"{kernel_row.gain:.1f} points [{kernel_row.gain_low:.1f}, {kernel_row.gain_high:.1f}]"
        in readme
    )
    assert pgt.gain_low < 0 < pgt.gain_high, "no clear gain over its week"
    york = read_results("equal_pasts_new_york").rows.query("table == 'scores'")
    york = york.set_index("model").round(1)
    for row, words in (
        (york.loc["pgt"], "it gains {} {}, to {} %"),
        (york.loc["kernel"], "the rule {} {}"),
    ):
        span = f"[{row.gain_low:.1f}, {row.gain_high:.1f}]"
        assert words.format(f"{row.gain:.1f}", span, f"{row['acc@1']:.1f}") in readme
    rows_of = read_results("leaderboard").rows.set_index(["model", "past", "told"])
    ours = rows_of[rows_of.seed.isna()].loc[("contextual", "training and session", False)]
    assert ours.low.item() < 26.25 < ours.high.item(), "level with STHGCN"
    ours = rows_of[rows_of.seed.isna()].loc[("contextual", "prompt", True)]
    assert ours.low.item() < 36.2 < 38.5 < ours.high.item(), "all level"
    five = read_results("nobody").rows.query("model == 'predictor' and table == 'zero-shot'")
    five = five.query("split == 'test' and group == 'all' and target_time == 'unknown'")
    for data, mean in (("geolife", "49.0"), ("new york", "30.7")):
        own = five[(five.data == data) & five.seed.notna()]["acc@1"]
        assert len(own) == 5 and f"{own.mean():.1f}" == mean and mean in readme
    about = r"On the New York sessions that many papers quote.*?the same past has 24\.4[^]]*\]\."
    narrow = held().replace("\u00a0", " ")
    assert narrow in readme
    # No other score is typed.
    readme = re.sub(about, "", readme).replace(narrow, "")
    readme = re.sub(r"Is it the longer past.*?The same past for all", "", readme)
    assert not re.search(r"\d ?%|per ?cent|Acc@|\bpoints\b", readme)


def test_what_was_chosen_for_the_prompts_is_level_with_others() -> None:
    rows = read_results("prompts").rows.set_index(["questions", "past", "model", "known"])
    chosen, plain = (rows.xs(key, level=["past", "model"]) for key in (
        ("prompt and training", "five together"), ("prompt", "contextual")))  # fmt: skip
    assert chosen.loc[("before", False), "acc@1"] > plain.loc[("before", False), "acc@1"]
    for known in (False, True):
        assert chosen.loc[("prompts", known), "acc@1"] < plain.loc[("prompts", known), "acc@1"]
        for one in (chosen, plain):
            asked = one.loc[("prompts", known)]
            assert asked.low < 36.2 < 38.5 < asked.high and asked["acc@1"] < 40
    assert rows.loc[("prompts", "prompt", "kernel")].n.tolist() == [876, 857]


def test_the_predictors_card_says_what_the_files_say() -> None:
    card = " ".join((ROOT / "data" / "README.md").read_text(encoding="utf-8").split())
    parts = read_results("parts").rows.pivot(index="variant", columns="data", values="acc@1")
    names = {"whole": "whole", "no networks": "no networks", "no kernels": "no kernels",
             "none of the eight weights fitted": "nothing fitted",
             "four kernels alone, nothing fitted": "kernels alone"}  # fmt: skip
    for said, variant in names.items():
        scores = " / ".join(f"{parts[one][variant]:.1f}" for one in ("geolife", "new york", "city"))
        assert f"{said} {scores}" in card
    leads = read_results("parts").rows.query("data in ('hanover', 'phoenix')").lead
    assert leads.abs().max() < 2.1, "the parts are less than 2.1 points apart from the whole"
    sets = read_results("nobody").rows.query("table == 'sets'")
    off = (sets.coverage - sets.asked).abs()
    assert off[sets.asked >= 90].max() < 3, "within 3 points of that in all five cities"
    assert off[sets.asked < 90].max() > 3, "for 50 and 80 % there is no such promise"
    held_ = sets.pivot(index="data", columns="asked", values="coverage")
    for city in ("geolife", "new york", "city", "hanover", "phoenix"):
        half, more = (f"{held_.loc[city, asked]:.1f}" for asked in (50.0, 80.0))
        assert f"{half} and {more}" in card.replace(" % ", " ")
