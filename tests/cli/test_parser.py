"""The help of every command says what an option is when nobody gives it."""

from __future__ import annotations

import argparse

import pytest
from pgt.cli.parser import parser

from pgt.config import PRESETS

# Nothing happens without these: they have no default that could be named.
NO_DEFAULT = {"address", "columns", "engine", "html", "json", "onnx", "out", "person", "user",
              "visits"}  # fmt: skip


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, by name."""
    (choices,) = (action.choices for action in parser()._actions if action.choices)
    assert isinstance(choices, dict)
    return choices


OPTIONS = [
    pytest.param(sub, action, id=f"{name} {(*action.option_strings, action.dest)[0]}")
    for name, sub in commands().items()
    for action in sub._actions
    if action.nargs != 0 and not action.required
]


def said(sub: argparse.ArgumentParser, action: argparse.Action) -> str:
    """What the help says of an option, with its default written in."""
    sub.formatter_class = argparse.HelpFormatter
    return sub._get_formatter()._expand_help(action) if action.help else ""


@pytest.mark.parametrize(("sub", "action"), OPTIONS)
def test_help_says_every_default(sub: argparse.ArgumentParser, action: argparse.Action) -> None:
    if action.default not in (None, ()):
        shown = f"{action.default:g}" if isinstance(action.default, float) else action.default
        assert f"default: {shown}" in said(sub, action)
    elif action.dest not in NO_DEFAULT:
        assert "default: " in said(sub, action)


def test_defaults_that_are_written_out_are_those_of_the_presets() -> None:
    train = {action.dest: action for action in commands()["train"]._actions}
    (epochs,) = {preset.training.max_epochs for preset in PRESETS.values()}
    assert f"default: {epochs})" in str(train["epochs"].help)
    by_day = [name for name, preset in PRESETS.items() if preset.model.get("target_time") == "day"]
    assert f"day for {' and '.join(by_day)}, else unknown)" in str(train["target_time"].help)
